//===- MatMul.td - Matrix product --------------------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_MatMulOp : Kiln_PureOp<"matmul"> {
  let summary = "Matrix product over the last two dims, the others broadcast.";
  let description = [{
    y[..., m, n] = sum over k of a[..., m, k] * b[..., k, n]. `trans_a` and
    `trans_b` say that an operand's last two dims are swapped in memory. Halves
    are summed in f32, integers wrap; the sum over nothing is 0.

    (C1) both operands have at least 2 dims and one element type; (C2) both
    have the same k; (C3) the other dims broadcast.

    ```mlir
    %2 = kiln.matmul %0, %1 {trans_b = true} : (tensor<5x3xf32>, tensor<4x3xf32>) -> tensor<5x4xf32>
    ```
  }];
  let arguments = (ins Kiln_NumberTensor:$a, Kiln_NumberTensor:$b,
                       DefaultValuedAttr<BoolAttr, "false">:$trans_a,
                       DefaultValuedAttr<BoolAttr, "false">:$trans_b);
  let results = (outs Kiln_NumberTensor:$y);
  let hasCanonicalizer = 1;
}
