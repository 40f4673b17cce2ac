//===- Tensor.cuh - Matrix product on tensor cores --------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements are seen as bytes: one mma takes 32 bytes of K whatever the type, so fp16, bf16, tf32
// and int8 share everything but the instruction.
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_MATMUL_TENSOR_CUH
#define KILN_TARGET_CUDA_KERNELS_MATMUL_TENSOR_CUH

#include "MatMul.config.h"
#include "Operands.cuh"

namespace kiln::cuda {

/// Type is what the multiplication sees: __half, __nv_bfloat16, Tf32, int8_t or uint8_t.
template <class Type_> struct TensorElement {
  using Stored = Type_;
  using Accumulator = float;
};
/// In memory fp32. The instruction ignores the lower bits: operands are rounded on their way into
/// fragments.
template <> struct TensorElement<Tf32> {
  using Stored = float;
  using Accumulator = float;
};
template <> struct TensorElement<int8_t> {
  using Stored = int8_t;
  using Accumulator = int;
};
template <> struct TensorElement<uint8_t> {
  using Stored = uint8_t;
  using Accumulator = int;
};

template <class Type_, int tileM, int tileN, int tileK, int warpM, int warpN, int stages_>
struct TensorShape {
  using Type = Type_;
  using Stored = typename TensorElement<Type>::Stored;
  using Accumulator = typename TensorElement<Type>::Accumulator;
  static constexpr TensorMatMulConfig config{
      tileM, tileN, tileK, warpM, warpN, stages_, static_cast<int>(sizeof(Stored))};
  static_assert(config.legal(), "not a configuration of TensorMatMul");
  static constexpr int threads = config.threads(), sharedBytes = config.sharedBytes(),
                       slabStride = config.slabStride();
};

/// A tile of `rows` lines of `lineElements` contiguous elements in shared memory, as chunks of 16
/// bytes. Chunks of neighbouring lines are exchanged so that the eight lines which ldmatrix reads
/// at once lie in different banks; `byWord`: so do the words of two chunks of four lines, which
/// are read one by one.
template <class Shape, int lines, int lineElements, bool byWord> struct SwizzledTile {
  using T = typename Shape::Stored;
  static constexpr int perChunk = vectorBytes / static_cast<int>(sizeof(T));
  static constexpr int chunks = lineElements / perChunk;
  static constexpr int elements = lines * lineElements;
  static constexpr int perThread = lines * chunks / Shape::threads;
  static_assert(chunks >= (byWord ? 8 : 2) && lines * chunks % Shape::threads == 0);

  __device__ __forceinline__ static int offset(int line, int chunk) {
    constexpr int spread = chunks < 8 ? chunks : 8;
    const int key = byWord ? line % 4 * 2 : line / (8 / spread) % spread;
    return line * lineElements + (chunk ^ key) * perChunk;
  }
  /// Of one element: for fragments that ldmatrix cannot give.
  __device__ __forceinline__ static int element(int line, int at) {
    return offset(line, at / perChunk) + at % perChunk;
  }
};

/// One operand's way into a stage: by asynchronous copies where it lies in memory in whole chunks,
/// else through registers. Tiles of an operand that runs along K have lines of K; else lines of the
/// outer axis.
template <class Shape, int outerExtent, class Operand> struct CopiedTile {
  static constexpr int tileK = Shape::config.tileK;
  static constexpr bool alongK = Operand::alongK;
  /// ldmatrix gives what runs along K, and transposes elements of two bytes.
  static constexpr bool byWord = !alongK && sizeof(typename Shape::Stored) == 4;
  using Tile =
      SwizzledTile<Shape, alongK ? outerExtent : tileK, alongK ? tileK : outerExtent, byWord>;
  static constexpr int elements = Tile::elements;

  static constexpr bool isChunked = Operand::template isChunked<typename Shape::Stored>;
  /// Elements of a chunk that are loaded at once.
  static constexpr int part = Operand::vector < Tile::perChunk ? Operand::vector : Tile::perChunk;

  typename Operand::Position position[Tile::perThread];
  int batch, outer0, outerEnd;

  __device__ __forceinline__ static int line(int i) {
    return (i * Shape::threads + static_cast<int>(threadIdx.x)) / Tile::chunks;
  }
  __device__ __forceinline__ static int chunk(int i) {
    return (i * Shape::threads + static_cast<int>(threadIdx.x)) % Tile::chunks;
  }
  __device__ __forceinline__ static int outerOf(int i) {
    return alongK ? line(i) : chunk(i) * Tile::perChunk;
  }

  __device__ __forceinline__ void begin(const Operand &operand, int batch_, int outer0_,
                                        int outerEnd_) {
    batch = batch_;
    outer0 = outer0_;
    outerEnd = outerEnd_;
#pragma unroll
    for (int i = 0; i < Tile::perThread; ++i)
      position[i] = operand.position(batch, outer0 + outerOf(i), outerEnd);
  }
  __device__ __forceinline__ void copy(const Operand &operand, typename Shape::Stored *stage,
                                       int k0, int kEnd) const {
#pragma unroll
    for (int i = 0; i < Tile::perThread; ++i) {
      const int k = k0 + (alongK ? chunk(i) * Tile::perChunk : line(i));
      typename Shape::Stored *to = stage + Tile::offset(line(i), chunk(i));
      if constexpr (isChunked) {
        const typename Shape::Stored *from = operand.chunk(position[i], k, kEnd);
        cpAsync16(to, from ? from : operand.data, from != nullptr);
      } else {
        typename Shape::Accumulator value[Tile::perChunk];
#pragma unroll
        for (int j = 0; j < Tile::perChunk; j += part) {
          typename Shape::Accumulator some[part];
          if constexpr (alongK)
            operand.load(some, position[i], k + j, kEnd);
          else // Positions of all parts would take too many registers.
            operand.load(some, operand.position(batch, outer0 + outerOf(i) + j, outerEnd), k, kEnd);
#pragma unroll
          for (int s = 0; s < part; ++s)
            value[j + s] = some[s];
        }
        storeConverted(to, value);
      }
    }
  }
};

/// result = a x b on tensor cores: fp32 (int32) sums of exact products, in steps of one mma.
/// Operands are read in chunks of 16 bytes, so contiguous extents and strides are whole chunks.
/// x, y, z as matMulLaunch says.
template <class Shape, class A, class B, class Result> struct TensorMatMul {
  using T = typename Shape::Stored;
  using Accumulator = typename Shape::Accumulator;
  static constexpr TensorMatMulConfig config = Shape::config;
  static constexpr int tileM = config.tileM, tileN = config.tileN, tileK = config.tileK,
                       warpM = config.warpM, warpN = config.warpN, stages = config.stages;
  static constexpr int perChunk = vectorBytes / static_cast<int>(sizeof(T));
  /// Elements of K in one mma.
  static constexpr int step = 2 * perChunk;
  static constexpr int fragmentsM = warpM / 16, fragmentsN = warpN / 8;
  using CopyA = CopiedTile<Shape, tileM, A>;
  using CopyB = CopiedTile<Shape, tileN, B>;
  static constexpr int stageElements = CopyA::elements + CopyB::elements;
  static_assert(A::alongK || sizeof(T) == 2, "ldmatrix transposes elements of two bytes only");
  static_assert(B::alongK || sizeof(T) != 1, "weights of bytes are packed along K");

  __device__ __forceinline__ static uint32_t word(const T *p) {
    uint32_t bits;
    memcpy(&bits, p, sizeof(bits));
    return bits;
  }
  template <int N> __device__ __forceinline__ static void roundTf32(uint32_t (&fragment)[N][4]) {
    if constexpr (IsSame<typename Shape::Type, Tf32>::value) {
#pragma unroll
      for (int i = 0; i < N; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
          fragment[i][j] = toTf32(__uint_as_float(fragment[i][j]));
    }
  }

  /// Rows of A as fragments: 16 rows and 32 bytes of K each.
  __device__ __forceinline__ static void fragmentA(uint32_t (&to)[fragmentsM][4], const T *stage,
                                                   int row0, int k, int lane) {
    using Tile = typename CopyA::Tile;
    if constexpr (A::alongK)
      ldmatrix4<false>(to, [&](int i) {
        return stage + Tile::offset(row0 + i * 16 + lane % 16, k / perChunk + lane / 16);
      });
    else // Stored as [k][row]: matrices come in the order (rows, k), (rows + 8, k), ...
      ldmatrix4<true>(to, [&](int i) {
        return stage + Tile::offset(k + lane % 8 + lane / 16 * 8,
                                    (row0 + i * 16) / perChunk + lane / 8 % 2);
      });
    roundTf32(to);
  }
  /// Columns of B: each four registers are two tiles of 8 columns.
  __device__ __forceinline__ static void fragmentB(uint32_t (&to)[fragmentsN / 2][4],
                                                   const T *stage, int col0, int k, int lane) {
    using Tile = typename CopyB::Tile;
    if constexpr (B::alongK) {
      ldmatrix4<false>(to, [&](int j) {
        return stage +
               Tile::offset(col0 + j * 16 + lane % 8 + lane / 16 * 8, k / perChunk + lane / 8 % 2);
      });
    } else if constexpr (sizeof(T) == 2) {
      ldmatrix4<true>(to, [&](int j) {
        return stage + Tile::offset(k + lane % 16, (col0 + j * 16) / perChunk + lane / 16);
      });
    } else {
      // Words along K in a tile whose lines are columns: one by one. Lane 4 g + t takes column g
      // and rows t, t + 4.
#pragma unroll
      for (int j = 0; j < fragmentsN / 2; ++j)
#pragma unroll
        for (int r = 0; r < 4; ++r)
          to[j][r] = word(stage + Tile::element(k + lane % 4 + r % 2 * 4,
                                                col0 + j * 16 + r / 2 * 8 + lane / 4));
    }
    roundTf32(to);
  }

  __device__ __forceinline__ static void run(const A &a, const B &b, const Result &result, int m,
                                             int n, int k, int group) {
    T *ring = reinterpret_cast<T *>(dynamicShared());
    const int lane = threadIdx.x % warpLanes, warp = threadIdx.x / warpLanes, batch = blockIdx.z;
    const TilePlace place =
        tileOf(blockIdx.x, (m + tileM - 1) / tileM, (n + tileN - 1) / tileN, group);
    const int m0 = place.row * tileM, n0 = place.col * tileN;
    const int warpRow = warp / (tileN / warpN) * warpM, warpCol = warp % (tileN / warpN) * warpN;
    const StepRange steps = stepsOfSplit(k, tileK);

    CopyA copyA;
    CopyB copyB;
    copyA.begin(a, batch, m0, m);
    copyB.begin(b, batch, n0, n);
    auto copy = [&](int at) {
      T *stage = ring + at % stages * stageElements;
      copyA.copy(a, stage, at * tileK, k);
      copyB.copy(b, stage + CopyA::elements, at * tileK, k);
    };

    Accumulator acc[fragmentsM][fragmentsN][4] = {};
    // A group is committed in every turn, be it empty: so the same number is always in flight.
#pragma unroll
    for (int i = 0; i < stages - 1; ++i) {
      if (steps.first + i < steps.last)
        copy(steps.first + i);
      cpAsyncCommit();
    }
    for (int at = steps.first; at < steps.last; ++at) {
      cpAsyncWait<stages - 2>();
      // Everybody's part of this stage has landed, and nobody reads the stage that is filled next.
      __syncthreads();
      if (at + stages - 1 < steps.last)
        copy(at + stages - 1);
      cpAsyncCommit();
      const T *stageA = ring + at % stages * stageElements, *stageB = stageA + CopyA::elements;
#pragma unroll
      for (int depth = 0; depth < tileK; depth += step) {
        uint32_t fa[fragmentsM][4], fb[fragmentsN / 2][4];
        fragmentA(fa, stageA, warpRow, depth, lane);
        fragmentB(fb, stageB, warpCol, depth, lane);
        mma<typename Shape::Type>(acc, fa, fb);
      }
    }
    cpAsyncWait<0>();
    __syncthreads();
    writeResult(acc, result, batch, m0 + warpRow, n0 + warpCol, m, n, warp, lane);
  }

  /// Through a slab of shared memory a warp, so that results and the epilogue's operands move in
  /// whole sectors: 16 rows at a time, four columns a lane.
  __device__ __forceinline__ static void
  writeResult(const Accumulator (&acc)[fragmentsM][fragmentsN][4], const Result &result, int batch,
              int row0, int col0, int m, int n, int warp, int lane) {
    Accumulator *slab =
        reinterpret_cast<Accumulator *>(dynamicShared()) + warp * 16 * Shape::slabStride;
    constexpr int lanesPerRow = warpN / 4, rowsPerTurn = warpLanes / lanesPerRow;
    const int inSlab = lane % lanesPerRow * 4, col = col0 + inSlab;
    const typename Result::Columns columns = result.at(batch, col, n);
#pragma unroll
    for (int i = 0; i < fragmentsM; ++i) {
#pragma unroll
      for (int j = 0; j < fragmentsN; ++j)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const Accumulator two[2] = {acc[i][j][half * 2], acc[i][j][half * 2 + 1]};
          storeElements<2>(slab + (lane / 4 + half * 8) * Shape::slabStride + j * 8 + lane % 4 * 2,
                           two);
        }
      __syncwarp();
#pragma unroll
      for (int r = lane / lanesPerRow; r < 16; r += rowsPerTurn) {
        const int row = row0 + i * 16 + r;
        Accumulator four[4];
        loadElements<4>(four, slab + r * Shape::slabStride + inSlab);
        if (row < m && col < n)
          result.store(columns, row, four);
      }
      __syncwarp();
    }
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_MATMUL_TENSOR_CUH
