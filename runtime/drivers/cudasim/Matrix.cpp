//===- Matrix.cpp - mma and ldmatrix --------------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fragments as the PTX manual lays them out. Lane l = 4 * g + t. A row of A and a
// column of B hold 32 bytes: 16 halves, 8 words or 32 bytes, so in units of
// 4-byte registers all kinds are alike. With r the register,
//
//   A (16 rows x 8 words):  row g + 8 * (r & 1), word t + 4 * (r >> 1)
//   B (8 words x 8 columns): word t + 4 * r, column g
//   D (16 x 8 elements):    row g + 8 * (r >> 1), column 2 * t + (r & 1)
//
// Products are summed in the order of k, by fused multiply-adds in float or in
// int32. A card's order within a tile is not documented.
//
//===----------------------------------------------------------------------===//
#include "Matrix.h"
#include "kiln/cudasim/Hooks.h"

#include <cstring>
#include <immintrin.h>

namespace kiln::cudasim {
namespace {

constexpr int kRows = 16, kColumns = 8, kWords = 8;

/// Element e of a word, widened.
struct HalfElement {
  using Wide = float;
  static constexpr int perWord = 2;
  static float widen(uint32_t word, int e) {
    return _cvtsh_ss(static_cast<unsigned short>(word >> 16 * e));
  }
};
struct BfloatElement {
  using Wide = float;
  static constexpr int perWord = 2;
  static float widen(uint32_t word, int e) {
    const uint32_t bits = e ? word & 0xffff0000u : word << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
  }
};
struct Tf32Element { // The low 13 bits of the mantissa are not looked at.
  using Wide = float;
  static constexpr int perWord = 1;
  static float widen(uint32_t word, int) {
    word &= ~0x1fffu;
    float f;
    memcpy(&f, &word, 4);
    return f;
  }
};
template <class Byte> struct ByteElement {
  using Wide = int32_t;
  static constexpr int perWord = 4;
  static int32_t widen(uint32_t word, int e) { return static_cast<Byte>(word >> 8 * e); }
};

const MmaArgs &argsOf(void *const *lanes, int lane) {
  return *static_cast<const MmaArgs *>(lanes[lane]);
}

inline void multiplyAdd(float (&d)[kRows][kColumns], const float *a, int aStride,
                        const float (*b)[kColumns], int depth) {
  for (int r = 0; r < kRows; r += 8) {
    __m256 s[8];
    for (int q = 0; q < 8; ++q)
      s[q] = _mm256_load_ps(d[r + q]);
    for (int k = 0; k < depth; ++k) {
      const __m256 v = _mm256_load_ps(b[k]);
      for (int q = 0; q < 8; ++q)
        s[q] = _mm256_fmadd_ps(_mm256_broadcast_ss(a + (r + q) * aStride + k), v, s[q]);
    }
    for (int q = 0; q < 8; ++q)
      _mm256_store_ps(d[r + q], s[q]);
  }
}
inline void multiplyAdd(int32_t (&d)[kRows][kColumns], const int32_t *a, int aStride,
                        const int32_t (*b)[kColumns], int depth) {
  for (int r = 0; r < kRows; ++r)
    for (int k = 0; k < depth; ++k)
      for (int c = 0; c < kColumns; ++c) // Wraps, as the instruction does without .satfinite.
        d[r][c] = int32_t(uint32_t(d[r][c]) + uint32_t(a[r * aStride + k] * b[k][c]));
}

template <class A, class B> void run(void *const *lanes) {
  using Wide = typename A::Wide;
  constexpr int depth = kWords * A::perWord;
  constexpr int maxN = 32;
  const int m = argsOf(lanes, 0).m, n = argsOf(lanes, 0).n;
  alignas(32) Wide b[maxN][depth][kColumns];
  alignas(32) Wide a[kRows][depth], d[kRows][kColumns];
  for (int first = 0; first < n; first += maxN) {
    const int count = n - first < maxN ? n - first : maxN;
    for (int j = 0; j < count; ++j)
      for (int l = 0; l < 32; ++l)
        for (int r = 0; r < 2; ++r) {
          const uint32_t word = argsOf(lanes, l).b[(first + j) * 2 + r];
          for (int e = 0; e < B::perWord; ++e)
            b[j][(l % 4 + 4 * r) * B::perWord + e][l / 4] = B::widen(word, e);
        }
    for (int i = 0; i < m; ++i) {
      for (int l = 0; l < 32; ++l)
        for (int r = 0; r < 4; ++r) {
          const uint32_t word = argsOf(lanes, l).a[i * 4 + r];
          for (int e = 0; e < A::perWord; ++e)
            a[l / 4 + 8 * (r & 1)][(l % 4 + 4 * (r >> 1)) * A::perWord + e] = A::widen(word, e);
        }
      for (int j = 0; j < count; ++j) {
        auto tile = [&](int l) {
          return static_cast<Wide *>(argsOf(lanes, l).d) + (i * n + first + j) * 4;
        };
        for (int l = 0; l < 32; ++l)
          for (int h = 0; h < 2; ++h)
            memcpy(&d[l / 4 + 8 * h][l % 4 * 2], tile(l) + h * 2, 8);
        multiplyAdd(d, a[0], depth, b[j], depth);
        for (int l = 0; l < 32; ++l)
          for (int h = 0; h < 2; ++h)
            memcpy(tile(l) + h * 2, &d[l / 4 + 8 * h][l % 4 * 2], 8);
      }
    }
  }
}

} // namespace

void runMma(void *const *lanes) {
  using S8 = ByteElement<int8_t>;
  using U8 = ByteElement<uint8_t>;
  switch (argsOf(lanes, 0).kind) {
  case kMmaF16:
    return run<HalfElement, HalfElement>(lanes);
  case kMmaBf16:
    return run<BfloatElement, BfloatElement>(lanes);
  case kMmaTf32:
    return run<Tf32Element, Tf32Element>(lanes);
  case kMmaS8S8:
    return run<S8, S8>(lanes);
  case kMmaS8U8:
    return run<S8, U8>(lanes);
  case kMmaU8S8:
    return run<U8, S8>(lanes);
  default:
    return run<U8, U8>(lanes);
  }
}

/// Lane 8 * m + r names row r of matrix m. Lane l receives in register m the pair
/// of row l / 4 and columns 2 * (l % 4) and the next; transposed, of that column
/// and those rows.
void runLdmatrix(void *const *lanes, bool transposed) {
  auto argsOf = [&](int l) -> LdmatrixArgs & { return *static_cast<LdmatrixArgs *>(lanes[l]); };
  for (int i = 0; i < argsOf(0).count; ++i) {
    uint16_t tile[32][8];
    for (int l = 0; l < 32; ++l)
      memcpy(tile[l], argsOf(l).rows[i], 16);
    for (int l = 0; l < 32; ++l)
      for (int m = 0; m < 4; ++m) {
        const uint16_t (*x)[8] = tile + m * 8;
        const int pair = l % 4 * 2, line = l / 4;
        argsOf(l).registers[i * 4 + m] = transposed
                                             ? x[pair][line] | uint32_t(x[pair + 1][line]) << 16
                                             : x[line][pair] | uint32_t(x[line][pair + 1]) << 16;
      }
  }
}

} // namespace kiln::cudasim
