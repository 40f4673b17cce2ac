//===- OneHot.td - Indices as vectors of two values --------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_OneHotOp : Kiln_PureOp<"one_hot"> {
  let summary = "A new axis that holds `on` where its coordinate is the index, else `off`.";
  let description = [{
    `values` is [off, on]. Indices in [-depth, -1] count from the end; out of
    range nothing is on.

    (C1) `axis` is in [0, rank of indices]. (C2) `depth` is one number, not
    negative. (C3) `values` has two elements.

    ```mlir
    %2 = kiln.one_hot %0, %1 {axis = 1 : i64, depth = #kiln.exprs<"5">}
        : (tensor<3xi64>, tensor<2xf32>) -> tensor<3x5xf32>
    ```
  }];
  let arguments = (ins Kiln_IndexTensor:$indices, Kiln_Tensor:$values, Kiln_ExprsAttr:$depth,
                       I64Attr:$axis);
  let results = (outs Kiln_Tensor:$y);
}
