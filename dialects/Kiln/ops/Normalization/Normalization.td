//===- Normalization.td - Standardised rows ----------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

class Kiln_RowNormOp<string mnemonic> : Kiln_PureOp<mnemonic> {
  let arguments = (ins Kiln_FloatTensor:$x, I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs Kiln_Tensor:$y);
}

def Kiln_StandardizeOp : Kiln_RowNormOp<"standardize"> {
  let summary = "(x - mean) / sqrt(variance + epsilon) over the axes from `axis` on.";
  let description = [{
    The first stage of layer, group and instance normalisation; scale and bias
    are kiln.mul and kiln.add after it. The variance is that of a population.

    (C1) `axis` is an axis of x.

    ```mlir
    %1 = kiln.standardize %0 {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x768xf32>) -> tensor<2x768xf32>
    ```
  }];
}
def Kiln_RmsNormalizeOp : Kiln_RowNormOp<"rms_normalize"> {
  let summary = "x / sqrt(mean(x * x) + epsilon) over the axes from `axis` on.";
  let description = "(C1) `axis` is an axis of x.";
}
