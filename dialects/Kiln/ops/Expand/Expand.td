//===- Expand.td - Repeated elements -----------------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_BroadcastToOp
    : Kiln_PureOp<"broadcast_to", [DeclareOpInterfaceMethods<SymbolicValueInterface>]> {
  let summary = "Repeats a tensor to a shape by NumPy's rule.";
  let description = [{
    Shapes are right-aligned; dimensions of size 1 are repeated. (C1) `shape`
    has no lower rank than x. (C2) A known dimension of x is 1 or that of
    `shape`. (C3) No size is negative.

    ```mlir
    %1 = kiln.broadcast_to %0 {shape = #kiln.exprs<"n", "3">}
        : (tensor<3xf32>) -> tensor<?x3xf32, #kiln.dims<"n">>
    ```
  }];
  let arguments = (ins Kiln_Tensor:$x, Kiln_ExprsAttr:$shape);
  let results = (outs Kiln_Tensor:$y);
  let hasFolder = 1;
}

def Kiln_TileOp : Kiln_PureOp<"tile", [DeclareOpInterfaceMethods<SymbolicValueInterface>]> {
  let summary = "Repeats a tensor along each axis, one copy after the other.";
  let description = [{
    y[i] = x[i mod dim]. (C1) `repeats` holds one number for each axis, none
    negative.

    ```mlir
    %1 = kiln.tile %0 {repeats = #kiln.exprs<"2", "k">}
        : (tensor<3x2xf32>) -> tensor<6x?xf32, #kiln.dims<"2*k">>
    ```
  }];
  let arguments = (ins Kiln_Tensor:$x, Kiln_ExprsAttr:$repeats);
  let results = (outs Kiln_Tensor:$y);
  let hasFolder = 1;
}
