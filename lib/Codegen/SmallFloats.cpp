//===- SmallFloats.cpp - Floats of 4 to 8 bits ----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SmallFloats.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

namespace {
/// What the bits of a type mean. Codes are without the sign.
struct Format {
  explicit Format(FloatType type) {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    bits = type.getWidth();
    mantissa = llvm::APFloat::semanticsPrecision(semantics) - 1;
    bias = 1 - llvm::APFloat::semanticsMinExponent(semantics);
    auto codeOf = [&](const llvm::APFloat &value) {
      return static_cast<int64_t>(value.bitcastToAPInt().getZExtValue());
    };
    largest = codeOf(llvm::APFloat::getLargest(semantics));
    if (llvm::APFloat::semanticsHasInf(semantics))
      beyond = codeOf(llvm::APFloat::getInf(semantics));
    if (llvm::APFloat::semanticsHasNaN(semantics))
      nan = codeOf(llvm::APFloat::getNaN(semantics));
    signedZero = nan != int64_t(1) << (bits - 1);
    if (!beyond)
      beyond = nan;
  }

  unsigned bits, mantissa;
  int bias;
  int64_t largest;
  /// What stands for more than the largest number; for NaN.
  std::optional<int64_t> beyond, nan;
  /// Where there is no -0, its bits are NaN.
  bool signedZero;
};
} // namespace

/// 2^exponent as f32's bits.
static int64_t powerBits(int exponent) { return int64_t(exponent + 127) << 23; }

static Num powerOfTwo(const Num &like, int exponent) {
  return like.constant(std::ldexp(1.0, exponent));
}

Num kiln::decodeSmallFloat(const Num &bits, Type type) {
  Format format(cast<FloatType>(type));
  Type i32 = bits.builder().getI32Type();
  Num code = bits.make<arith::ExtUIOp>(bits.typeOf(i32), bits.value);
  Num sign = code & code.integer(int64_t(1) << (format.bits - 1));
  Num rest = code & code.integer((int64_t(1) << (format.bits - 1)) - 1);
  // Exponent and mantissa at their places make an f32 of too small an exponent,
  // also where the element is subnormal; the product is exact.
  Num tiny = rest.shl(23 - format.mantissa).asFloat();
  Num magnitude = (tiny * powerOfTwo(tiny, 127 - format.bias)).bits();
  Num infinity = magnitude.integer(powerBits(128)), nan = magnitude.integer(0x7fc00000);
  if (format.nan && format.signedZero) {
    // Infinity, if any, then NaN, follow the largest number.
    bool hasInfinity = format.beyond != format.nan;
    Num above = rest.integer(format.largest);
    magnitude = (rest > above).select(nan, magnitude);
    if (hasInfinity)
      magnitude = (rest == rest.integer(*format.beyond)).select(infinity, magnitude);
  }
  Num whole = magnitude | sign.shl(32 - format.bits);
  if (format.nan && !format.signedZero)
    whole = (code == code.integer(*format.nan)).select(nan, whole);
  return whole.asFloat();
}

Num kiln::encodeSmallFloat(const Num &x, Type type, bool saturate) {
  Format format(cast<FloatType>(type));
  Num bits = x.bits(), magnitude = bits & bits.integer(0x7fffffff);
  // Normal numbers: half of the last place is added, a little less where that
  // place is even, and the exponents' bases are exchanged.
  unsigned cut = 23 - format.mantissa;
  Num isOdd = magnitude.srl(cut) & magnitude.integer(1);
  Num rounded = (magnitude + magnitude.integer((int64_t(1) << (cut - 1)) - 1) + isOdd).srl(cut);
  Num code = rounded - rounded.integer(int64_t(127 - format.bias) << format.mantissa);
  // Subnormal ones: a sum with a number whose last place is theirs rounds them.
  int leastNormal = 1 - format.bias;
  Num magic = powerOfTwo(x, 23 + leastNormal - static_cast<int>(format.mantissa));
  Num small = (magnitude.asFloat() + magic).bits() - magic.bits();
  code = (magnitude < magnitude.integer(powerBits(leastNormal))).select(small, code);

  Num largest = code.integer(format.largest);
  bool clamps = saturate || !format.beyond;
  code = (code > largest).select(clamps ? largest : code.integer(*format.beyond), code);
  Num isNan = magnitude > magnitude.integer(powerBits(128));
  code = isNan.select(code.integer(format.nan.value_or(0)), code);
  Num sign = bits.srl(31).shl(format.bits - 1);
  Num whole = code | sign;
  if (!format.signedZero) {
    // -0 would be NaN, which has no other sign.
    Num zero = code.integer(0), nan = code.integer(*format.nan);
    whole = (code == zero).select(zero, whole);
    whole = (code == nan).select(nan, whole);
  }
  return whole.make<arith::TruncIOp>(whole.typeOf(x.builder().getI8Type()), whole.value);
}
