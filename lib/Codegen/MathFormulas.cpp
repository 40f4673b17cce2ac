//===- MathFormulas.cpp - Functions of f32 as arithmetic ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Polynomials were fitted with Sollya's fpminimax (relative error, coefficients
// rounded to the format) on the interval that each comment names.
//
//===----------------------------------------------------------------------===//

#include "MathFormulas.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

Num MathTarget::horner(Num x, ArrayRef<double> coefficients) const {
  Num sum = x.constant(coefficients.front());
  for (double coefficient : coefficients.drop_front())
    sum = mulAdd(sum, x, x.constant(coefficient));
  return sum;
}

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

/// Added to a small number it leaves the nearest integer in the last bits of
/// the sum. Unlike a conversion that is defined for NaN too.
static constexpr double rounder = 12582912; // 1.5 * 2^23

/// log(2) in two parts; n times the first is exact for |n| < 2^9.
static constexpr double ln2High = 0x1.62e4p-1, ln2Low = 0x1.7f7d1cp-20;

/// (exp(r) - 1 - r) / r^2 for |r| <= log(2)/2: 2^-31 of exp(r) - 1.
static constexpr double expM1Tail[] = {0x1.a262bp-13, 0x1.6d2e0ep-10, 0x1.110ff4p-7,
                                       0x1.555502p-5, 0x1.555556p-3,  0x1p-1};

namespace {
/// x = n * log(2) + rest.
struct Reduced {
  Num shifted; // holds n in its last bits
  Num n, rest;
};
} // namespace

static Reduced reduceByLn2(const MathTarget &t, Num x) {
  Num shifted = t.mulAdd(x, 1 / M_LN2, x.constant(rounder));
  Num n = shifted - rounder;
  Num rest = t.mulAdd(n, -ln2Low, t.mulAdd(n, -ln2High, x));
  return {shifted, n, rest};
}

/// 2^n for the n in the last bits of an integer; the bits above fall off.
static Num powerOfTwo(Num n) { return (n.shl(23) + n.integer(0x3f800000)).asFloat(); }

/// value * 2^n in two steps, so that neither factor leaves the format and a
/// denormal result is rounded once.
static Num scale(Num value, Num shifted) {
  Num bits = shifted.bits();
  Num half = bits.sra(1);
  return value * powerOfTwo(half) * powerOfTwo(bits - half);
}

Num kiln::formulaExp(const MathTarget &t, Num x) {
  // Beyond these the result is inf and 0.
  x = atMost(atLeast(x, -104), 89);
  Reduced r = reduceByLn2(t, x);
  // exp(r) for |r| <= log(2)/2: 2^-28.
  Num p = t.horner(
      r.rest, {0x1.685148p-10, 0x1.123bd8p-7, 0x1.555b98p-5, 0x1.55548ep-3, 0x1.fffff8p-2, 1, 1});
  return scale(p, r.shifted);
}

Num kiln::formulaExp2(const MathTarget &t, Num x) {
  x = atMost(atLeast(x, -151), 129);
  Num shifted = x + rounder;
  Num rest = x - (shifted - rounder);
  // 2^r for |r| <= 1/2: 2^-28.
  Num p = t.horner(rest, {0x1.3f9bcp-13, 0x1.5f0b8cp-10, 0x1.3b30a6p-7, 0x1.c6af76p-5,
                          0x1.ebfbd8p-3, 0x1.62e43p-1, 1});
  return scale(p, shifted);
}

Num kiln::formulaExpM1(const MathTarget &t, Num x) {
  Reduced r = reduceByLn2(t, atMost(atLeast(x, -18), 89));
  Num p = t.mulAdd(r.rest * r.rest, t.horner(r.rest, expM1Tail), r.rest);
  // 2^n * (p + 1) - 1 at half the scale: n may be 128.
  Num half = powerOfTwo(r.shifted.bits() - r.shifted.bits().integer(1));
  Num result = t.mulAdd(half, p, half - 0.5) * 2;
  return (x == 0.0).select(x, result);
}

