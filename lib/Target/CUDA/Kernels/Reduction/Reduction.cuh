//===- Reduction.cuh - Reductions and arg-reductions ------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The prologue prepares an element (square, absolute value, exponential ...), Op combines two, the
// epilogue makes the result (divides by the count, takes the root ...). Op is one of
// Common/Functors.cuh or alike: associative, `neutral`. The order is fixed by the launch.
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_REDUCTION_CUH
#define KILN_TARGET_CUDA_KERNELS_REDUCTION_CUH

#include "../Common/Rows.cuh"
#include "Reduction.config.h"

namespace kiln::cuda {

/// Over the last axis: result[row], the epilogue's column is 0. x = rows / rowsPerBlock, y = parts:
/// with several, result[part][row] and `part` columns each, whole vectors.
template <class Shape, class Acc, class Op, class Prologue, class Epilogue> struct ReduceRows {
  static constexpr int vector = Shape::config.vector;

  template <class T, class R>
  __device__ __forceinline__ static void run(const T *x, R *result, long rows, int columns,
                                             int part, const Op &op, const Prologue &prologue,
                                             const Epilogue &epilogue) {
    const long row = Shape::row();
    const int first = blockIdx.y * part, last = min(columns, first + part);
    Acc total = Op::template neutral<Acc>();
    constexpr int step = Shape::config.threadsPerRow * vector;
    if (row < rows) {
      for (int col = first + Shape::column(0); col < last; col += step) {
        Acc value[vector];
        loadThrough<vector>(value, x, row * columns + col, prologue, row, col);
#pragma unroll
        for (int j = 0; j < vector; ++j)
          total = op(total, value[j]);
      }
    }
    total = Shape::template reduce<0>(total, op);
    if (row < rows && threadIdx.x % Shape::config.threadsPerRow == 0)
      result[blockIdx.y * rows + row] = epilogue(total, row, 0);
  }
};

/// Over the middle axis of [outer][length][columns]: result[outer][column]; the prologue's row is
/// outer * length + place, the epilogue's row is outer. Several parts: result[part][outer][column].
template <int warps, class Acc, class Op, class Prologue, class Epilogue> struct ReduceColumns {
  static constexpr ColumnConfig config{warps};
  static_assert(config.legal(), "not a configuration of ReduceColumns");
  static constexpr int threads = config.threads();

  template <class T, class R>
  __device__ __forceinline__ static void run(const T *x, R *result, int length, long columns,
                                             const Op &op, const Prologue &prologue,
                                             const Epilogue &epilogue) {
    __shared__ Acc perWarp[warps][warpLanes];
    const int lane = threadIdx.x % warpLanes, warp = threadIdx.x / warpLanes;
    const long outer = blockIdx.z, col = static_cast<long>(blockIdx.x) * warpLanes + lane;
    Acc total = Op::template neutral<Acc>();
    if (col < columns)
      for (int i = blockIdx.y * warps + warp; i < length; i += gridDim.y * warps) {
        const long row = outer * length + i;
        total = op(total, elementThrough<Acc>(x, row * columns + col, prologue, row, col));
      }
    perWarp[warp][lane] = total;
    __syncthreads();
    if (warp != 0 || col >= columns)
      return;
#pragma unroll
    for (int w = 1; w < warps; ++w)
      total = op(total, perWarp[w][lane]);
    const long place = (static_cast<long>(blockIdx.y) * gridDim.z + outer) * columns + col;
    result[place] = epilogue(total, outer, col);
  }
};

/// The place of the largest (smallest) element along the middle axis of [outer][length][columns];
/// the first or the last of equals. A NaN beats every number. With columns = 1 a warp takes one
/// row, so that lanes read neighbours; else a thread takes one column.
template <bool smallest, bool takeLast, class Prologue> struct ArgReduce {
  /// Whether a is chosen over b, which may come after it.
  __device__ __forceinline__ static bool beats(float a, float b) {
    if (a != a || b != b)
      return a != a && b == b;
    return smallest ? a < b : a > b;
  }
  __device__ __forceinline__ static bool equal(float a, float b) {
    return a == b || (a != a && b != b);
  }

  struct Best {
    float value = 0;
    int place = -1;
    __device__ __forceinline__ void add(float v, int at) {
      if (place < 0 || beats(v, value) || (takeLast && equal(v, value))) {
        value = v;
        place = at;
      }
    }
  };
  struct Stronger {
    __device__ __forceinline__ float operator()(float a, float b) const {
      return beats(b, a) ? b : a;
    }
  };
  struct Further {
    __device__ __forceinline__ int operator()(int a, int b) const {
      return takeLast ? max(a, b) : min(a, b);
    }
  };

  /// x = rows / warps of a block.
  template <class T>
  __device__ __forceinline__ static void rows(const T *x, int64_t *result, long rows, int length,
                                              const Prologue &prologue) {
    const int lane = threadIdx.x % warpLanes;
    const long row = (static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x) / warpLanes;
    if (row >= rows)
      return;
    Best best;
    for (int i = lane; i < length; i += warpLanes)
      best.add(elementThrough(x, row * length + i, prologue, row, i), i);
    // A lane without an element takes the place of lane 0's, which has one.
    const float first = __shfl_sync(0xffffffffu, best.value, 0);
    const float value = warpReduce(best.place < 0 ? first : best.value, Stronger{});
    const bool chosen = best.place >= 0 && equal(best.value, value);
    const int place = warpReduce(chosen ? best.place : takeLast ? -1 : length, Further{});
    if (lane == 0)
      result[row] = place;
  }

  /// x = outers * columns / threads of a block.
  template <class T>
  __device__ __forceinline__ static void columns(const T *x, int64_t *result, long outers,
                                                 int length, long columns,
                                                 const Prologue &prologue) {
    const long index = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (index >= outers * columns)
      return;
    const long outer = index / columns, col = index - outer * columns;
    Best best;
    for (int i = 0; i < length; ++i) {
      const long row = outer * length + i;
      best.add(elementThrough(x, row * columns + col, prologue, row, col), i);
    }
    result[index] = best.place;
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_REDUCTION_CUH
