//===- Col2Im.td - Sums of overlapping blocks --------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

def Kiln_Col2ImOp : Kiln_PureOp<"col2im"> {
  let summary = "Adds up columns that hold blocks of images.";
  let description = [{
    x is [n, c*b, l]: for each of n images and c channels, l blocks of b
    elements, both row-major. Block p reads (p*stride + i*dilation - pad) of
    each dimension at place i; what lies outside the image is left out.

    (C1) x has rank 3. (C2) `image`, `block`, `strides`, `dilations` and `pads`
    (before each dimension) are of one length, at least 1; strides and
    dilations are positive. (C3) Sizes of `block` are positive, those of
    `image` and `counts`, the blocks along each dimension, not negative.

    ```mlir
    %1 = kiln.col2im %0 {image = #kiln.exprs<"5", "5">, block = #kiln.exprs<"1", "5">,
                         counts = #kiln.exprs<"5", "1">, strides = array<i64: 1, 1>,
                         dilations = array<i64: 1, 1>, pads = array<i64: 0, 0>}
        : (tensor<1x5x5xf32>) -> tensor<1x1x5x5xf32>
    ```
  }];
  let arguments = (ins Kiln_NumberTensor:$x, Kiln_ExprsAttr:$image, Kiln_ExprsAttr:$block,
                       Kiln_ExprsAttr:$counts, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads);
  let results = (outs Kiln_NumberTensor:$y);
}
