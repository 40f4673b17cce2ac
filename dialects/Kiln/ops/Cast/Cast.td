//===- Cast.td - Conversion of element types ---------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_CastOp : Kiln_PureOp<"cast", [DeclareOpInterfaceMethods<SymbolicValueInterface>]> {
  let summary = "Converts each element to another type.";
  let description = [{
    Float to integer truncates toward zero; what does not fit saturates, and
    NaN gives 0 (ONNX leaves both undefined); integers of 2 and 4 bits wrap once
    it is one of 32 bits, as ONNX's test data have it. Integers wrap. Anything but 0 is
    true. Floats round to nearest even; those of 8 bits and fewer through f32,
    and what is beyond their largest number becomes that number (`saturate`),
    or infinity or NaN, whichever they have. Those without NaN make it 0.

    ```mlir
    %1 = kiln.cast %0 {to = f32} : (tensor<4xi64>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Kiln_Tensor:$x, TypeAttr:$to, DefaultValuedAttr<BoolAttr, "true">:$saturate);
  let results = (outs Kiln_Tensor:$y);
  let hasFolder = 1;
}
