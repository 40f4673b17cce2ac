//===- NormLinear.cuh - Norm, activation and product in one kernel -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_NORMLINEAR_CUH
#define KILN_TARGET_CUDA_KERNELS_NORMLINEAR_CUH

#include "../MatMul/MatMul.cuh"
#include "NormLinear.config.h"

namespace kiln::cuda {

template <int tileM, int tileN, int tileK, int threadM, int threadN> struct NormLinearShape {
  using Product = SimtShape<tileM, tileN, tileK, threadM, threadN>;
  static constexpr NormLinearConfig config{Product::config};
  static constexpr int threads = config.threads(), sharedBytes = config.sharedBytes();
};

/// Rows of a matrix as operand A of a product, each element change((x - mean) * factor).
/// `statistics` holds (mean, factor) of the rows from `row0` on.
template <class T, int vector_, class Prologue, class Change> struct NormalizedOperand {
  static constexpr bool alongK = true;
  static constexpr int vector = vector_;

  const T *data;
  long columns;
  const float *statistics;
  int row0;
  Prologue prologue;
  Change change;

  struct Position {
    long row;
    float mean, factor;
    bool inside;
  };
  __device__ __forceinline__ Position position(int, int row, int rows) const {
    if (row >= rows)
      return {0, 0, 0, false};
    float two[2];
    loadElements<2>(two, statistics + (row - row0) * 2);
    return {row, two[0], two[1], true};
  }
  __device__ __forceinline__ void load(float (&to)[vector_], const Position &p, int k,
                                       int kEnd) const {
    if (p.inside && k < kEnd) {
      float x[vector_];
      loadThrough<vector_>(x, data, p.row * columns + k, prologue, p.row, k);
#pragma unroll
      for (int i = 0; i < vector_; ++i)
        x[i] = (x[i] - p.mean) * p.factor;
      applyFunctor<vector_>(change, x, to, p.row, k);
    } else {
#pragma unroll
      for (int i = 0; i < vector_; ++i)
        to[i] = 0;
    }
  }
};

/// result = epilogue(change(norm(prologue(x))) * b): the norm of LayerNorm, or of RMSNorm without
/// `centred`; scale, bias and activation are the change's. The prologue's and the change's (row,
/// col) is the place in x. Grid as matMulLaunch of one batch says.
template <class Shape, bool centred, int vector, class Prologue, class Change, class B,
          class Result>
struct NormLinear {
  static constexpr SimtMatMulConfig config = Shape::Product::config;
  static constexpr int warps = Shape::threads / warpLanes;

  /// One lane's part of a row, in vectors; `use` gets each element.
  template <class T, class Use>
  __device__ __forceinline__ static void ofRow(const T *x, long row, int columns,
                                               const Prologue &prologue, const Use &use) {
    const int lane = threadIdx.x % warpLanes;
    for (int k = lane * vector; k < columns; k += warpLanes * vector) {
      float part[vector];
      loadThrough<vector>(part, x, row * columns + k, prologue, row, k);
#pragma unroll
      for (int i = 0; i < vector; ++i)
        use(part[i]);
    }
  }

  template <class T>
  __device__ __forceinline__ static void run(const T *x, float epsilon, const B &b,
                                             const Result &result, int m, int n, int k, int group,
                                             const Prologue &prologue, const Change &change) {
    float *statistics = reinterpret_cast<float *>(dynamicShared() + Shape::Product::sharedBytes);
    const int row0 = tileOf(blockIdx.x, (m + config.tileM - 1) / config.tileM,
                            (n + config.tileN - 1) / config.tileN, group)
                         .row *
                     config.tileM;
    const float count = static_cast<float>(k);
    // A warp a row; rows outside have no statistics and nobody asks for them.
    for (int i = threadIdx.x / warpLanes; i < config.tileM && row0 + i < m; i += warps) {
      const long row = row0 + i;
      float mean = 0, squares = 0;
      if constexpr (centred) {
        ofRow(x, row, k, prologue, [&](float v) { mean += v; });
        mean = warpReduce(mean, Sum{}) / count;
      }
      ofRow(x, row, k, prologue, [&](float v) { squares = fmaf(v - mean, v - mean, squares); });
      squares = warpReduce(squares, Sum{});
      if (threadIdx.x % warpLanes == 0) {
        const float two[2] = {mean, 1.0f / sqrtf(squares / count + epsilon)};
        storeElements<2>(statistics + i * 2, two);
      }
    }
    __syncthreads();
    using A = NormalizedOperand<T, vector, Prologue, Change>;
    SimtMatMul<typename Shape::Product, A, B, Result>::run(
        A{x, k, statistics, row0, prologue, change}, b, result, m, n, k, group);
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_NORMLINEAR_CUH
