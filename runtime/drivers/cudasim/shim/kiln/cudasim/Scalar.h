//===- Scalar.h - Intrinsics of one thread ----------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The approximate functions (__expf ...) are computed as the device computes
// them, in correctly rounded pieces: exp2f(x * log2(e)) for ex2.approx. Their
// last bits differ from a card's.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CUDASIM_SCALAR_H
#define KILN_CUDASIM_SCALAR_H

#include "kiln/cudasim/Keywords.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

//===----------------------------------------------------------------------===//
// Loads and stores with a hint, which the model ignores
//===----------------------------------------------------------------------===//

#define KILN_SIM_LOAD(name)                                                                        \
  template <class T> KILN_INLINE T name(const T *p) { return *p; }
KILN_SIM_LOAD(__ldg)
KILN_SIM_LOAD(__ldca)
KILN_SIM_LOAD(__ldcg)
KILN_SIM_LOAD(__ldcs)
KILN_SIM_LOAD(__ldlu)
KILN_SIM_LOAD(__ldcv)
#undef KILN_SIM_LOAD
#define KILN_SIM_STORE(name)                                                                       \
  template <class T> KILN_INLINE void name(T *p, T v) { *p = v; }
KILN_SIM_STORE(__stcg)
KILN_SIM_STORE(__stcs)
KILN_SIM_STORE(__stwb)
KILN_SIM_STORE(__stwt)
#undef KILN_SIM_STORE

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

KILN_INLINE float __fadd_rn(float a, float b) { return a + b; }
KILN_INLINE float __fsub_rn(float a, float b) { return a - b; }
KILN_INLINE float __fmul_rn(float a, float b) { return a * b; }
KILN_INLINE float __fdiv_rn(float a, float b) { return a / b; }
KILN_INLINE float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
KILN_INLINE float __fdividef(float a, float b) { return a / b; }
KILN_INLINE float __frcp_rn(float a) { return 1.0f / a; }
KILN_INLINE float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
KILN_INLINE float rsqrtf(float a) {
  return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(a)));
}
KILN_INLINE float __frsqrt_rn(float a) { return rsqrtf(a); }
KILN_INLINE double rsqrt(double a) { return 1.0 / __builtin_sqrt(a); }
KILN_INLINE float rcbrtf(float a) { return 1.0f / cbrtf(a); }
KILN_INLINE float __saturatef(float a) { return a != a ? 0.0f : fminf(fmaxf(a, 0.0f), 1.0f); }
KILN_INLINE float normcdff(float a) { return 0.5f * erfcf(-a * 0.70710678118654752f); }
KILN_INLINE double __dadd_rn(double a, double b) { return a + b; }
KILN_INLINE double __dmul_rn(double a, double b) { return a * b; }
KILN_INLINE double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }

// glibc declares these names and does not define them.
#define KILN_SIM_MATH(name, expression)                                                            \
  KILN_INLINE float kilnSim##name(float x) { return expression; }
KILN_SIM_MATH(Exp, exp2f(x * 1.44269504f))
KILN_SIM_MATH(Exp10, exp2f(x * 3.32192809f))
KILN_SIM_MATH(Log, log2f(x) * 0.693147181f)
KILN_SIM_MATH(Log2, log2f(x))
KILN_SIM_MATH(Log10, log2f(x) * 0.301029996f)
KILN_SIM_MATH(Sin, sinf(x))
KILN_SIM_MATH(Cos, cosf(x))
KILN_SIM_MATH(Tan, sinf(x) / cosf(x))
KILN_SIM_MATH(Tanh, tanhf(x))
#undef KILN_SIM_MATH
#define __expf(x) kilnSimExp(x)
#define __exp10f(x) kilnSimExp10(x)
#define __logf(x) kilnSimLog(x)
#define __log2f(x) kilnSimLog2(x)
#define __log10f(x) kilnSimLog10(x)
#define __sinf(x) kilnSimSin(x)
#define __cosf(x) kilnSimCos(x)
#define __tanf(x) kilnSimTan(x)
#define __tanhf(x) kilnSimTanh(x)
#define __powf(x, y) exp2f((y) * log2f(x))

//===----------------------------------------------------------------------===//
// Conversions: they saturate and make 0 of NaN, as cvt does. A plain cast of a
// value that does not fit is undefined in C++ and gives another value here.
//===----------------------------------------------------------------------===//

namespace kiln::cudasim {
template <class I, class F> KILN_INLINE I saturated(F rounded) {
  if (rounded != rounded)
    return 0;
  if (rounded >= static_cast<F>(std::numeric_limits<I>::max()))
    return std::numeric_limits<I>::max();
  if (rounded <= static_cast<F>(std::numeric_limits<I>::min()))
    return std::numeric_limits<I>::min();
  return static_cast<I>(rounded);
}
} // namespace kiln::cudasim
#define KILN_SIM_CONVERT(from, F, to, I)                                                           \
  KILN_INLINE I __##from##2##to##_rn(F x) {                                                        \
    return kiln::cudasim::saturated<I>(std::nearbyint(x));                                         \
  }                                                                                                \
  KILN_INLINE I __##from##2##to##_rz(F x) { return kiln::cudasim::saturated<I>(std::trunc(x)); }   \
  KILN_INLINE I __##from##2##to##_rd(F x) { return kiln::cudasim::saturated<I>(std::floor(x)); }   \
  KILN_INLINE I __##from##2##to##_ru(F x) { return kiln::cudasim::saturated<I>(std::ceil(x)); }
