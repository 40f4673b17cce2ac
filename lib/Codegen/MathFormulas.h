//===- MathFormulas.h - Functions of f32 as arithmetic ----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_CODEGEN_MATHFORMULAS_H
#define KILN_LIB_CODEGEN_MATHFORMULAS_H

#include "kiln/Codegen/Num.h"

namespace kiln {

/// How formulas are written for a machine.
struct MathTarget {
  bool fma;

  /// a * b + c, rounded once where the machine can.
  Num mulAdd(Num a, Num b, Num c) const {
    return fma ? a.make<mlir::math::FmaOp>(a.value, b.value, c.value) : a * b + c;
  }
  Num mulAdd(Num a, double b, Num c) const { return mulAdd(a, a.constant(b), c); }
  /// A polynomial in x, coefficients of high powers first.
  Num horner(Num x, llvm::ArrayRef<double> coefficients) const;
};

/// Of f32, scalar or vector. Zeros keep their sign where the function's does,
/// NaN stays NaN, and results over the full range are right, also denormal ones.
using MathFormula = Num (*)(const MathTarget &target, Num x);

Num formulaExp(const MathTarget &target, Num x);
Num formulaExp2(const MathTarget &target, Num x);
Num formulaExpM1(const MathTarget &target, Num x);
Num formulaLog(const MathTarget &target, Num x);
Num formulaLog2(const MathTarget &target, Num x);
Num formulaLog10(const MathTarget &target, Num x);
Num formulaLog1p(const MathTarget &target, Num x);
Num formulaTanh(const MathTarget &target, Num x);
Num formulaErf(const MathTarget &target, Num x);
/// Right for |x| <= largestAngle.
inline constexpr double largestAngle = 1e5;
Num formulaSin(const MathTarget &target, Num x);
Num formulaCos(const MathTarget &target, Num x);
/// C's pow, special cases included.
Num formulaPow(const MathTarget &target, Num x, Num y);

} // namespace kiln

#endif // KILN_LIB_CODEGEN_MATHFORMULAS_H
