//===- Trilu.td - Triangles of matrices --------------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_TriluOp : Kiln_PureOp<"trilu"> {
  let summary = "Keeps the upper or lower triangle of matrices, zero elsewhere.";
  let description = [{
    Matrices lie in the last two axes. The upper triangle has the elements with
    column - row >= k, the lower one those with column - row <= k.

    (C1) x has rank 2 or more. (C2) `k` is one number.

    ```mlir
    %1 = kiln.trilu %0 {upper = true, k = #kiln.exprs<"1">} : (tensor<3x3xf32>) -> tensor<3x3xf32>
    ```
  }];
  let arguments = (ins Kiln_Tensor:$x, BoolAttr:$upper, Kiln_ExprsAttr:$k);
  let results = (outs Kiln_Tensor:$y);
}
