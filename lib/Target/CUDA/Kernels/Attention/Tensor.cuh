//===- Tensor.cuh - Attention on tensor cores -----------------*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_ATTENTION_TENSOR_CUH
#define KILN_TARGET_CUDA_KERNELS_ATTENTION_TENSOR_CUH

#include "../MatMul/Tensor.cuh"
#include "AttentionOperands.cuh"

namespace kiln::cuda {

template <class T, int tileK, int headSize, int warps, int stages_> struct TensorAttentionShape {
  using Stored = T;
  static constexpr TensorAttentionConfig config{tileK, headSize, warps, stages_};
  static_assert(config.legal() && sizeof(T) == 2, "not a configuration of TensorAttention");
  static constexpr int threads = config.threads(), sharedBytes = config.sharedBytes();
};

/// The same as SimtAttention in fp16 or bf16: scores and sums in fp32, exponentials rounded to T
/// for the second product. headSize and valueSize are multiples of 8, rows of AttentionTensor
/// 16-byte aligned.
template <class Shape, bool causal, class Score, class Epilogue,
          Undefined undefined = Undefined::nan>
struct TensorAttention {
  using T = typename Shape::Stored;
  static constexpr TensorAttentionConfig config = Shape::config;
  static constexpr int stages = config.stages, tileK = config.tileK, headSize = config.headSize;
  /// Tiles of 8 keys and of 8 columns.
  static constexpr int keyTiles = tileK / 8, columnTiles = headSize / 8;
  using QueryTile = SwizzledTile<Shape, config.tileQ, headSize, false>;
  using KeyTile = SwizzledTile<Shape, tileK, headSize, false>;

  /// Rows of a matrix, from `first` on, into a swizzled tile; zeros outside.
  template <class Tile, class Rows>
  __device__ __forceinline__ static void copy(T *to, const Rows &from, int first, int rows,
                                              int columns) {
#pragma unroll
    for (int i = 0; i < Tile::perThread; ++i) {
      const int at = i * Shape::threads + static_cast<int>(threadIdx.x), row = at / Tile::chunks,
                col = at % Tile::chunks * 8;
      copyChunk(to + Tile::offset(row, col / 8), from, first + row, col,
                first + row < rows && col < columns);
    }
  }

  template <class Rows>
  __device__ __forceinline__ static void copyChunk(T *to, const Rows &from, int row, int col,
                                                   bool inside) {
    if constexpr (HasAddressForm<Rows>::value) {
      cpAsync16(to, inside ? from.at(row, col) : from.at(0, 0), inside);
    } else {
      float value[8] = {};
      if (inside)
        from.load(value, row, col);
      storeConverted(to, value);
    }
  }

  __device__ __forceinline__ static uint32_t pair(float low, float high) {
    const T both[2] = {convertTo<T>(low), convertTo<T>(high)};
    uint32_t bits;
    memcpy(&bits, both, sizeof(bits));
    return bits;
  }

  template <class Q, class K, class V, class R>
  __device__ __forceinline__ static void
  run(const Q &q, const K &k, const V &v, const AttentionTensor<R> &result,
      const AttentionExtents &e, float scale, const Score &score, const Epilogue &epilogue) {
    T *queries = reinterpret_cast<T *>(dynamicShared());
    T *ring = queries + QueryTile::elements;
    const int lane = threadIdx.x % warpLanes, warp = threadIdx.x / warpLanes;
    const AttentionPlace place = AttentionPlace::of<causal>(e, config.tileQ);
    const typename K::Rows keyRows = k.rows(place.batch, place.keyHead);
    const typename V::Rows valueRows = v.rows(place.batch, place.keyHead);
    const int tiles = (place.keys + tileK - 1) / tileK;
    auto stageOf = [&](int tile) { return ring + tile % stages * 2 * KeyTile::elements; };
    auto load = [&](int tile) {
      const int key0 = tile * tileK;
      copy<KeyTile>(stageOf(tile), keyRows, key0, e.keys, e.headSize);
      copy<KeyTile>(stageOf(tile) + KeyTile::elements, valueRows, key0, e.keys, e.valueSize);
    };

    copy<QueryTile>(queries, q.rows(place.batch, place.head), place.query0, e.queries, e.headSize);
    // The queries travel with the first tile.
#pragma unroll
    for (int i = 0; i < stages - 1; ++i) {
      if (i < tiles)
        load(i);
      cpAsyncCommit();
    }

    uint32_t query[headSize / 16][1][4];
    float out[1][columnTiles][4] = {};
    // A lane holds rows g and g + 8 of the warp's 16, g = lane / 4.
    SoftmaxState state[2];
    const int row0 = place.query0 + warp * 16 + lane / 4;

    for (int tile = 0; tile < tiles; ++tile) {
      cpAsyncWait<stages - 2>();
      __syncthreads();
      if (tile + stages - 1 < tiles)
        load(tile + stages - 1);
      cpAsyncCommit();
      if (tile == 0) {
#pragma unroll
        for (int d = 0; d < headSize / 16; ++d)
          ldmatrix4<false>(query[d], [&](int) {
            return queries + QueryTile::offset(warp * 16 + lane % 16, d * 2 + lane / 16);
          });
      }
      const T *keys = stageOf(tile), *values = keys + KeyTile::elements;
      float scores[1][keyTiles][4] = {};
#pragma unroll
      for (int d = 0; d < headSize / 16; ++d) {
        uint32_t key[keyTiles / 2][4];
        ldmatrix4<false>(key, [&](int j) {
          return keys + KeyTile::offset(j * 16 + lane % 8 + lane / 16 * 8, d * 2 + lane / 8 % 2);
        });
        mma<T>(scores, query[d], key);
      }
      weigh(scores[0], out[0], state, e, place, scale, score, tile * tileK + lane % 4 * 2, row0);
      // The layout of results is that of an operand: two tiles of keys are one step of K.
#pragma unroll
      for (int j = 0; j < tileK / 16; ++j) {
        const float (&low)[4] = scores[0][j * 2], (&high)[4] = scores[0][j * 2 + 1];
        const uint32_t power[1][4] = {{pair(low[0], low[1]), pair(low[2], low[3]),
                                       pair(high[0], high[1]), pair(high[2], high[3])}};
        uint32_t value[columnTiles / 2][4];
        ldmatrix4<true>(value, [&](int c) {
          return values + KeyTile::offset(j * 16 + lane % 16, c * 2 + lane / 16);
        });
        mma<T>(out, power, value);
      }
    }
    cpAsyncWait<0>();
    // Without a tile of keys nothing has ordered the queries' copies before the results.
    __syncthreads();
    write(out[0], state, queries, result, e, place, epilogue, warp, lane, row0);
  }

