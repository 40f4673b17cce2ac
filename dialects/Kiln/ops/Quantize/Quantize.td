//===- Quantize.td - Floats as scaled integers -------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/Kiln/IR/KilnBase.td"

// Scales and zero points broadcast to x: one for all, or one an axis, for
// which the importer gives them the shape [C, 1, ...]. With `block_size` they
// have x's rank, and each of their elements along `axis` serves a block.
// Integers of 4 bits and floats of 8 are not accepted.

def Kiln_QuantizedTypes : RankedTensorOf<[I8, UI8, I16, UI16, I32, Kiln_SmallTypes]>;

def Kiln_QuantizeOp : Kiln_PureOp<"quantize"> {
  let summary = "saturate(round(x / scale) + zero_point), halves to even.";
  let description = [{
    The quotient is rounded to the element type of x before it is rounded to an
    integer; the result has the element type of `zero_point`. NaN gives the
    least value. A small float in place of the integer is rounded to, and
    saturates, as kiln.cast does, and has no zero point: that is 0.

    (C1) x and scale have one element type; (C2) zero_point has no more than 16
    bits and scale's shape, or is one element; (C3) scale broadcasts to x, dim
    `axis` of it to the number of blocks.

    ```mlir
    %1 = kiln.quantize %0, %scale, %zero : (tensor<4x3xf32>, tensor<4x1xf32>, tensor<4x1xi8>) -> tensor<4x3xi8>
    ```
  }];
  let arguments = (ins Kiln_FloatTensor:$x, Kiln_FloatTensor:$scale, Kiln_QuantizedTypes:$zero_point,
                       DefaultValuedAttr<I64Attr, "0">:$axis, DefaultValuedAttr<I64Attr, "0">:$block_size,
                       DefaultValuedAttr<BoolAttr, "true">:$saturate);
  let results = (outs Kiln_QuantizedTypes:$y);
}

def Kiln_DequantizeOp : Kiln_PureOp<"dequantize"> {
  let summary = "(x - zero_point) * scale.";
  let description = [{
    Computed in f32 (f64 when `to` is) and rounded to the element type `to`.

    (C1) x and zero_point have one element type; (C2) zero_point has scale's
    shape or is one element; (C3) scale broadcasts to x, dim `axis` of it to the
    number of blocks.

    ```mlir
    %1 = kiln.dequantize %0, %scale, %zero {axis = 1 : i64, block_size = 2 : i64, to = f32}
        : (tensor<1x4xui8>, tensor<1x2xf32>, tensor<1x2xui8>) -> tensor<1x4xf32>
    ```
  }];
  let arguments = (ins Kiln_QuantizedTypes:$x, Kiln_FloatTensor:$scale, Kiln_QuantizedTypes:$zero_point,
                       TypeAttr:$to, DefaultValuedAttr<I64Attr, "0">:$axis,
                       DefaultValuedAttr<I64Attr, "0">:$block_size);
  let results = (outs Kiln_FloatTensor:$y);
  let hasVerifier = 1;
}
