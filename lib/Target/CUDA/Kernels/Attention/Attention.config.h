//===- Attention.config.h - Configurations of attention -------*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_ATTENTION_CONFIG_H
#define KILN_TARGET_CUDA_KERNELS_ATTENTION_CONFIG_H

#include "../Common/Config.h"

namespace kiln::cuda {

/// The extents of one attention; `heads` query heads share `keyHeads` (a divisor of it). Kernels
/// take this struct by value.
struct AttentionExtents {
  int batches, heads, keyHeads;
  int queries, keys;
  /// Elements of a query and key, and of a value.
  int headSize, valueSize;
};

/// The keys that the tile of queries from `first` on looks at. With `causal`, query i sees the keys
/// up to i + keys - queries.
constexpr int64_t visibleKeys(const AttentionExtents &e, bool causal, int64_t first,
                              int64_t tileQ) {
  if (!causal)
    return e.keys;
  int64_t last = first + tileQ < e.queries ? first + tileQ : e.queries;
  int64_t end = last + e.keys - e.queries;
  return end < 0 ? 0 : end < e.keys ? end : e.keys;
}

/// x = tiles of queries, y = heads, z = batches. Long tiles first: with `causal` the last tile of
/// queries has most to do.
template <class Config>
constexpr LaunchShape attentionLaunch(const Config &config, const AttentionExtents &e) {
  return {{ceilDiv(e.queries, config.tileQ), e.heads, e.batches},
          config.threads(),
          config.sharedBytes()};
}

/// Queries and results once; keys and values once a tile of queries, as far as it sees them. What
/// the score functor reads comes on top.
template <class Config>
constexpr Traffic attentionTraffic(const Config &config, const AttentionExtents &e, bool causal,
                                   int elementBytes, int resultBytes) {
  int64_t perHead = 0;
  for (int64_t first = 0; first < e.queries; first += config.tileQ) {
    int64_t rows = roundUp(visibleKeys(e, causal, first, config.tileQ), config.tileK);
    perHead += (rows < e.keys ? rows : e.keys) * (e.headSize + e.valueSize);
  }
  int64_t heads = static_cast<int64_t>(e.batches) * e.heads;
  int64_t queries = heads * e.queries * e.headSize * elementBytes;
  int64_t unique = static_cast<int64_t>(e.batches) * e.keyHeads * e.keys *
                   (e.headSize + e.valueSize) * elementBytes;
  int64_t results = heads * e.queries * e.valueSize * resultBytes;
  return {queries + heads * perHead * elementBytes, results, queries + unique, results};
}

/// fp32 on the ordinary units: each warp takes tileQ / warps queries; its lanes share the keys of a
/// tile for the scores and the columns of the values for the result.
struct SimtAttentionConfig {
  /// `headSize` is the largest that fits, a multiple of 32; the same for values.
  int tileQ, tileK, headSize, warps;

  constexpr int threads() const { return warps * warpLanes; }
  constexpr int rowsPerWarp() const { return tileQ / warps; }
  /// An odd number of vectors from key to key: lanes that read one each use all banks.
  constexpr int keyStride() const { return headSize + 4; }
  constexpr int sharedBytes() const {
    return 4 * (tileQ * headSize + tileK * (keyStride() + headSize) + tileQ * tileK);
  }
  constexpr bool legal() const {
    return warps >= 1 && warps <= 32 && tileQ % warps == 0 && rowsPerWarp() <= 16 &&
           tileK % warpLanes == 0 && tileK > 0 && headSize % warpLanes == 0 && headSize > 0 &&
           headSize <= 256 && rowsPerWarp() * (headSize / warpLanes + tileK / warpLanes) <= 96;
  }
};

/// fp16 and bf16 on tensor cores: each warp takes 16 queries.
struct TensorAttentionConfig {
  /// `headSize` is the largest that fits, a power of two; `stages` tiles of keys and values.
  int tileK, headSize, warps, stages;
  int tileQ;

  constexpr TensorAttentionConfig(int tileK, int headSize, int warps, int stages)
      : tileK(tileK), headSize(headSize), warps(warps), stages(stages), tileQ(warps * 16) {}
  constexpr int threads() const { return warps * warpLanes; }
  constexpr int sharedBytes() const { return 2 * headSize * (tileQ + 2 * stages * tileK); }
  constexpr bool legal() const {
    return warps >= 1 && warps <= 16 && tileK % 16 == 0 && tileK > 0 && tileK <= 128 &&
           isPowerOfTwo(headSize) && headSize >= 16 && headSize <= 128 && stages >= 2 &&
           stages <= 4 && tileK * headSize / 8 % threads() == 0;
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_ATTENTION_CONFIG_H
