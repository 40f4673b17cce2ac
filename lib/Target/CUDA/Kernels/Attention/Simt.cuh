//===- Simt.cuh - Attention in fp32 on the ordinary units -----*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_ATTENTION_SIMT_CUH
#define KILN_TARGET_CUDA_KERNELS_ATTENTION_SIMT_CUH

#include "AttentionOperands.cuh"

namespace kiln::cuda {

template <int tileQ, int tileK, int headSize, int warps> struct SimtAttentionShape {
  static constexpr SimtAttentionConfig config{tileQ, tileK, headSize, warps};
  static_assert(config.legal(), "not a configuration of SimtAttention");
  static constexpr int threads = config.threads(), sharedBytes = config.sharedBytes(),
                       rowsPerWarp = config.rowsPerWarp(), keyStride = config.keyStride();
};

/// softmax(score(scale * q k^T)) v, never storing the scores. The score functor (a mask, say) gets
/// (score, row, key) and the epilogue (result, row, column), where the row counts the queries of
/// all heads of all batches. `vector` elements of a row of q, k and v are read at once.
template <class Shape, bool causal, int vector, class Score, class Epilogue,
          Undefined undefined = Undefined::nan>
struct SimtAttention {
  static constexpr SimtAttentionConfig config = Shape::config;
  static constexpr int rows = Shape::rowsPerWarp, keysPerLane = config.tileK / warpLanes,
                       columnsPerLane = config.headSize / warpLanes;

  /// `extent` rows of `columns`, from `first` on, into shared rows of config.headSize; zeros for
  /// the rest.
  template <class Rows>
  __device__ __forceinline__ static void stage(float *to, int stride, int extent, const Rows &from,
                                               int first, int rows, int columns, float factor) {
    constexpr int perRow = config.headSize / vector;
    for (int i = threadIdx.x; i < extent * perRow; i += Shape::threads) {
      const int row = i / perRow, col = i % perRow * vector;
      float value[vector];
      if (first + row < rows && col < columns) {
        from.load(value, first + row, col);
#pragma unroll
        for (int j = 0; j < vector; ++j)
          value[j] *= factor;
      } else {
#pragma unroll
        for (int j = 0; j < vector; ++j)
          value[j] = 0;
      }
      storeElements<vector>(to + row * stride + col, value);
    }
  }

  template <class Q, class K, class V, class R>
  __device__ __forceinline__ static void
  run(const Q &q, const K &k, const V &v, const AttentionTensor<R> &result,
      const AttentionExtents &e, float scale, const Score &score, const Epilogue &epilogue) {
    float *queries = reinterpret_cast<float *>(dynamicShared());
    float *keys = queries + config.tileQ * config.headSize;
    float *values = keys + config.tileK * Shape::keyStride;
    const int lane = threadIdx.x % warpLanes, warp = threadIdx.x / warpLanes;
    float *powers = values + config.tileK * config.headSize + warp * rows * config.tileK;
    const AttentionPlace place = AttentionPlace::of<causal>(e, config.tileQ);
    const int query0 = place.query0 + warp * rows;

    stage(queries, config.headSize, config.tileQ, q.rows(place.batch, place.head), place.query0,
          e.queries, e.headSize, scale);
    const typename K::Rows keyRows = k.rows(place.batch, place.keyHead);
    const typename V::Rows valueRows = v.rows(place.batch, place.keyHead);
    float out[rows][columnsPerLane] = {};
    SoftmaxState state[rows];

    for (int key0 = 0; key0 < place.keys; key0 += config.tileK) {
      // Nobody reads the last tile any more.
      __syncthreads();
      stage(keys, Shape::keyStride, config.tileK, keyRows, key0, e.keys, e.headSize, 1);
      stage(values, config.headSize, config.tileK, valueRows, key0, e.keys, e.valueSize, 1);
      __syncthreads();

      float scores[rows][keysPerLane];
      dot(scores, queries + warp * rows * config.headSize, keys, lane);
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const int query = query0 + r, last = causal ? query + e.keys - e.queries : e.keys;
        SoftmaxState tile;
#pragma unroll
        for (int i = 0; i < keysPerLane; ++i) {
          const int key = key0 + i * warpLanes + lane;
          // The functor may read: only where there is a query and a key.
          scores[r][i] = query < e.queries && key < e.keys && key <= last
                             ? score(scores[r][i], place.row0 + query, key)
                             : -INFINITY;
          tile.maximum = Max{}(tile.maximum, scores[r][i]);
        }
        tile.maximum = Max{}(state[r].maximum, warpReduce(tile.maximum, Max{}));
        const float keep = SoftmaxState::relative(state[r].maximum, tile.maximum);
#pragma unroll
        for (int i = 0; i < keysPerLane; ++i) {
          const float power = SoftmaxState::relative(scores[r][i], tile.maximum);
          tile.sum += power;
          powers[r * config.tileK + i * warpLanes + lane] = power;
        }
        state[r].sum = state[r].sum * keep + warpReduce(tile.sum, Sum{});
        state[r].maximum = tile.maximum;
#pragma unroll
        for (int c = 0; c < columnsPerLane; ++c)
          out[r][c] *= keep;
      }
      __syncwarp();
      accumulate(out, powers, values, lane);
    }

    const typename AttentionTensor<R>::Rows to = result.rows(place.batch, place.head);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const int query = query0 + r;
#pragma unroll
      for (int c = 0; c < columnsPerLane; ++c) {
        const int col = c * warpLanes + lane;
        if (query < e.queries && col < e.valueSize)
          *to.at(query, col) =
              epilogue(average<undefined>(out[r][c], state[r], e.keys), place.row0 + query, col);
      }
    }
  }

  /// A lane's keys against the warp's queries, four columns at a time.
  __device__ __forceinline__ static void dot(float (&to)[rows][keysPerLane], const float *queries,
                                             const float *keys, int lane) {
#pragma unroll
    for (int r = 0; r < rows; ++r)
#pragma unroll
      for (int i = 0; i < keysPerLane; ++i)
        to[r][i] = 0;
#pragma unroll 2
    for (int d = 0; d < config.headSize; d += 4) {
      float key[keysPerLane][4];
#pragma unroll
      for (int i = 0; i < keysPerLane; ++i)
        loadElements<4>(key[i], keys + (i * warpLanes + lane) * Shape::keyStride + d);
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        float query[4];
        loadElements<4>(query, queries + r * config.headSize + d);
#pragma unroll
        for (int i = 0; i < keysPerLane; ++i)
#pragma unroll
          for (int j = 0; j < 4; ++j)
            to[r][i] = fmaf(query[j], key[i][j], to[r][i]);
      }
    }
  }

  /// out += powers x values, four keys at a time; lanes hold columns 32 apart.
  __device__ __forceinline__ static void accumulate(float (&out)[rows][columnsPerLane],
                                                    const float *powers, const float *values,
                                                    int lane) {
#pragma unroll 2
    for (int key = 0; key < config.tileK; key += 4) {
      float value[4][columnsPerLane];
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int c = 0; c < columnsPerLane; ++c)
          value[j][c] = values[(key + j) * config.headSize + c * warpLanes + lane];
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        float power[4];
        loadElements<4>(power, powers + r * config.tileK + key);
#pragma unroll
        for (int c = 0; c < columnsPerLane; ++c)
#pragma unroll
          for (int j = 0; j < 4; ++j)
            out[r][c] = fmaf(power[j], value[j][c], out[r][c]);
      }
    }
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_ATTENTION_SIMT_CUH
