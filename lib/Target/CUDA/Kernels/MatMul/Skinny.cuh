//===- Skinny.cuh - Product of a few rows with many weights -----*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_MATMUL_SKINNY_CUH
#define KILN_TARGET_CUDA_KERNELS_MATMUL_SKINNY_CUH

#include "MatMul.config.h"
#include "Operands.cuh"

namespace kiln::cuda {

template <int rows, int warps, int vector> struct SkinnyShape {
  static constexpr SkinnyMatMulConfig config{rows, warps, vector};
  static_assert(config.legal(), "not a configuration of SkinnyMatMul");
  static constexpr int threads = config.threads(), sharedBytes = config.sharedBytes();
  static constexpr int tileN = config.tileN();
};

/// result = a x b for at most `rows` rows of A. B runs along its columns: a lane holds `vector`
/// neighbouring ones for every row, the warps of a block take turns at K, and so do the splits.
/// x = blocks of columns, y = splits, z = batches. Each weight is read once.
template <class Shape, class A, class B, class Result> struct SkinnyMatMul {
  static constexpr SkinnyMatMulConfig config = Shape::config;
  static constexpr int vector = config.vector;
  static_assert(!B::alongK && B::vector == vector && A::alongK && A::vector == 1);

  __device__ __forceinline__ static void run(const A &a, const B &b, const Result &result, int m,
                                             int n, int k) {
    const int lane = threadIdx.x % warpLanes, warp = threadIdx.x / warpLanes, batch = blockIdx.z;
    const int n0 = blockIdx.x * Shape::tileN, col = n0 + lane * vector;
    const typename B::Position column = b.position(batch, col, n);
    typename A::Position row[config.rows];
#pragma unroll
    for (int i = 0; i < config.rows; ++i)
      row[i] = a.position(batch, i, m);

    float acc[config.rows][vector] = {};
    const int stride = config.warps * gridDim.y;
#pragma unroll 4
    for (int depth = blockIdx.y * config.warps + warp; depth < k; depth += stride) {
      float weight[vector];
      b.load(weight, column, depth, k);
#pragma unroll
      for (int i = 0; i < config.rows; ++i) {
        float x[1];
        a.load(x, row[i], depth, k);
#pragma unroll
        for (int j = 0; j < vector; ++j)
          acc[i][j] = fmaf(x[0], weight[j], acc[i][j]);
      }
    }

    // [warp][row][column]: the warps' sums, added in the order of the warps.
    float *sums = reinterpret_cast<float *>(dynamicShared());
#pragma unroll
    for (int i = 0; i < config.rows; ++i)
      storeElements<vector>(sums + (warp * config.rows + i) * Shape::tileN + lane * vector, acc[i]);
    __syncthreads();
    constexpr int groups = Shape::tileN / 4;
    for (int g = threadIdx.x; g < config.rows * groups; g += Shape::threads) {
      const int i = g / groups, at = g % groups * 4;
      if (i >= m || n0 + at >= n)
        continue;
      float total[4] = {};
      for (int w = 0; w < config.warps; ++w) {
        float part[4];
        loadElements<4>(part, sums + (w * config.rows + i) * Shape::tileN + at);
#pragma unroll
        for (int j = 0; j < 4; ++j)
          total[j] += part[j];
      }
      result.store(result.at(batch, n0 + at, n), i, total);
    }
  }
};

/// The same where B runs along K (a transposed weight): a warp takes one column and the lanes its
/// elements. x = columns / warps, y = 1, z = batches.
template <class Shape, class A, class B, class Result> struct SkinnyMatMulAlongK {
  static constexpr SkinnyMatMulConfig config = Shape::config;
  static constexpr int vector = config.vector;
  static_assert(B::alongK && B::vector == vector && A::alongK && A::vector == vector);

  __device__ __forceinline__ static void run(const A &a, const B &b, const Result &result, int m,
                                             int n, int k) {
    const int lane = threadIdx.x % warpLanes, batch = blockIdx.z;
    const int col = blockIdx.x * config.warps + threadIdx.x / warpLanes;
    if (col >= n)
      return;
    const typename B::Position column = b.position(batch, col, n);
    float acc[config.rows] = {};
#pragma unroll 2
    for (int depth = lane * vector; depth < k; depth += warpLanes * vector) {
      float weight[vector];
      b.load(weight, column, depth, k);
#pragma unroll
      for (int i = 0; i < config.rows; ++i) {
        float x[vector];
        a.load(x, a.position(batch, i, m), depth, k);
#pragma unroll
        for (int j = 0; j < vector; ++j)
          acc[i] = fmaf(x[j], weight[j], acc[i]);
      }
    }
#pragma unroll
    for (int i = 0; i < config.rows; ++i) {
      const float four[4] = {warpReduce(acc[i], Sum{}), 0, 0, 0};
      if (lane == 0 && i < m)
        result.store(result.at(batch, col, col + 1), i, four);
    }
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_MATMUL_SKINNY_CUH
