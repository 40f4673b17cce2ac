//===- Rows.cuh - A row in the registers of its threads ---------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_COMMON_ROWS_CUH
#define KILN_TARGET_CUDA_KERNELS_COMMON_ROWS_CUH

#include "Functors.cuh"
#include "Rows.config.h"

namespace kiln::cuda {

template <int threadsPerRow, int rowsPerBlock, int vectors, int vector> struct RowShape {
  static constexpr RowConfig config{threadsPerRow, rowsPerBlock, vectors, vector};
  static_assert(config.legal(), "not a configuration of rows");
  static constexpr int threads = config.threads(), capacity = config.capacity();

  /// The row of this thread; threads of a warp beyond the last row stay, for the warp meets.
  __device__ __forceinline__ static long row() {
    return static_cast<long>(blockIdx.x) * rowsPerBlock + threadIdx.x / threadsPerRow;
  }
  /// The first column of this thread's vector `i`.
  __device__ __forceinline__ static int column(int i) {
    return (i * threadsPerRow + static_cast<int>(threadIdx.x) % threadsPerRow) * vector;
  }

  /// v combined over the threads of the row, in all of them. Each call in a kernel has a `slot` of
  /// its own: memory is not used twice without a barrier in between.
  template <int slot, class T, class Op> __device__ __forceinline__ static T reduce(T v, Op op) {
    if constexpr (threadsPerRow <= warpLanes) {
      return warpReduce<threadsPerRow>(v, op);
    } else {
      __shared__ T perWarp[threadsPerRow / warpLanes];
      return blockReduce<threadsPerRow>(v, op, perWarp);
    }
  }
};

/// The elements of one row, as fp32.
template <class Shape> struct RowValues {
  static constexpr int vectors = Shape::config.vectors, vector = Shape::config.vector;
  float value[vectors][vector];

  /// Elements outside are `fill`. Every element is read, and passes the prologue, once.
  template <class T, class Prologue>
  __device__ __forceinline__ void load(const T *matrix, long row, long rows, int columns,
                                       const Prologue &prologue, float fill) {
#pragma unroll
    for (int i = 0; i < vectors; ++i) {
      const int col = Shape::column(i);
      if (row < rows && col < columns) {
        loadThrough<vector>(value[i], matrix, row * columns + col, prologue, row, col);
      } else {
#pragma unroll
        for (int j = 0; j < vector; ++j)
          value[i][j] = fill;
      }
    }
  }

  template <class T, class Epilogue>
  __device__ __forceinline__ void store(T *matrix, long row, long rows, int columns,
                                        const Epilogue &epilogue) const {
#pragma unroll
    for (int i = 0; i < vectors; ++i) {
      const int col = Shape::column(i);
      if (row < rows && col < columns) {
        T result[vector];
        applyFunctor<vector>(epilogue, value[i], result, row, col);
        storeElements<vector>(matrix + row * columns + col, result);
      }
    }
  }

  template <class Op> __device__ __forceinline__ float fold(Op op) const {
    float total = value[0][0];
#pragma unroll
    for (int i = 0; i < vectors; ++i)
#pragma unroll
      for (int j = i == 0; j < vector; ++j)
        total = op(total, value[i][j]);
    return total;
  }
};

/// A stretch [first, last) of a row, in vectors over the threads of a block.
template <class Shape, class T, class Prologue, class Use>
__device__ __forceinline__ void forEachOfRow(const T *x, long row, int columns, int first, int last,
                                             const Prologue &prologue, const Use &use) {
  constexpr int vector = Shape::config.vector;
  for (int col = first + threadIdx.x * vector; col < last; col += Shape::threads * vector) {
    float value[vector];
    loadThrough<vector>(value, x, row * columns + col, prologue, row, col);
    use(col, value);
  }
}

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_COMMON_ROWS_CUH
