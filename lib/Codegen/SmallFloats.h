//===- SmallFloats.h - Floats of 4 to 8 bits --------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No processor here computes with these types: in code an element is its bits
// in an i8, and what computes converts to f32 and back, by integer arithmetic
// that vectorises.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_CODEGEN_SMALLFLOATS_H
#define KILN_LIB_CODEGEN_SMALLFLOATS_H

#include "dialects/Kiln/IR/TensorTypes.h"
#include "kiln/Codegen/Num.h"

namespace kiln {

/// The value of the bits (i8) as f32, exactly.
Num decodeSmallFloat(const Num &bits, mlir::Type type);

/// The bits (i8) of the nearest element of `type` to x (f32), ties to even.
/// What is larger than all of them is the largest when `saturate`, else infinity
/// or NaN, whichever the type has; types with neither always saturate, and make
/// NaN 0.
Num encodeSmallFloat(const Num &x, mlir::Type type, bool saturate);

} // namespace kiln

#endif // KILN_LIB_CODEGEN_SMALLFLOATS_H
