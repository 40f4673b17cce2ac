//===- Conv.td - Convolutions ------------------------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

class Kiln_ConvBase<string mnemonic> : Kiln_PureOp<mnemonic> {
  let results = (outs Kiln_NumberTensor:$y);
}

def Kiln_ConvOp : Kiln_ConvBase<"conv"> {
  let summary = "Convolution over the dims after batch and channel.";
  let description = [{
    x is [batch, channels, spatial...], w [outputs, channels / group,
    kernel...]. y[n, k, o] sums x[n, c, o * stride - pad + r * dilation] *
    w[k, c, r] over the channels c of k's group and all r; what lies outside of
    x is 0. `pads` holds what is put before each spatial dim, then after each.
    Halves are summed in f32, integers wrap.

    (C1) both have one rank, 3 or more, and one element type; (C2) strides,
    dilations and half the pads count the spatial dims, strides and dilations
    are positive; (C3) the kernel's dims are known; (C4) channels and outputs
    fit the group; (C5) the kernel fits the padded input.

    ```mlir
    %2 = kiln.conv %0, %1 {strides = array<i64: 2>, dilations = array<i64: 1>, pads = #kiln.exprs<"1", "1">, group = 1}
        : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x4xf32>
    ```
  }];
  let arguments = (ins Kiln_NumberTensor:$x, Kiln_NumberTensor:$w, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, Kiln_ExprsAttr:$pads, I64Attr:$group);
}

def Kiln_ConvTransposeOp : Kiln_ConvBase<"conv_transpose"> {
  let summary = "Transposed convolution over the dims after batch and channel.";
  let description = [{
    x is [batch, channels, spatial...], w [channels, outputs / group,
    kernel...]. Each x[n, c, i] adds x * w[c, k, r] to y[n, k, i * stride - pad +
    r * dilation]. `pads` holds what is cut off before each spatial dim, then
    after each (negative: zeros are added); y is `output_padding` longer.

    (C1) to (C4) as of kiln.conv, with channels and outputs changing places in w.
    (C5) `pads` cut off no more than there is.

    ```mlir
    %2 = kiln.conv_transpose %0, %1 {strides = array<i64: 2>, dilations = array<i64: 1>, pads = #kiln.exprs<"0", "0">,
        output_padding = array<i64: 0>, group = 1} : (tensor<1x3x4xf32>, tensor<3x5x2xf32>) -> tensor<1x5x8xf32>
    ```
  }];
  let arguments = (ins Kiln_NumberTensor:$x, Kiln_NumberTensor:$w, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, Kiln_ExprsAttr:$pads,
                       DenseI64ArrayAttr:$output_padding, I64Attr:$group);
}
