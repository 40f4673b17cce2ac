//===- Slice.td - Parts of tensors -------------------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_SliceOp : Kiln_PureOp<"slice", [DeclareOpInterfaceMethods<SymbolicValueInterface>]> {
  let summary = "Elements start + i*step of each axis.";
  let description = [{
    ONNX's clamping and counting from the end are resolved by the importer:
    what an axis reads lies inside it whenever its size is not 0.

    (C1) `starts`, `sizes` and `steps` hold one number for each axis. (C2) No
    step is 0. (C3) Known numbers stay inside a known dimension.

    ```mlir
    %1 = kiln.slice %0 {starts = #kiln.exprs<"0", "9">, sizes = #kiln.exprs<"n", "5">,
                        steps = #kiln.exprs<"1", "-2">}
        : (tensor<?x10xf32, #kiln.dims<"n">>) -> tensor<?x5xf32, #kiln.dims<"n">>
    ```
  }];
  let arguments = (ins Kiln_Tensor:$x, Kiln_ExprsAttr:$starts, Kiln_ExprsAttr:$sizes,
                       Kiln_ExprsAttr:$steps);
  let results = (outs Kiln_Tensor:$y);
  let hasFolder = 1;
}
