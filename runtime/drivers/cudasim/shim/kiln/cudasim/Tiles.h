//===- Tiles.h - The host side of Device.h's wrappers -----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CUDASIM_TILES_H
#define KILN_CUDASIM_TILES_H

#include "kiln/cudasim/Keywords.h"

#include <bit>
#include <type_traits>

namespace kiln {

KILN_INLINE unsigned char *dynamicShared() { return cudasim::kilnSimDynamicShared(); }

#ifdef KILN_SIM_CHECKED
template <class V> KILN_INLINE V loadVector(const void *p) {
  static_assert(sizeof(V) == 4 || sizeof(V) == 8 || sizeof(V) == 16, "sizes of one access");
  if constexpr (sizeof(V) == 16)
    return std::bit_cast<V>(cudasim::kilnSimLoad16(p));
  else if constexpr (sizeof(V) == 8)
    return std::bit_cast<V>(cudasim::kilnSimLoad8(p));
  else
    return std::bit_cast<V>(cudasim::kilnSimLoad4(p));
}
template <class V> KILN_INLINE void storeVector(void *p, V v) {
  static_assert(sizeof(V) == 4 || sizeof(V) == 8 || sizeof(V) == 16, "sizes of one access");
  if constexpr (sizeof(V) == 16)
    cudasim::kilnSimStore16(p, std::bit_cast<cudasim::Bits16>(v));
  else if constexpr (sizeof(V) == 8)
    cudasim::kilnSimStore8(p, std::bit_cast<uint64_t>(v));
  else
    cudasim::kilnSimStore4(p, std::bit_cast<uint32_t>(v));
}
#else
template <class V> KILN_INLINE V loadVector(const void *p) { return *static_cast<const V *>(p); }
template <class V> KILN_INLINE void storeVector(void *p, V v) { *static_cast<V *>(p) = v; }
#endif

template <int Bytes> KILN_INLINE void cpAsync(void *dst, const void *src, bool pred) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "sizes of cp.async");
  cudasim::kilnSimAsyncCopy(dst, src, Bytes, pred ? Bytes : 0);
}
KILN_INLINE void cpAsync16(void *dst, const void *src, bool pred = true) {
  cudasim::kilnSimAsyncCopy(dst, src, 16, pred ? 16 : 0);
}
KILN_INLINE void cpAsyncCommit() { cudasim::kilnSimAsyncCommit(); }
template <int N> KILN_INLINE void cpAsyncWait() { cudasim::kilnSimAsyncWait(N); }

template <bool Trans, int N, class Row> KILN_INLINE void ldmatrix4(uint32_t (&r)[N][4], Row row) {
  const void *rows[N];
  for (int i = 0; i < N; ++i)
    rows[i] = row(i);
  cudasim::kilnSimLdmatrix(r[0], rows, N, Trans);
}

namespace cudasim {
template <class A, class B> constexpr MmaKind mmaKind() {
  if constexpr (std::is_same_v<A, __half>)
    return kMmaF16;
  else if constexpr (std::is_same_v<A, __nv_bfloat16>)
    return kMmaBf16;
  else if constexpr (std::is_same_v<A, Tf32>)
    return kMmaTf32;
  else if constexpr (std::is_same_v<A, int8_t>)
    return std::is_same_v<B, int8_t> ? kMmaS8S8 : kMmaS8U8;
  else
    return std::is_same_v<B, int8_t> ? kMmaU8S8 : kMmaU8U8;
}
} // namespace cudasim

template <class A, class B = A, class Acc, int M, int N>
KILN_INLINE void mma(Acc (&d)[M][N][4], const uint32_t (&a)[M][4], const uint32_t (&b)[N / 2][4]) {
  static_assert(N % 2 == 0, "one ldmatrix4 gives B of two tiles");
  static_assert(sizeof(Acc) == 4 &&
                    std::is_integral_v<Acc> == (sizeof(A) == 1 && !std::is_same_v<A, Tf32>),
                "bytes accumulate in int, the rest in float");
  cudasim::kilnSimMma(cudasim::mmaKind<A, B>(), d, a[0], b[0], M, N);
}

KILN_INLINE uint32_t toTf32(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  // To nearest, ties away from zero; infinity and NaN stay.
  return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & ~0x1fffu;
}

/// In the order of the device's butterfly, but one meeting instead of five.
template <int Width = 32, class T, class Op> KILN_INLINE T warpReduce(T v, Op op) {
  struct Lane {
    T value;
    Op *op;
  } mine{v, &op};
  cudasim::kilnSimCollective(
      ~0u, &mine, [](void *const *lanes, unsigned) __attribute__((no_sanitize("thread"))) {
        T x[32], y[32];
        for (int l = 0; l < 32; ++l)
          x[l] = static_cast<Lane *>(lanes[l])->value;
        for (int m = Width / 2; m > 0; m /= 2) {
          for (int l = 0; l < 32; ++l)
            y[l] = (*static_cast<Lane *>(lanes[l])->op)(x[l], x[l ^ m]);
          for (int l = 0; l < 32; ++l)
            x[l] = y[l];
        }
        for (int l = 0; l < 32; ++l)
          static_cast<Lane *>(lanes[l])->value = x[l];
      });
  return mine.value;
}

KILN_INLINE int dp4a(int a, int b, int c) { return cudasim::kilnSimDp4a(1, a, b, c); }
KILN_INLINE unsigned dp4a(unsigned a, unsigned b, unsigned c) {
  return static_cast<unsigned>(
      cudasim::kilnSimDp4a(0, static_cast<int>(a), static_cast<int>(b), static_cast<int>(c)));
}

} // namespace kiln

KILN_INLINE int __dp4a(int a, int b, int c) { return kiln::dp4a(a, b, c); }
KILN_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c) { return kiln::dp4a(a, b, c); }

#endif // KILN_CUDASIM_TILES_H