/// exp(y) - 1 for y in [-26, 0]. NaN stays NaN.
static Num expM1OfNegative(const MathTarget &t, Num y) {
  Num shifted = t.mulAdd(y, 1 / M_LN2, y.constant(rounder));
  Num n = shifted - rounder;
  // One part of log(2) will do: where n is large, the result is near -1.
  Num rest = t.mulAdd(n, -M_LN2, y);
  Num p = t.mulAdd(rest * rest, t.horner(rest, expM1Tail), rest);
  Num power = powerOfTwo(shifted.bits());
  return t.mulAdd(power, p, power - 1);
}

Num kiln::formulaTanh(const MathTarget &t, Num x) {
  // 1 from 9.02 on.
  Num e = expM1OfNegative(t, atMost(x.abs(), 10) * -2);
  return (e / (e + 2)).copySign(x);
}

Num kiln::formulaErf(const MathTarget &t, Num x) {
  // 1 from 3.92 on.
  Num a = atMost(x.abs(), 3.93);
  // erf(a) = 1 - exp(-(a + a * p(a))): one path, good also where erf is small.
  // The fit is weighted by what an error in the exponent does to the result.
  Num p =
      t.horner(a, {-0x1.3696b4p-17, 0x1.ed6c58p-14, -0x1.4bc9ecp-11, 0x1.b5005p-10, -0x1.505ff6p-13,
                   -0x1.39cdc6p-6, 0x1.a4fa5ep-4, 0x1.45f2fap-1, 0x1.06eba8p-3});
  return expM1OfNegative(t, -t.mulAdd(a, p, a)).copySign(x);
}

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

/// Bits of 2/3: mantissas are taken from [2/3, 4/3).
static constexpr int64_t twoThirds = 0x3f2aaaab;

/// (log(1 + f) - f) / f^2 for |f| <= 1/3: 2^-29 of log(1 + f).
static constexpr double log1pTail[] = {0x1.dfa8f4p-4, -0x1.034c7ap-3, 0x1.bb8628p-4, -0x1.f541dp-4,
                                       0x1.24d474p-3, -0x1.55897p-3,  0x1.999876p-3, -0x1.ffff64p-3,
                                       0x1.555556p-2, -0x1p-1};

/// The exponent of a normal float whose mantissa is in [2/3, 4/3).
static Num exponentOf(Num x) { return (x.bits() - x.bits().integer(twoThirds)).sra(23); }

static Num toFloat(Num integer) {
  return integer.make<arith::SIToFPOp>(integer.typeOf(integer.builder().getF32Type()),
                                       integer.value);
}

/// What all logarithms of f32 have: inf and NaN stay, below 0 is NaN, `zero`
/// gives -inf.
static Num finishLog(Num result, Num x, double zero) {
  result = (x < HUGE_VAL).select(result, x);
  result = (x < zero).select(x.constant(NAN), result);
  return (x == zero).select(x.constant(-HUGE_VAL), result);
}

namespace {
/// x = 2^exponent * (1 + f).
struct Split {
  Num exponent, f;
};
} // namespace

static Split splitForLog(Num x) {
  Num denormal = x < 0x1p-126;
  Num normal = denormal.select(x * 0x1p23, x);
  Num exponent = exponentOf(normal);
  Num f = (normal.bits() - exponent.shl(23)).asFloat() - 1;
  return {toFloat(exponent) - denormal.select(x.constant(23), x.constant(0)), f};
}

/// exponent * log(2) + log(1 + f)
static Num naturalLog(const MathTarget &t, Num exponent, Num f) {
  Num tail = f * f * t.horner(f, log1pTail);
  Num low = t.mulAdd(exponent, ln2Low, tail) + f;
  return t.mulAdd(exponent, ln2High, low);
}

Num kiln::formulaLog(const MathTarget &t, Num x) {
  Split s = splitForLog(x);
  return finishLog(naturalLog(t, s.exponent, s.f), x, 0);
}

