//===- Gather.td - Elements at computed places -------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_GatherOp : Kiln_PureOp<"gather", [DeclareOpInterfaceMethods<SymbolicValueInterface>]> {
  let summary = "Slices of x along an axis, one for each index.";
  let description = [{
    The axis is replaced by the dimensions of `indices`. An index in
    [-dim, -1] counts from the end; beyond that it is illegal, and a compiled
    kernel reads the nearest place instead.

    (C1) `axis` is one of x's.

    ```mlir
    %2 = kiln.gather %0, %1 {axis = 0 : i64} : (tensor<9x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Kiln_Tensor:$x, Kiln_IndexTensor:$indices, I64Attr:$axis);
  let results = (outs Kiln_Tensor:$y);
}

def Kiln_GatherElementsOp : Kiln_PureOp<"gather_elements"> {
  let summary = "For each index the element of x there along an axis, elsewhere at the same place.";
  let description = [{
    y[.., i, ..] = x[.., indices[.., i, ..], ..]. Indices are as in
    kiln.gather.

    (C1) `axis` is one of x's. (C2) x and `indices` have one rank, and no known
    dimension of `indices` but that of `axis` is larger than x's.

    ```mlir
    %2 = kiln.gather_elements %0, %1 {axis = 1 : i64}
        : (tensor<3x9xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>
    ```
  }];
  let arguments = (ins Kiln_Tensor:$x, Kiln_IndexTensor:$indices, I64Attr:$axis);
  let results = (outs Kiln_Tensor:$y);
}

def Kiln_GatherNDOp : Kiln_PureOp<"gather_nd"> {
  let summary = "Slices of x at tuples of indices.";
  let description = [{
    The last dimension of `indices` holds places in the dimensions of x that
    follow the first `batch_dims`, which both share. Indices are as in
    kiln.gather.

    (C1) `batch_dims` is less than either rank. (C2) The last dimension of
    `indices` is known and no more than what x has left.

    ```mlir
    %2 = kiln.gather_nd %0, %1 {batch_dims = 0 : i64}
        : (tensor<3x9x4xf32>, tensor<5x2xi64>) -> tensor<5x4xf32>
    ```
  }];
  let arguments = (ins Kiln_Tensor:$x, Kiln_IndexTensor:$indices, I64Attr:$batch_dims);
  let results = (outs Kiln_Tensor:$y);
}
