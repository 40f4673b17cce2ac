//===- Select.td - Choice between two tensors --------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_SelectOp : Kiln_PureOp<"select", [DeclareOpInterfaceMethods<SymbolicValueInterface>]> {
  let summary = "condition ? a : b for each element, with NumPy broadcasting.";
  let description = [{
    (C1) a and b have one element type. (C2) The three shapes broadcast.

    ```mlir
    %3 = kiln.select %0, %1, %2 : (tensor<4x1xi1>, tensor<3xf32>, tensor<f32>) -> tensor<4x3xf32>
    ```
  }];
  let arguments = (ins Kiln_BoolTensor:$condition, Kiln_Tensor:$a, Kiln_Tensor:$b);
  let results = (outs Kiln_Tensor:$y);
  let hasFolder = 1;
}