/// exponent * unit + log(1 + f) * factor, both constants in two parts; the
/// product with the first part of unit is exact.
static Num logToBase(const MathTarget &t, Num x, double unitHigh, double unitLow, double factorHigh,
                     double factorLow) {
  Split s = splitForLog(x);
  Num tail = s.f * s.f * t.horner(s.f, log1pTail);
  Num low = (tail + s.f) * factorLow;
  if (unitLow != 0)
    low = t.mulAdd(s.exponent, unitLow, low);
  low = t.mulAdd(s.f, factorHigh, t.mulAdd(tail, factorHigh, low));
  return finishLog(t.mulAdd(s.exponent, unitHigh, low), x, 0);
}

Num kiln::formulaLog2(const MathTarget &t, Num x) {
  return logToBase(t, x, 1, 0, 0x1.715476p0, 0x1.4ae0cp-26);
}

Num kiln::formulaLog10(const MathTarget &t, Num x) {
  return logToBase(t, x, 0x1.344p-2, 0x1.3509f8p-18, 0x1.bcb7b2p-2, -0x1.5b235ep-27);
}

Num kiln::formulaLog1p(const MathTarget &t, Num x) {
  Num sum = x + 1;
  Num exponent = exponentOf(sum);
  // f from x rather than from the sum, which has lost x's last bits. Both
  // steps are exact but for the last addition.
  Num inverse = (exponent.integer(0x3f800000) - exponent.shl(23)).asFloat();
  Num f = x * inverse + (inverse - 1);
  // There the inverse might be denormal, and 1 no longer matters.
  Num mantissa = (sum.bits() - exponent.shl(23)).asFloat();
  f = (x > 0x1p25).select(mantissa - 1, f);
  Num result = finishLog(naturalLog(t, toFloat(exponent), f), x, -1);
  return (x == 0.0).select(x, result);
}

//===----------------------------------------------------------------------===//
// Circular functions
//===----------------------------------------------------------------------===//

namespace {
/// |x| = quadrant * pi/2 + rest.
struct Angle {
  Num quadrant; // integer, last two bits count
  Num rest;
};
} // namespace

static Num toF64(Num x) {
  return x.make<arith::ExtFOp>(x.typeOf(x.builder().getF64Type()), x.value);
}

static Num toF32(Num x) {
  return x.make<arith::TruncFOp>(x.typeOf(x.builder().getF32Type()), x.value);
}

static Angle reduceAngle(const MathTarget &t, Num x) {
  Num a = x.abs();
  Num shifted = t.mulAdd(a, M_2_PI, a.constant(rounder));
  Num n = shifted - rounder;
  if (t.fma) {
    // The first step is exact: the product is never rounded.
    Num rest = t.mulAdd(n, -0x1.921fb6p0, a);
    rest = t.mulAdd(n, 0x1.777a5cp-25, rest);
    return {shifted.bits(), t.mulAdd(n, 0x1.ee59dap-50, rest)};
  }
  // The first part has 33 bits, so that its product with n is exact.
  Num wide = toF64(n);
  Num rest = toF64(a) - wide * 0x1.921fb544p0 - wide * 0x1.0b4611a626331p-34;
  return {shifted.bits(), toF32(rest)};
}

/// sin or cos of |x|, by quadrant: 0 sin, 1 cos, 2 -sin, 3 -cos.
static Num sinOfQuadrant(const MathTarget &t, Num quadrant, Num r) {
  Num square = r * r;
  // Both for |r| <= pi/4: 2^-26 and 2^-30.
  Num sine =
      t.mulAdd(square * r, t.horner(square, {-0x1.9ab408p-13, 0x1.110be6p-7, -0x1.555552p-3}), r);
  Num cosine =
      t.mulAdd(square, t.horner(square, {0x1.9bc76cp-16, -0x1.6c129ep-10, 0x1.555554p-5, -0.5}),
               r.constant(1));
  Num odd = (quadrant & quadrant.integer(1)) != quadrant.integer(0);
  Num sign = (quadrant & quadrant.integer(2)).shl(30);
  return (odd.select(cosine, sine).bits() ^ sign).asFloat();
}

