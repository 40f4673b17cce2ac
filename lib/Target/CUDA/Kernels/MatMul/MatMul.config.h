//===- MatMul.config.h - Configurations of the matrix product ---*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_MATMUL_CONFIG_H
#define KILN_TARGET_CUDA_KERNELS_MATMUL_CONFIG_H

#include "../Common/Config.h"

namespace kiln::cuda {

/// The extents of a product, batch first. With split-K each of `splits` blocks takes a part of K.
struct MatMulExtents {
  int64_t batches = 1, m = 1, n = 1, k = 1;
};

/// Where a tiled product puts its tiles: x = tiles in the order of `tileOf`, y = splits of K,
/// z = batches.
template <class Config>
constexpr LaunchShape matMulLaunch(const Config &config, const MatMulExtents &e, int splits) {
  return {{ceilDiv(e.m, config.tileM) * ceilDiv(e.n, config.tileN), splits, e.batches},
          config.threads(),
          config.sharedBytes()};
}

/// Steps of tileK that one split takes.
constexpr int64_t stepsPerSplit(int64_t k, int tileK, int splits) {
  return ceilDiv(ceilDiv(k, tileK), splits);
}

/// Reads of A once for each column of tiles, of B once for each row of tiles; a result is written
/// once, or once a split as fp32. Neither functor's own operands are counted.
template <class Config>
constexpr Traffic matMulTraffic(const Config &config, const MatMulExtents &e, int splits,
                                int aBytes, int bBytes, int resultBytes) {
  int64_t a = e.batches * e.m * e.k * aBytes, b = e.batches * e.k * e.n * bBytes;
  int64_t results = e.batches * e.m * e.n * (splits == 1 ? resultBytes : 4 * splits);
  return {a * ceilDiv(e.n, config.tileN) + b * ceilDiv(e.m, config.tileM), results, a + b, results};
}

/// fp32 product on the ordinary units: a block computes tileM x tileN, a thread
/// threadM x threadN of it, in groups of four rows and columns.
struct SimtMatMulConfig {
  int tileM, tileN, tileK;
  int threadM, threadN;

  constexpr int threads() const { return tileM / threadM * (tileN / threadN); }
  /// Two stages of both operands.
  constexpr int sharedBytes() const { return 2 * tileK * (tileM + tileN) * 4; }
  constexpr bool legal() const {
    return tileM > 0 && tileN > 0 && tileK > 0 && threadM > 0 && threadN > 0 && threadM % 4 == 0 &&
           threadN % 4 == 0 && tileM % threadM == 0 && tileN % threadN == 0 && tileM % 32 == 0 &&
           tileN % 32 == 0 && isPowerOfTwo(tileK) && tileK >= 8 && tileK <= 32 &&
           threads() % warpLanes == 0 && threads() >= warpLanes && threads() <= 1024 &&
           threadM * threadN <= 64;
  }
  /// Sums, fragments, staged elements with their positions, and addresses: within a fifth of what
  /// ptxas gives the tests' instances (the record of test/cuda/kernels).
  constexpr int estimatedRegisters() const {
    return threadM * threadN + threadM + threadN + 2 * ((tileM + tileN) * tileK / threads()) + 40;
  }
  /// Cycles of shared memory in which a block reads the fragments of one step of K: lanes of a warp
  /// that read the same row share.
  constexpr int64_t readWavefronts() const {
    int lanesN = tileN / threadN < warpLanes ? tileN / threadN : warpLanes;
    int lanesM = warpLanes / lanesN;
    int64_t perDepth =
        threadN / 4 * ceilDiv(lanesN * 16, 128) + threadM / 4 * ceilDiv(lanesM * 16, 128);
    return perDepth * tileK * (threads() / warpLanes);
  }
};

/// Whether staging an operand whose rows run along K, read in vectors of `vector`, is free of bank
/// conflicts: lanes of a warp then cover at least four rows (MatMul/README.md).
constexpr bool stagingIsFree(const SimtMatMulConfig &config, int vector) {
  return config.tileK / vector <= 8;
}

/// Tensor-core product: warpM x warpN a warp, a ring of `stages` steps of tileK elements.
struct TensorMatMulConfig {
  int tileM, tileN, tileK;
  int warpM, warpN;
  int stages;
  /// Of an element of A and B: 1 (int8), 2 (fp16, bf16), 4 (tf32).
  int elementBytes;

  constexpr int warps() const { return tileM / warpM * (tileN / warpN); }
  constexpr int threads() const { return warps() * warpLanes; }
  constexpr int stageBytes() const { return (tileM + tileN) * tileK * elementBytes; }
  /// A slab of 16 rows of results a warp, padded so that neither side of it has bank conflicts.
  constexpr int slabStride() const { return warpN + 8; }
  constexpr int slabBytes() const { return warps() * 16 * slabStride() * 4; }
  constexpr int sharedBytes() const {
    int ring = stages * stageBytes();
    return ring > slabBytes() ? ring : slabBytes();
  }
  /// One mma takes 32 bytes of K, and a row of a tile is at least 32 bytes.
  constexpr bool legal() const {
    return tileM > 0 && tileN > 0 && tileK > 0 && warpM > 0 && warpN > 0 && warpM % 16 == 0 &&
           warpN % 16 == 0 && isPowerOfTwo(warpN) && warpN <= 128 && tileM % warpM == 0 &&
           tileN % warpN == 0 && isPowerOfTwo(tileK) && tileK * elementBytes >= 32 &&
           tileK * elementBytes <= 128 && isPowerOfTwo(tileN) && stages >= 2 && stages <= 8 &&
           tileM * tileK * elementBytes / vectorBytes % threads() == 0 &&
           tileN * tileK * elementBytes / vectorBytes % threads() == 0 && threads() <= 1024;
  }
  constexpr int estimatedRegisters() const {
    int chunks = stageBytes() / vectorBytes / threads();
    return warpM * warpN / warpLanes + (warpM + warpN) / 4 + 6 * chunks + 16;
  }
  /// As SimtMatMulConfig's: one ldmatrix.x4 is four cycles.
  constexpr int64_t readWavefronts() const {
    return static_cast<int64_t>(warps()) * (warpM + warpN) / 16 * 4 * (tileK * elementBytes / 32);
  }
};

/// At most a few rows: the weights stream through once and every row is computed at the same time.
struct SkinnyMatMulConfig {
  static constexpr int mostRows = 16;
  /// Rows at most; columns (elements of K, where B runs along it) are taken in vectors of `vector`
  /// by each lane.
  int rows, warps, vector;
  constexpr int threads() const { return warps * warpLanes; }
  constexpr int tileN() const { return warpLanes * vector; }
  /// The partial sums of the warps.
  constexpr int sharedBytes() const { return warps * rows * tileN() * 4; }
  /// A warp a column where B runs along K, else a block tileN columns.
  constexpr LaunchShape launch(const MatMulExtents &e, bool alongK) const {
    return {{ceilDiv(e.n, alongK ? warps : tileN()), 1, e.batches},
            threads(),
            alongK ? 0 : sharedBytes()};
  }
  constexpr bool legal() const {
    return rows >= 1 && rows <= mostRows && warps >= 1 && warps <= 32 &&
           (vector == 1 || vector == 2 || vector == 4) && rows * vector <= 32;
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_MATMUL_CONFIG_H
