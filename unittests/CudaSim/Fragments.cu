//===- Fragments.cu - Tiles by the formulas of the PTX manual -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kernel fills its fragments element by element, by the formulas that the
// manual gives for a lane (groupID = lane / 4, inGroup = lane % 4), multiplies
// 32 x K by K x 32, and writes the result by the manual's formula of the
// accumulators. A is row-major, B too (K rows).
//
//===----------------------------------------------------------------------===//
#include "kiln/cuda/Device.h"

namespace {

constexpr int M = 2, N = 4; // Tiles of 16 and of 8.

/// Row and column of A's element i, of B's.
struct Halves { // m16n8k16, 16-bit elements
  static constexpr int depth = 16, ofA = 8, ofB = 4;
  static int rowA(int g, int, int i) { return (i < 2 || (i >= 4 && i < 6)) ? g : g + 8; }
  static int columnA(int, int t, int i) { return t * 2 + (i & 1) + (i >= 4 ? 8 : 0); }
  static int rowB(int t, int i) { return t * 2 + (i & 1) + (i >= 2 ? 8 : 0); }
};
struct Words { // m16n8k8, tf32
  static constexpr int depth = 8, ofA = 4, ofB = 2;
  static int rowA(int g, int, int i) { return i == 0 || i == 2 ? g : g + 8; }
  static int columnA(int, int t, int i) { return i < 2 ? t : t + 4; }
  static int rowB(int t, int i) { return i < 1 ? t : t + 4; }
};
struct Bytes { // m16n8k32, 8-bit elements
  static constexpr int depth = 32, ofA = 16, ofB = 8;
  static int rowA(int g, int, int i) { return (i < 4 || (i >= 8 && i < 12)) ? g : g + 8; }
  static int columnA(int, int t, int i) { return t * 4 + (i & 3) + (i >= 8 ? 16 : 0); }
  static int rowB(int t, int i) { return t * 4 + (i & 3) + (i >= 4 ? 16 : 0); }
};

template <class Layout, class A, class B, class ElementA, class ElementB, class Acc>
__device__ void multiply(const ElementA *a, const ElementB *b, Acc *d) {
  const int lane = threadIdx.x, g = lane >> 2, t = lane % 4;
  ElementA fa[M][Layout::ofA];
  ElementB fb[N][Layout::ofB];
  for (int m = 0; m < M; ++m)
    for (int i = 0; i < Layout::ofA; ++i)
      fa[m][i] = a[(m * 16 + Layout::rowA(g, t, i)) * Layout::depth + Layout::columnA(g, t, i)];
  for (int n = 0; n < N; ++n)
    for (int i = 0; i < Layout::ofB; ++i)
      fb[n][i] = b[Layout::rowB(t, i) * (N * 8) + n * 8 + g];
  uint32_t wa[M][4], wb[N / 2][4];
  static_assert(sizeof wa == sizeof fa && sizeof wb == sizeof fb, "whole registers");
  memcpy(static_cast<void *>(wa), fa, sizeof wa);
  memcpy(static_cast<void *>(wb), fb, sizeof wb);
  Acc acc[M][N][4];
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n)
      for (int i = 0; i < 4; ++i)
        acc[m][n][i] = d[(m * 16 + (i < 2 ? g : g + 8)) * (N * 8) + n * 8 + t * 2 + (i & 1)];
  kiln::mma<A, B>(acc, wa, wb);
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n)
      for (int i = 0; i < 4; ++i)
        d[(m * 16 + (i < 2 ? g : g + 8)) * (N * 8) + n * 8 + t * 2 + (i & 1)] = acc[m][n][i];
}

} // namespace

extern "C" __global__ void mmaF16(const __half *a, const __half *b, float *d) {
  multiply<Halves, __half, __half>(a, b, d);
}
extern "C" __global__ void mmaBf16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *d) {
  multiply<Halves, __nv_bfloat16, __nv_bfloat16>(a, b, d);
}
extern "C" __global__ void mmaTf32(const float *a, const float *b, float *d) {
  multiply<Words, kiln::Tf32, kiln::Tf32>(a, b, d);
}
extern "C" __global__ void mmaS8S8(const int8_t *a, const int8_t *b, int *d) {
  multiply<Bytes, int8_t, int8_t>(a, b, d);
}
extern "C" __global__ void mmaS8U8(const int8_t *a, const uint8_t *b, int *d) {
  multiply<Bytes, int8_t, uint8_t>(a, b, d);
}
extern "C" __global__ void mmaU8S8(const uint8_t *a, const int8_t *b, int *d) {
  multiply<Bytes, uint8_t, int8_t>(a, b, d);
}
extern "C" __global__ void mmaU8U8(const uint8_t *a, const uint8_t *b, int *d) {
  multiply<Bytes, uint8_t, uint8_t>(a, b, d);
}

/// Two times four matrices of 8 x 8; row r of matrix m comes from lane 8 * m + r.
template <bool Trans> __device__ void load(const uint16_t *x, uint32_t *y) {
  __shared__ __align__(16) uint16_t s[512];
  for (int i = 0; i < 16; ++i)
    s[threadIdx.x * 16 + i] = x[threadIdx.x * 16 + i];
  __syncwarp();
  uint32_t r[2][4];
  kiln::ldmatrix4<Trans>(r, [&](int i) { return s + i * 256 + threadIdx.x * 8; });
  for (int i = 0; i < 2; ++i)
    for (int m = 0; m < 4; ++m)
      y[(i * 4 + m) * 32 + threadIdx.x] = r[i][m];
}
extern "C" __global__ void ldmatrix(const uint16_t *x, uint32_t *y) { load<false>(x, y); }
extern "C" __global__ void ldmatrixTrans(const uint16_t *x, uint32_t *y) { load<true>(x, y); }

/// Rounding to tf32, dp4a of both signs.
extern "C" __global__ void conversions(const float *x, uint32_t *tf32, const int *a, const int *b,
                                       int *products) {
  const int t = threadIdx.x;
  tf32[t] = kiln::toTf32(x[t]);
  products[t * 2] = kiln::dp4a(a[t], b[t], 7);
  products[t * 2 + 1] =
      static_cast<int>(kiln::dp4a(static_cast<unsigned>(a[t]), static_cast<unsigned>(b[t]), 7u));
}
