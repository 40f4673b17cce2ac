//===- Simt.cuh - Matrix product in fp32 on the ordinary units --*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_MATMUL_SIMT_CUH
#define KILN_TARGET_CUDA_KERNELS_MATMUL_SIMT_CUH

#include "MatMul.config.h"
#include "Operands.cuh"

namespace kiln::cuda {

template <int tileM, int tileN, int tileK, int threadM, int threadN> struct SimtShape {
  static constexpr SimtMatMulConfig config{tileM, tileN, tileK, threadM, threadN};
  static_assert(config.legal(), "not a configuration of SimtMatMul");
  static constexpr int threads = config.threads(), sharedBytes = config.sharedBytes();
};

/// One operand's way from global memory through registers to the stage [tileK][outer]. An operand
/// that runs along K is transposed on the way; `key` spreads the rows of a warp over the banks.
template <class Shape, int outerExtent, class Operand> struct StagedTile {
  static constexpr int tileK = Shape::config.tileK, vector = Operand::vector;
  static constexpr int alongOuter = Operand::alongK ? outerExtent : outerExtent / vector;
  static constexpr int alongDepth = Operand::alongK ? tileK / vector : tileK;
  static constexpr int vectors = alongOuter * alongDepth;
  static constexpr int perThread = (vectors + Shape::threads - 1) / Shape::threads;
  static constexpr bool even = vectors % Shape::threads == 0;
  static_assert(vector <= tileK && outerExtent % vector == 0);

  /// A multiple of four, so that groups of four columns stay together.
  static constexpr int keyStep = alongDepth >= 8 ? 4 : warpLanes / alongDepth;
  __device__ __forceinline__ static int key(int k) {
    return Operand::alongK ? k / vector % (warpLanes / keyStep) * keyStep : 0;
  }

  typename Operand::Position position[perThread];
  float staged[perThread][vector];

  __device__ __forceinline__ static int number(int i) {
    return i * Shape::threads + static_cast<int>(threadIdx.x);
  }
  __device__ __forceinline__ static int outerOf(int c) {
    return Operand::alongK ? c / alongDepth : c % alongOuter * vector;
  }
  __device__ __forceinline__ static int depthOf(int c) {
    return Operand::alongK ? c % alongDepth * vector : c / alongOuter;
  }
  __device__ __forceinline__ static bool mine(int i) { return even || number(i) < vectors; }

  __device__ __forceinline__ void begin(const Operand &operand, int batch, int outer0,
                                        int outerEnd) {
#pragma unroll
    for (int i = 0; i < perThread; ++i)
      position[i] = operand.position(batch, outer0 + outerOf(number(i)), outerEnd);
  }
  __device__ __forceinline__ void fetch(const Operand &operand, int k0, int kEnd) {
#pragma unroll
    for (int i = 0; i < perThread; ++i)
      if (mine(i))
        operand.load(staged[i], position[i], k0 + depthOf(number(i)), kEnd);
  }
  __device__ __forceinline__ void put(float *stage) const {
#pragma unroll
    for (int i = 0; i < perThread; ++i) {
      int outer = outerOf(number(i)), depth = depthOf(number(i));
      if (!mine(i))
        continue;
      if constexpr (Operand::alongK) {
#pragma unroll
        for (int j = 0; j < vector; ++j)
          stage[(depth + j) * outerExtent + (outer ^ key(depth))] = staged[i][j];
      } else {
        storeElements<vector>(stage + depth * outerExtent + outer, staged[i]);
      }
    }
  }
};

/// result = a x b with fp32 products, summed in the order of K.
template <class Shape, class A, class B, class Result> struct SimtMatMul {
  static constexpr SimtMatMulConfig config = Shape::config;
  static constexpr int tileM = config.tileM, tileN = config.tileN, tileK = config.tileK;
  static constexpr int groupsM = config.threadM / 4, groupsN = config.threadN / 4;
  static constexpr int lanesN = tileN / config.threadN, lanesM = tileM / config.threadM;
  using TileA = StagedTile<Shape, tileM, A>;
  using TileB = StagedTile<Shape, tileN, B>;

  /// Four neighbours of row k of a stage.
  template <class Tile>
  __device__ __forceinline__ static void fragment(float *to, const float *stage, int extent, int k,
                                                  int outer) {
    float four[4];
    loadElements<4>(four, stage + k * extent + (outer ^ Tile::key(k)));
#pragma unroll
    for (int i = 0; i < 4; ++i)
      to[i] = four[i];
  }

  __device__ __forceinline__ static void run(const A &a, const B &b, const Result &result, int m,
                                             int n, int k, int group) {
    float *shared = reinterpret_cast<float *>(dynamicShared());
    const TilePlace place =
        tileOf(blockIdx.x, (m + tileM - 1) / tileM, (n + tileN - 1) / tileN, group);
    const int m0 = place.row * tileM, n0 = place.col * tileN, batch = blockIdx.z;
    const int tx = threadIdx.x % lanesN * 4, ty = threadIdx.x / lanesN * 4;
    const StepRange steps = stepsOfSplit(k, tileK);

    TileA tileA;
    TileB tileB;
    tileA.begin(a, batch, m0, m);
    tileB.begin(b, batch, n0, n);
    float acc[config.threadM][config.threadN] = {};
    auto stageOf = [&](int step) { return shared + step % 2 * tileK * (tileM + tileN); };
    auto fetch = [&](int step) {
      tileA.fetch(a, step * tileK, k);
      tileB.fetch(b, step * tileK, k);
    };
    auto put = [&](int step) {
      tileA.put(stageOf(step));
      tileB.put(stageOf(step) + tileK * tileM);
    };

    if (steps.first < steps.last) {
      fetch(steps.first);
      put(steps.first);
      __syncthreads();
    }
    for (int step = steps.first; step < steps.last; ++step) {
      // The next step's loads are in flight while this one is computed.
      const bool more = step + 1 < steps.last;
      if (more)
        fetch(step + 1);
      const float *stageA = stageOf(step), *stageB = stageA + tileK * tileM;
#pragma unroll
      for (int depth = 0; depth < tileK; ++depth) {
        float fa[config.threadM], fb[config.threadN];
#pragma unroll
        for (int g = 0; g < groupsM; ++g)
          fragment<TileA>(fa + g * 4, stageA, tileM, depth, ty + g * lanesM * 4);
#pragma unroll
        for (int g = 0; g < groupsN; ++g)
          fragment<TileB>(fb + g * 4, stageB, tileN, depth, tx + g * lanesN * 4);
#pragma unroll
        for (int i = 0; i < config.threadM; ++i)
#pragma unroll
          for (int j = 0; j < config.threadN; ++j)
            acc[i][j] = fmaf(fa[i], fb[j], acc[i][j]);
      }
      // The other stage was last read before the barrier that ended the step before.
      if (more)
        put(step + 1);
      __syncthreads();
    }

#pragma unroll
    for (int g = 0; g < groupsN; ++g) {
      const int col = n0 + tx + g * lanesN * 4;
      if (col >= n)
        continue;
      const typename Result::Columns columns = result.at(batch, col, n);
#pragma unroll
      for (int i = 0; i < config.threadM; ++i) {
        const int row = m0 + ty + i / 4 * lanesM * 4 + i % 4;
        float four[4];
#pragma unroll
        for (int j = 0; j < 4; ++j)
          four[j] = acc[i][g * 4 + j];
        if (row < m)
          result.store(columns, row, four);
      }
    }
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_MATMUL_SIMT_CUH
