//===- Scatter.td - Updates at computed places -------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

class Kiln_ScatterLikeOp<string mnemonic, dag more> : Kiln_PureOp<mnemonic> {
  let arguments = !con((ins Kiln_Tensor:$x, Kiln_IndexTensor:$indices, Kiln_Tensor:$updates,
                            StrAttr:$reduction), more);
  let results = (outs Kiln_Tensor:$y);
}

def Kiln_ScatterElementsOp : Kiln_ScatterLikeOp<"scatter_elements", (ins I64Attr:$axis)> {
  let summary = "A copy of x in which single elements are updated.";
  let description = [{
    y[.., indices[.., i, ..], ..] takes updates[.., i, ..]: it is replaced, or
    `reduction` (add, mul, min, max; for booleans or, and, and, or) combines
    the two. Updates come in row-major order: the last one stays. Negative
    indices count from the end; a compiled kernel leaves out updates whose index
    is out of range.

    (C1) `axis` is one of x's, `reduction` is none, add, mul, min or max.
    (C2) x and `updates` have one element type and rank, `updates` and
    `indices` one shape. (C3) No known dimension of `indices` but that of
    `axis` is larger than x's.

    ```mlir
    %3 = kiln.scatter_elements %0, %1, %2 {axis = 0 : i64, reduction = "add"}
        : (tensor<9xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<9xf32>
    ```
  }];
}

def Kiln_TensorScatterOp : Kiln_PureOp<"tensor_scatter"> {
  let summary = "Writes new entries into a cache along an axis.";
  let description = [{
    For batch b, `update` replaces the entries of `cache` from `starts[b]` on
    (from 0 without `starts`). Mode circular goes on at the beginning of the
    axis; otherwise entries that do not fit are left out.

    (C1) `axis` is one of the cache's but the first, the batch. (C2) `update`
    has the cache's element type and shape but along `axis`. (C3) `starts` has
    one element for each batch.

    ```mlir
    %3 = kiln.tensor_scatter %0, %1, %2 {axis = 1 : i64, circular = false}
        : (tensor<2x9x4xf32>, tensor<2x1x4xf32>, tensor<2xi64>) -> tensor<2x9x4xf32>
    ```
  }];
  let arguments = (ins Kiln_Tensor:$cache, Kiln_Tensor:$update, Optional<Kiln_IndexTensor>:$starts,
                       I64Attr:$axis, BoolAttr:$circular);
  let results = (outs Kiln_Tensor:$y);
}

def Kiln_ScatterNDOp : Kiln_ScatterLikeOp<"scatter_nd", (ins)> {
  let summary = "A copy of x in which slices at tuples of indices are updated.";
  let description = [{
    The last dimension of `indices` holds places in the first dimensions of x.
    Everything else is as in kiln.scatter_elements.

    (C1) `reduction` is none, add, mul, min or max. (C2) The last dimension of
    `indices` is known and no more than x's rank. (C3) `updates` has x's element
    type and as many dimensions as `indices` without the last and x without
    the first ones together.

    ```mlir
    %3 = kiln.scatter_nd %0, %1, %2 {reduction = "none"}
        : (tensor<9x4xf32>, tensor<2x1xi64>, tensor<2x4xf32>) -> tensor<9x4xf32>
    ```
  }];
}