  /// Scores become exponentials relative to the maximum so far; what was summed before is scaled.
  __device__ __forceinline__ static void weigh(float (&scores)[keyTiles][4],
                                               float (&out)[columnTiles][4],
                                               SoftmaxState (&state)[2], const AttentionExtents &e,
                                               const AttentionPlace &place, float scale,
                                               const Score &score, int key0, int row0) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int query = row0 + half * 8, last = causal ? query + e.keys - e.queries : e.keys;
      float maximum = -INFINITY;
#pragma unroll
      for (int j = 0; j < keyTiles; ++j)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int key = key0 + j * 8 + i;
          float &s = scores[j][half * 2 + i];
          s = query < e.queries && key < e.keys && key <= last
                  ? score(s * scale, place.row0 + query, key)
                  : -INFINITY;
          maximum = Max{}(maximum, s);
        }
      maximum = Max{}(state[half].maximum, warpReduce<4>(maximum, Max{}));
      const float keep = SoftmaxState::relative(state[half].maximum, maximum);
      float sum = 0;
#pragma unroll
      for (int j = 0; j < keyTiles; ++j)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float &s = scores[j][half * 2 + i];
          s = SoftmaxState::relative(s, maximum);
          sum += s;
        }
      state[half].sum = state[half].sum * keep + warpReduce<4>(sum, Sum{});
      state[half].maximum = maximum;
#pragma unroll
      for (int c = 0; c < columnTiles; ++c)
#pragma unroll
        for (int i = 0; i < 2; ++i)
          out[c][half * 2 + i] *= keep;
    }
  }

  /// Results of T's size go through the warp's own rows of the tile of queries, which it alone has
  /// read, so that they are stored in chunks; larger ones two at a time.
  template <class R>
  __device__ __forceinline__ static void
  write(const float (&out)[columnTiles][4], const SoftmaxState (&state)[2], T *queries,
        const AttentionTensor<R> &result, const AttentionExtents &e, const AttentionPlace &place,
        const Epilogue &epilogue, int warp, int lane, int row0) {
    constexpr bool isStaged = sizeof(R) == sizeof(T);
    [[maybe_unused]] R *staged = reinterpret_cast<R *>(queries);
    const typename AttentionTensor<R>::Rows to = result.rows(place.batch, place.head);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int query = row0 + half * 8;
#pragma unroll
      for (int c = 0; c < columnTiles; ++c) {
        const int col = c * 8 + lane % 4 * 2;
        R two[2] = {};
        if (query < e.queries && col < e.valueSize) {
#pragma unroll
          for (int i = 0; i < 2; ++i)
            two[i] = epilogue(average<undefined>(out[c][half * 2 + i], state[half], e.keys),
                              place.row0 + query, col + i);
          if constexpr (!isStaged)
            storeElements<2>(to.at(query, col), two);
        }
        if constexpr (isStaged)
          storeElements<2>(
              staged + QueryTile::offset(warp * 16 + lane / 4 + half * 8, c) + lane % 4 * 2, two);
      }
    }
    if constexpr (isStaged) {
      __syncwarp();
#pragma unroll
      for (int i = 0; i < 16 * columnTiles / warpLanes; ++i) {
        const int at = i * warpLanes + lane, row = at / columnTiles, chunk = at % columnTiles;
        const int query = place.query0 + warp * 16 + row;
        if (query < e.queries && chunk * 8 < e.valueSize)
          storeVector(to.at(query, chunk * 8),
                      loadVector<uint4>(staged + QueryTile::offset(warp * 16 + row, chunk)));
      }
    }
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_ATTENTION_TENSOR_CUH
