//===- Half.h - Functions of halves that the CUDA headers lack on a host *- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuda_fp16.h and cuda_bf16.h give a host their types, conversions, operators
// and comparisons; here is the rest. Each is rounded once from float: a product
// of two halves and a sum with a third are exact enough in float for that, except
// where noted.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CUDASIM_HALF_H
#define KILN_CUDASIM_HALF_H

#include "kiln/cudasim/Scalar.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace kiln::cudasim {
KILN_INLINE float wide(__half x) { return __half2float(x); }
KILN_INLINE float wide(__nv_bfloat16 x) { return __bfloat162float(x); }
template <class T> KILN_INLINE T narrow(float x);
template <> KILN_INLINE __half narrow<__half>(float x) { return __float2half_rn(x); }
template <> KILN_INLINE __nv_bfloat16 narrow<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}
template <> KILN_INLINE float narrow<float>(float x) { return x; }
/// In double, then to odd in float: one rounding in effect.
template <class T> KILN_INLINE T fused(T a, T b, T c) {
  const double exact = static_cast<double>(wide(a)) * wide(b) + wide(c);
  float f = static_cast<float>(exact);
  if (static_cast<double>(f) != exact && exact == exact) {
    uint32_t bits = std::bit_cast<uint32_t>(f);
    if (__builtin_fabs(static_cast<double>(f)) > __builtin_fabs(exact))
      --bits; // Towards zero, then the last bit says that something was cut.
    f = std::bit_cast<float>(bits | 1u);
  }
  return narrow<T>(f);
}
} // namespace kiln::cudasim

#define KILN_SIM_HALF_UNARY(T, name, expression)                                                   \
  KILN_INLINE T name(T h) {                                                                        \
    const float x = kiln::cudasim::wide(h);                                                        \
    return kiln::cudasim::narrow<T>(expression);                                                   \
  }
#define KILN_SIM_HALF_PAIR(T2, name, single)                                                       \
  KILN_INLINE T2 name(T2 h) {                                                                      \
    T2 r;                                                                                          \
    r.x = single(h.x);                                                                             \
    r.y = single(h.y);                                                                             \
    return r;                                                                                      \
  }
#define KILN_SIM_HALF(T, T2, name, expression)                                                     \
  KILN_SIM_HALF_UNARY(T, h##name, expression)                                                      \
  KILN_SIM_HALF_PAIR(T2, h2##name, h##name)
#define KILN_SIM_HALVES(T, T2)                                                                     \
  KILN_INLINE T __hfma(T a, T b, T c) { return kiln::cudasim::fused(a, b, c); }                    \
  KILN_INLINE T2 __hfma2(T2 a, T2 b, T2 c) {                                                       \
    T2 r;                                                                                          \
    r.x = __hfma(a.x, b.x, c.x);                                                                   \
    r.y = __hfma(a.y, b.y, c.y);                                                                   \
    return r;                                                                                      \
  }                                                                                                \
  KILN_SIM_HALF(T, T2, exp, expf(x))                                                               \
  KILN_SIM_HALF(T, T2, exp2, exp2f(x))                                                             \
  KILN_SIM_HALF(T, T2, log, logf(x))                                                               \
  KILN_SIM_HALF(T, T2, log2, log2f(x))                                                             \
  KILN_SIM_HALF(T, T2, rcp, 1.0f / x)                                                              \
  KILN_SIM_HALF(T, T2, sqrt, __builtin_sqrtf(x))                                                   \
  KILN_SIM_HALF(T, T2, rsqrt, rsqrtf(x))                                                           \
  KILN_SIM_HALF(T, T2, sin, sinf(x))                                                               \
  KILN_SIM_HALF(T, T2, cos, cosf(x))                                                               \
  KILN_SIM_HALF(T, T2, tanh, tanhf(x))                                                             \
  KILN_SIM_HALF(T, T2, floor, floorf(x))                                                           \
  KILN_SIM_HALF(T, T2, ceil, ceilf(x))                                                             \
  KILN_SIM_HALF(T, T2, rint, rintf(x))                                                             \
  KILN_SIM_HALF(T, T2, trunc, truncf(x))
KILN_SIM_HALVES(__half, __half2)
KILN_SIM_HALVES(__nv_bfloat16, __nv_bfloat162)
#undef KILN_SIM_HALVES
#undef KILN_SIM_HALF
#undef KILN_SIM_HALF_PAIR
#undef KILN_SIM_HALF_UNARY

KILN_INLINE int __half2int_rn(__half h) { return __float2int_rn(__half2float(h)); }

#endif // KILN_CUDASIM_HALF_H