KILN_SIM_CONVERT(float, float, int, int)
KILN_SIM_CONVERT(float, float, uint, unsigned)
KILN_SIM_CONVERT(float, float, ll, long long)
KILN_SIM_CONVERT(float, float, ull, unsigned long long)
KILN_SIM_CONVERT(double, double, int, int)
KILN_SIM_CONVERT(double, double, uint, unsigned)
KILN_SIM_CONVERT(double, double, ll, long long)
KILN_SIM_CONVERT(double, double, ull, unsigned long long)
#undef KILN_SIM_CONVERT
KILN_INLINE float __int2float_rn(int x) { return static_cast<float>(x); }
KILN_INLINE float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
KILN_INLINE float __ll2float_rn(long long x) { return static_cast<float>(x); }
KILN_INLINE float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
KILN_INLINE double __int2double_rn(int x) { return x; }
KILN_INLINE double __ll2double_rn(long long x) { return static_cast<double>(x); }
KILN_INLINE float __double2float_rn(double x) { return static_cast<float>(x); }
KILN_INLINE int __float_as_int(float x) { return std::bit_cast<int>(x); }
KILN_INLINE unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
KILN_INLINE float __int_as_float(int x) { return std::bit_cast<float>(x); }
KILN_INLINE float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
KILN_INLINE long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
KILN_INLINE double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

KILN_INLINE int __popc(unsigned x) { return std::popcount(x); }
KILN_INLINE int __popcll(unsigned long long x) { return std::popcount(x); }
KILN_INLINE int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
KILN_INLINE int __clzll(long long x) {
  return std::countl_zero(static_cast<unsigned long long>(x));
}
KILN_INLINE int __ffs(int x) { return __builtin_ffs(x); }
KILN_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
KILN_INLINE unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
KILN_INLINE unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
KILN_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const uint64_t bytes = static_cast<uint64_t>(y) << 32 | x;
  unsigned r = 0;
  for (int i = 0; i < 4; ++i)
    r |= static_cast<unsigned>(bytes >> (selector >> 4 * i & 7) * 8 & 255) << 8 * i;
  return r;
}
KILN_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) << (shift & 31) >> 32);
}
KILN_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (shift & 31));
}
KILN_INLINE unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32);
}
KILN_INLINE int __mulhi(int a, int b) {
  return static_cast<int>(static_cast<int64_t>(a) * b >> 32);
}
KILN_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
KILN_INLINE int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
KILN_INLINE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
KILN_INLINE unsigned __sad(int a, int b, unsigned c) {
  return c + static_cast<unsigned>(a > b ? static_cast<long long>(a) - b
                                         : static_cast<long long>(b) - a);
}

#define KILN_SIM_MINMAX(T)                                                                         \
  KILN_INLINE T min(T a, T b) { return b < a ? b : a; }                                            \
  KILN_INLINE T max(T a, T b) { return a < b ? b : a; }
KILN_SIM_MINMAX(int)
KILN_SIM_MINMAX(unsigned)
KILN_SIM_MINMAX(long)
KILN_SIM_MINMAX(unsigned long)
KILN_SIM_MINMAX(long long)
KILN_SIM_MINMAX(unsigned long long)
#undef KILN_SIM_MINMAX
KILN_INLINE float min(float a, float b) { return fminf(a, b); }
KILN_INLINE float max(float a, float b) { return fmaxf(a, b); }
KILN_INLINE double min(double a, double b) { return fmin(a, b); }
KILN_INLINE double max(double a, double b) { return fmax(a, b); }
KILN_INLINE unsigned umin(unsigned a, unsigned b) { return min(a, b); }
KILN_INLINE unsigned umax(unsigned a, unsigned b) { return max(a, b); }

//===----------------------------------------------------------------------===//
// The rest
//===----------------------------------------------------------------------===//

KILN_INLINE void __nanosleep(unsigned) {}
KILN_INLINE long long clock64() { return static_cast<long long>(kiln::cudasim::kilnSimClock()); }
KILN_INLINE unsigned clock() { return static_cast<unsigned>(kiln::cudasim::kilnSimClock()); }
KILN_INLINE void __trap() { kiln::cudasim::kilnSimTrap(); }
KILN_INLINE size_t __cvta_generic_to_shared(const void *p) { return reinterpret_cast<size_t>(p); }

#endif // KILN_CUDASIM_SCALAR_H
