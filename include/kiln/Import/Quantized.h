//===- Quantized.h - Sums of products of quantized numbers ------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MatMulInteger, ConvInteger, QLinearMatMul and QLinearConv: products of what is
// left of small integers when their zero points are taken off.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_IMPORT_QUANTIZED_H
#define KILN_IMPORT_QUANTIZED_H

#include "kiln/Import/ImportTable.h"

namespace kiln {

/// A scale or zero point that broadcasts over the values it belongs to: one
/// element becomes a scalar, a vector gets `trailing` dims of 1 after it.
mlir::Value alignQuantization(NodeImporter &n, mlir::Value parameter, size_t trailing);

/// `x` as int32 less its zero point (an aligned one, or null).
mlir::Value centered(NodeImporter &n, mlir::Value x, mlir::Value zeroPoint);

/// saturate(round(sum * scale / resultScale) + zeroPoint), parameters aligned.
mlir::Value requantized(NodeImporter &n, mlir::Value sum, mlir::Value scale,
                        mlir::Value resultScale, mlir::Value zeroPoint);

} // namespace kiln

#endif // KILN_IMPORT_QUANTIZED_H
