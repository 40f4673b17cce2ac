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

/// Rows of a matrix as operand A of a product, each element
/// activation((x - mean) * factor * scale[k] + bias[k]). `statistics` holds (mean, factor) of the
/// rows from `row0` on. Scale and bias are fp32.
template <class T, int vector_, class Activation> struct NormalizedOperand {
  static constexpr bool alongK = true;
  static constexpr int vector = vector_;

  const T *data;
  long columns;
  const float *scale, *bias;
  const float *statistics;
  int row0;
  Activation activation;

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
      float x[vector_], s[vector_], b[vector_];
      loadElements<vector_>(x, data + p.row * columns + k);
      loadElements<vector_>(s, scale + k);
      loadElements<vector_>(b, bias + k);
#pragma unroll
      for (int i = 0; i < vector_; ++i)
        x[i] = fmaf((x[i] - p.mean) * p.factor, s[i], b[i]);
      applyFunctor<vector_>(activation, x, to, p.row, k);
    } else {
#pragma unroll
      for (int i = 0; i < vector_; ++i)
        to[i] = 0;
    }
  }
};

/// result = epilogue(activation(norm(x)) * b): LayerNorm, or RMSNorm without `centred`. The
/// activation's (row, col) is the place in x. Grid as matMulLaunch of one batch says.
template <class Shape, bool centred, int vector, class Activation, class B, class Result>
struct NormLinear {
  static constexpr SimtMatMulConfig config = Shape::Product::config;
  static constexpr int warps = Shape::threads / warpLanes;

  /// One lane's part of a row, in vectors; `use` gets each element.
  template <class T, class Use>
  __device__ __forceinline__ static void ofRow(const T *row, int columns, const Use &use) {
    const int lane = threadIdx.x % warpLanes;
    for (int k = lane * vector; k < columns; k += warpLanes * vector) {
      float x[vector];
      loadElements<vector>(x, row + k);
#pragma unroll
      for (int i = 0; i < vector; ++i)
        use(x[i]);
    }
  }

  template <class T>
  __device__ __forceinline__ static void
  run(const T *x, const float *scale, const float *bias, float epsilon, const B &b,
      const Result &result, int m, int n, int k, int group, const Activation &activation) {
    float *statistics = reinterpret_cast<float *>(dynamicShared() + Shape::Product::sharedBytes);
    const int row0 = tileOf(blockIdx.x, (m + config.tileM - 1) / config.tileM,
                            (n + config.tileN - 1) / config.tileN, group)
                         .row *
                     config.tileM;
    const float count = static_cast<float>(k);
    // A warp a row; rows outside have no statistics and nobody asks for them.
    for (int i = threadIdx.x / warpLanes; i < config.tileM && row0 + i < m; i += warps) {
      const T *row = x + static_cast<long>(row0 + i) * k;
      float mean = 0, squares = 0;
      if constexpr (centred) {
        ofRow(row, k, [&](float v) { mean += v; });
        mean = warpReduce(mean, Sum{}) / count;
      }
      ofRow(row, k, [&](float v) { squares = fmaf(v - mean, v - mean, squares); });
      squares = warpReduce(squares, Sum{});
      if (threadIdx.x % warpLanes == 0) {
        const float two[2] = {mean, 1.0f / sqrtf(squares / count + epsilon)};
        storeElements<2>(statistics + i * 2, two);
      }
    }
    __syncthreads();
    using A = NormalizedOperand<T, vector, Activation>;
    SimtMatMul<typename Shape::Product, A, B, Result>::run(
        A{x, k, scale, bias, statistics, row0, activation}, b, result, m, n, k, group);
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_NORMLINEAR_CUH
