//===- Transpose.td - Permutation of axes ------------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_TransposeOp : Kiln_PureOp<"transpose", [DeclareOpInterfaceMethods<SymbolicValueInterface>]> {
  let summary = "Permutes axes: dim i of the result is dim permutation[i] of x.";
  let description = [{
    (C1) `permutation` holds each axis of x once.

    ```mlir
    %1 = kiln.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
    ```
  }];
  let arguments = (ins Kiln_Tensor:$x, DenseI64ArrayAttr:$permutation);
  let results = (outs Kiln_Tensor:$y);
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}
