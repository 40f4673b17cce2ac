//===- Operands.cuh - What a matrix product reads and writes ----*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both operands of a product are seen as (outer, k): outer is a row of A or a column of B. An
// operand tells how its elements are found; a convolution is the same product over another operand
// (Conv/Im2col.cuh). What depends on `outer` alone is computed once, as a Position.
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_MATMUL_OPERANDS_CUH
#define KILN_TARGET_CUDA_KERNELS_MATMUL_OPERANDS_CUH

#include "../Common/Functors.cuh"

namespace kiln::cuda {

/// Which matrix of an operand a batch reads.
struct EachBatch {
  __device__ __forceinline__ long operator()(long batch) const { return batch; }
};
struct SharedByBatches {
  __device__ __forceinline__ long operator()(long) const { return 0; }
};

/// A matrix in memory, contiguous along K or along the outer axis, `stride` elements from one line
/// to the next. `vector_` elements along the contiguous axis are loaded at once: lines start at
/// multiples of it, and the contiguous extent is one (widestVector of Common/Config.h).
/// The prologue's (row, col) is the place in the stored matrix, all batches one below the other;
/// one that reads by itself stands for an operand that is not stored as such.
template <class T, bool alongK_, int vector_, class Prologue_ = Identity<float>,
          class Batch = EachBatch>
struct StridedOperand {
  static constexpr bool alongK = alongK_;
  static constexpr int vector = vector_;
  using Element = T;
  using Prologue = Prologue_;

  const T *data;
  long stride;
  /// Lines of one matrix: rows of a stored matrix of `stride` columns.
  long lines;
  Prologue prologue{};
  Batch batchOf{};

  struct Position {
    long line;
    int outer;
    bool inside;
  };

  __device__ __forceinline__ Position position(int batch, int outer, int outerEnd) const {
    return {batchOf(batch) * lines, outer, outer < outerEnd};
  }

  /// `vector` elements of the contiguous axis from (position, k) on; zeros outside.
  template <class F>
  __device__ __forceinline__ void load(F (&to)[vector_], const Position &p, int k, int kEnd) const {
    if (p.inside && k < kEnd) {
      long row = p.line + (alongK ? p.outer : k), col = alongK ? k : p.outer;
      loadThrough<vector_>(to, data, row * stride + col, prologue, row, col);
    } else {
#pragma unroll
      for (int i = 0; i < vector_; ++i)
        to[i] = F(0);
    }
  }

  /// Whether elements of type `Stored` lie in memory in whole chunks of 16 bytes.
  template <class Stored>
  static constexpr bool isChunked =
      IsSame<T, Stored>::value && vector_ * sizeof(T) == vectorBytes &&
      (IsSame<Prologue, Identity<float>>::value || HasAddressForm<Prologue>::value);
  /// The chunk at (position, k) for an asynchronous copy, null outside: those become zeros.
  __device__ __forceinline__ const T *chunk(const Position &p, int k, int kEnd) const {
    if (!p.inside || k >= kEnd)
      return nullptr;
    const long row = p.line + (alongK ? p.outer : k), col = alongK ? k : p.outer;
    if constexpr (HasAddressForm<Prologue>::value)
      return prologue.at(row, col);
    else
      return data + row * stride + col;
  }
};

/// A row-major result of type T, `vector_` columns stored at once. The epilogue's row counts the
/// rows of all batches.
template <class T, int vector_, class Epilogue = Identity<T>> struct RowMajorResult {
  T *data;
  /// Rows and columns of one matrix.
  long rows, columns;
  Epilogue epilogue{};

  /// Four neighbouring columns; `count` of them exist.
  struct Columns {
    long row0;
    int col, count;
  };
  __device__ __forceinline__ Columns at(int batch, int col, int colEnd) const {
    return {batch * rows, col, colEnd - col};
  }

  template <class F>
  __device__ __forceinline__ void store(const Columns &c, int row, const F (&acc)[4]) const {
    long global = c.row0 + row;
#pragma unroll
    for (int i = 0; i < 4; i += vector_) {
      if (i >= c.count)
        return;
      F part[vector_];
#pragma unroll
      for (int j = 0; j < vector_; ++j)
        part[j] = acc[i + j];
      T result[vector_];
      applyFunctor<vector_>(epilogue, part, result, global, c.col + i);
      storeElements<vector_>(data + global * columns + c.col + i, result);
    }
  }
};

/// What one split of K gives, before any epilogue: workspace[split][batch][row][col].
template <class F, int vector_> struct PartialResult {
  F *workspace;
  long rows, columns;

  using Columns = typename RowMajorResult<F, vector_>::Columns;
  __device__ __forceinline__ Columns at(int batch, int col, int colEnd) const {
    return {(static_cast<long>(blockIdx.y) * gridDim.z + batch) * rows, col, colEnd - col};
  }
  __device__ __forceinline__ void store(const Columns &c, int row, const F (&acc)[4]) const {
    RowMajorResult<F, vector_, Identity<F>>{workspace, rows, columns, {}}.store(c, row, acc);
  }
};

/// The tile of block `index`: columns of `group` tiles are walked downwards before the next one, so
/// that the blocks which run together share tiles of both operands in the L2 cache.
struct TilePlace {
  int row, col;
};
__device__ __forceinline__ TilePlace tileOf(int index, int tilesM, int tilesN, int group) {
  int perBand = group * tilesN, band = index / perBand, first = band * group;
  int height = min(group, tilesM - first), inBand = index - band * perBand;
  return {first + inBand % height, inBand / height};
}

/// The steps [first, last) of K that this block takes.
struct StepRange {
  int first, last;
};
__device__ __forceinline__ StepRange stepsOfSplit(int k, int tileK) {
  int steps = (k + tileK - 1) / tileK, splits = gridDim.y, per = (steps + splits - 1) / splits;
  int first = min(steps, static_cast<int>(blockIdx.y) * per);
  return {first, min(steps, first + per)};
}

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_MATMUL_OPERANDS_CUH
