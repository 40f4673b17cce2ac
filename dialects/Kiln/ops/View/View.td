//===- View.td - Ops that only rename elements -------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_ReshapeOp : Kiln_PureOp<"reshape", [DeclareOpInterfaceMethods<SymbolicValueInterface>]> {
  let summary = "The same elements, row-major, under another shape.";
  let description = [{
    (C1) Both shapes have the same number of elements. When that cannot be
    proved, the run checks it. (C2) No size is negative: ONNX's 0 and -1 are resolved by the importer.

    ```mlir
    %1 = kiln.reshape %0 {shape = #kiln.exprs<"batch", "768">}
        : (tensor<?x12x64xf32, #kiln.dims<"batch">>) -> tensor<?x768xf32, #kiln.dims<"batch">>
    ```
  }];
  let arguments = (ins Kiln_Tensor:$x, Kiln_ExprsAttr:$shape);
  let results = (outs Kiln_Tensor:$y);
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def Kiln_ResolveShapeOp : Kiln_PureOp<"resolve_shape"> {
  let summary = "The dims that Reshape's run-time shape operand asks for.";
  let description = [{
    0 keeps the input's dim unless `allow_zero`, and one -1 is what is left of
    the input's elements. `from` is the input's shape. All dims are -1 when
    there is no such shape: a second -1, another negative number, a 0 that
    keeps nothing, or more elements than any tensor has.

    ```mlir
    %1 = kiln.resolve_shape %0 {from = #kiln.exprs<"2", "6">, allow_zero = false} : (tensor<2xi64>) -> tensor<2xi64>
    ```
  }];
  let arguments = (ins 1DTensorOf<[I64]>:$asked, Kiln_ExprsAttr:$from, BoolAttr:$allow_zero);
  let results = (outs 1DTensorOf<[I64]>:$resolved);
}
