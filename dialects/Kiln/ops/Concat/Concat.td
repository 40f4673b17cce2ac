//===- Concat.td - Joined tensors --------------------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_ConcatOp : Kiln_PureOp<"concat", [DeclareOpInterfaceMethods<SymbolicValueInterface>]> {
  let summary = "Tensors one after the other along an axis.";
  let description = [{
    (C1) There is an operand, and all have one rank above `axis` and one
    element type. (C2) Known dimensions other than `axis` agree.

    ```mlir
    %2 = kiln.concat %0, %1 {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Variadic<Kiln_Tensor>:$xs, I64Attr:$axis);
  let results = (outs Kiln_Tensor:$y);
  let hasFolder = 1;
}