Num kiln::formulaSin(const MathTarget &t, Num x) {
  Angle angle = reduceAngle(t, x);
  Num magnitude = sinOfQuadrant(t, angle.quadrant, angle.rest);
  return (magnitude.bits() ^ (x.bits() & x.bits().integer(INT32_MIN))).asFloat();
}

Num kiln::formulaCos(const MathTarget &t, Num x) {
  Angle angle = reduceAngle(t, x);
  return sinOfQuadrant(t, angle.quadrant + angle.quadrant.integer(1), angle.rest);
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

/// log2 of a positive f64 that was an f32, to 2^-45. Integers of 64 bits are
/// shifted without sign and never converted: AVX2 has neither.
static Num log2OfF64(const MathTarget &t, Num x) {
  constexpr int64_t one = 0x3ff0000000000000, sqrtHalf = 0x3fe6a09e00000000;
  Num bits = x.bits();
  Num biased = (bits + bits.integer(one - sqrtHalf)).srl(52);
  Num exponent = (biased | bits.integer(0x4330000000000000)).asFloat() - (0x1p52 + 1023);
  Num m = (bits - biased.shl(52) + bits.integer(one)).asFloat();
  Num s = (m - 1) / (m + 1);
  // log2((1 + s) / (1 - s)) / s for |s| <= 0.1716: 2^-45.
  Num p = t.horner(s * s, {0x1.21b08d5d36501p-2, 0x1.47955c26d16ap-2, 0x1.a61a2ea90128fp-2,
                           0x1.2776c29360c6ep-1, 0x1.ec709dc53c53ap-1, 0x1.71547652b8251p1});
  return t.mulAdd(s, p, exponent);
}

/// 2^x in f64 for |x| <= 200.
static Num exp2OfF64(const MathTarget &t, Num x) {
  constexpr double rounder64 = 0x1.8p52;
  Num shifted = x + rounder64;
  Num rest = x - (shifted - rounder64);
  // 2^r for |r| <= 1/2: 2^-40.
  Num p = t.horner(rest, {0x1.61afc979a0255p-20, 0x1.00dad25260f5cp-16, 0x1.430acca942495p-13,
                          0x1.5d87483851badp-10, 0x1.3b2ab5c524986p-7, 0x1.c6b08dd46d3d7p-5,
                          0x1.ebfbdff931a34p-3, 0x1.62e42fef8615ep-1, 0x1.ffffffffff7a3p-1});
  Num bits = shifted.bits();
  return p * (bits.shl(52) + bits.integer(0x3ff0000000000000)).asFloat();
}

Num kiln::formulaPow(const MathTarget &t, Num x, Num y) {
  Num a = x.abs();
  Num log = log2OfF64(t, toF64(a));
  log = (toF64(a) == 0.0).select(log.constant(-HUGE_VAL), log);
  log = (toF64(a) == HUGE_VAL).select(log.constant(HUGE_VAL), log);
  Num exponent = atMost(atLeast(log * toF64(y), -200), 200);
  Num result = toF32(exp2OfF64(t, exponent));
  result = x.isNan().select(x, result);

  Num whole = y.apply<math::FloorOp>() == y;
  Num half = y * 0.5;
  Num odd = whole & (half.apply<math::FloorOp>() != half);
  Num negative = x.bits() < x.bits().integer(0);
  result = (negative & odd).select(-result, result);
  result = ((x < 0.0) & (x != -HUGE_VAL) & ~whole).select(x.constant(NAN), result);
  // 1, whatever the other operand is.
  Num one = (y == 0.0) | (x == 1.0) | ((x == -1.0) & (y.abs() == HUGE_VAL));
  return one.select(x.constant(1), result);
}
