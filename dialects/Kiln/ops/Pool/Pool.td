//===- Pool.td - Windows that slide over spatial axes ------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

class Kiln_PoolOp<string mnemonic, dag more = (ins)> : Kiln_PureOp<mnemonic> {
  let arguments = !con((ins Kiln_NumberTensor:$x, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
                            DenseI64ArrayAttr:$dilations, Kiln_ExprsAttr:$pads, Kiln_ExprsAttr:$sizes),
                       more);
  let results = (outs Kiln_Tensor:$y);
}

def Kiln_MaxPoolOp : Kiln_PoolOp<"max_pool"> {
  let summary = "Largest element of each window; NaN where there is one.";
  let description = [{
    x is [batch, channel, spatial...]. Element o of a spatial axis of the result
    looks at the elements o * stride - pad + i * dilation of x, for i below the
    kernel's size, that exist; a window without any gives the least value.
    `pads` holds what is before each axis, then what comes after; only
    kernel-independent counts look at the latter. `sizes` are the result's
    spatial sizes: how they follow from rounding modes is the importer's matter.

    (C1) x has at least one spatial axis, and each list one entry for each
    (`pads` two). (C2) Kernel, strides and dilations are positive; pads and
    sizes, where known, not negative.

    ```mlir
    %1 = kiln.max_pool %0 {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
        pads = #kiln.exprs<"1", "1", "1", "1">, sizes = #kiln.exprs<"56", "56">}
        : (tensor<1x64x112x112xf32>) -> tensor<1x64x56x56xf32>
    ```
  }];
}
def Kiln_MaxPoolIndicesOp : Kiln_PoolOp<"max_pool_indices", (ins BoolAttr:$column_major)> {
  let summary = "Where kiln.max_pool found its elements, as positions in x.";
  let description = [{
    Of equal elements the first one counts. The position counts all elements of
    x in row-major order, with `column_major` those of one channel in
    column-major order. A window without elements gives -1.

    (C1), (C2) as kiln.max_pool.
  }];
}
def Kiln_AvgPoolOp : Kiln_PoolOp<"avg_pool", (ins BoolAttr:$count_include_pad)> {
  let summary = "Mean of the elements of each window.";
  let description = [{
    With `count_include_pad` padding counts as zeros, though what lies beyond it
    does not.

    (C1), (C2) as kiln.max_pool.
  }];
  let arguments = (ins Kiln_FloatTensor:$x, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, Kiln_ExprsAttr:$pads, Kiln_ExprsAttr:$sizes,
                       BoolAttr:$count_include_pad);
}
def Kiln_SumPoolOp : Kiln_PoolOp<"sum_pool"> {
  let summary = "Sum of the elements of each window.";
  let description = "(C1), (C2) as kiln.max_pool.";
}
def Kiln_MaxUnpoolOp : Kiln_PureOp<"max_unpool"> {
  let summary = "Zeros, with elements of x where kiln.max_pool_indices found them.";
  let description = [{
    The positions count the elements of a tensor of shape `indexed`, which lies
    at the origin of the result of shape `shape`. Where positions meet, the last
    element counts; elements outside are dropped.

    (C1) x and indices have one shape. (C2) `indexed` and `shape` have the rank
    of x. (C3) None of their sizes is negative.
  }];
  let arguments = (ins Kiln_NumberTensor:$x, RankedTensorOf<[I64]>:$indices, Kiln_ExprsAttr:$indexed,
                       Kiln_ExprsAttr:$shape);
  let results = (outs Kiln_Tensor:$y);
}
