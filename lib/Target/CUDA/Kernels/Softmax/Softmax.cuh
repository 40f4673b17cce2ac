//===- Softmax.cuh - Softmax and its logarithm ------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All forms subtract the row's maximum before the exponential. The functors' row and column are
// those of the matrix.
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_SOFTMAX_CUH
#define KILN_TARGET_CUDA_KERNELS_SOFTMAX_CUH

#include "../Common/Rows.cuh"
#include "Softmax.config.h"

namespace kiln::cuda {

/// The maximum seen so far and the sum of exponentials relative to it.
struct SoftmaxState {
  float maximum = -INFINITY, sum = 0;

  /// exp(x - maximum), where an empty part (minus infinity everywhere) counts nothing.
  __device__ __forceinline__ static float relative(float x, float maximum) {
    return x == -INFINITY && maximum == -INFINITY ? 0.0f : expf(x - maximum);
  }
  __device__ __forceinline__ void add(float x) {
    if (x <= maximum) {
      sum += relative(x, maximum);
    } else {
      sum = sum * relative(maximum, x) + 1;
      maximum = x;
    }
  }
  __device__ __forceinline__ void add(const SoftmaxState &other) {
    const float top = Max{}(maximum, other.maximum);
    sum = sum * relative(maximum, top) + other.sum * relative(other.maximum, top);
    maximum = top;
  }
};

/// The result for x of a row whose state is known.
template <bool logarithm> struct SoftmaxScale {
  float maximum, factor;
  __device__ __forceinline__ explicit SoftmaxScale(const SoftmaxState &state)
      : maximum(state.maximum), factor(logarithm ? logf(state.sum) : 1.0f / state.sum) {}
  __device__ __forceinline__ float operator()(float x) const {
    return logarithm ? x - maximum - factor : expf(x - maximum) * factor;
  }
};

/// Rows of at most Shape::capacity columns: read once, written once. x = rows / rowsPerBlock.
template <class Shape, bool logarithm, class Prologue, class Epilogue> struct Softmax {
  template <class T, class R>
  __device__ __forceinline__ static void run(const T *x, R *y, long rows, int columns,
                                             const Prologue &prologue, const Epilogue &epilogue) {
    const long row = Shape::row();
    RowValues<Shape> values;
    values.load(x, row, rows, columns, prologue, -INFINITY);
    SoftmaxState state;
    state.maximum = Shape::template reduce<0>(values.fold(Max{}), Max{});
    float sum = 0;
#pragma unroll
    for (int i = 0; i < values.vectors; ++i)
#pragma unroll
      for (int j = 0; j < values.vector; ++j) {
        const float power = expf(values.value[i][j] - state.maximum);
        sum += power;
        if constexpr (!logarithm)
          values.value[i][j] = power;
      }
    state.sum = Shape::template reduce<1>(sum, Sum{});
    const SoftmaxScale<logarithm> scale(state);
#pragma unroll
    for (int i = 0; i < values.vectors; ++i)
#pragma unroll
      for (int j = 0; j < values.vector; ++j)
        values.value[i][j] =
            logarithm ? scale(values.value[i][j]) : values.value[i][j] * scale.factor;
    values.store(y, row, rows, columns, epilogue);
  }
};

template <class Shape> __device__ __forceinline__ SoftmaxState reduceState(SoftmaxState state) {
  SoftmaxState total;
  total.maximum = Shape::template reduce<0>(state.maximum, Max{});
  total.sum = Shape::template reduce<1>(
      state.sum * SoftmaxState::relative(state.maximum, total.maximum), Sum{});
  return total;
}

/// Rows of any length, a block each: read twice. x = rows.
template <class Shape, bool logarithm, class Prologue, class Epilogue> struct SoftmaxLooped {
  static constexpr int vector = Shape::config.vector;
  static_assert(Shape::config.rowsPerBlock == 1);

  template <class T, class R>
  __device__ __forceinline__ static void run(const T *x, R *y, int columns,
                                             const Prologue &prologue, const Epilogue &epilogue) {
    const long row = blockIdx.x;
    SoftmaxState state;
    forEachOfRow<Shape>(x, row, columns, 0, columns, prologue,
                        [&](int, const float (&value)[vector]) {
#pragma unroll
                          for (int j = 0; j < vector; ++j)
                            state.add(value[j]);
                        });
    finish<R>(x, y, row, columns, 0, columns, reduceState<Shape>(state), prologue, epilogue);
  }

  template <class R, class T>
  __device__ __forceinline__ static void
  finish(const T *x, R *y, long row, int columns, int first, int last, const SoftmaxState &state,
         const Prologue &prologue, const Epilogue &epilogue) {
    const SoftmaxScale<logarithm> scale(state);
    forEachOfRow<Shape>(x, row, columns, first, last, prologue,
                        [&](int col, const float (&value)[vector]) {
                          float scaled[vector];
#pragma unroll
                          for (int j = 0; j < vector; ++j)
                            scaled[j] = scale(value[j]);
                          R result[vector];
                          applyFunctor<vector>(epilogue, scaled, result, row, col);
                          storeElements<vector>(y + row * columns + col, result);
                        });
  }
};

/// Few long rows: blocks x = rows, y = parts of a row; `part` columns each, whole vectors.
/// SoftmaxParts leaves states[row][part] in the workspace, SoftmaxFinish combines and writes.
template <class Shape, class Prologue> struct SoftmaxParts {
  static constexpr int vector = Shape::config.vector;

  template <class T>
  __device__ __forceinline__ static void run(const T *x, float *states, int columns, int part,
                                             const Prologue &prologue) {
    const long row = blockIdx.x;
    const int first = blockIdx.y * part, last = min(columns, first + part);
    SoftmaxState state;
    forEachOfRow<Shape>(x, row, columns, first, last, prologue,
                        [&](int, const float (&value)[vector]) {
#pragma unroll
                          for (int j = 0; j < vector; ++j)
                            state.add(value[j]);
                        });
    state = reduceState<Shape>(state);
    if (threadIdx.x == 0)
      storeVector(states + (row * gridDim.y + blockIdx.y) * 2,
                  make_float2(state.maximum, state.sum));
  }
};
template <class Shape, bool logarithm, class Prologue, class Epilogue> struct SoftmaxFinish {
  template <class T, class R>
  __device__ __forceinline__ static void run(const T *x, const float *states, R *y, int columns,
                                             int part, const Prologue &prologue,
                                             const Epilogue &epilogue) {
    const long row = blockIdx.x;
    SoftmaxState state;
    // Every thread in the same order: all blocks of a row get the same bits.
    for (unsigned i = 0; i < gridDim.y; ++i) {
      const float2 one = loadVector<float2>(states + (row * gridDim.y + i) * 2);
      SoftmaxState other;
      other.maximum = one.x;
      other.sum = one.y;
      state.add(other);
    }
    const int first = blockIdx.y * part;
    SoftmaxLooped<Shape, logarithm, Prologue, Epilogue>::template finish<R>(
        x, y, row, columns, first, min(columns, first + part), state, prologue, epilogue);
  }
};

/// An axis with `inner` elements behind it: a thread takes one place of the others, so that warps
/// read neighbours. Read twice. The functors' row is outer * length + place along the axis.
template <bool logarithm, class Prologue, class Epilogue> struct SoftmaxColumns {
  template <class T, class R>
  __device__ __forceinline__ static void run(const T *x, R *y, long outers, int length, long inner,
                                             const Prologue &prologue, const Epilogue &epilogue) {
    const long index = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (index >= outers * inner)
      return;
    const long outer = index / inner, col = index - outer * inner;
    SoftmaxState state;
    for (int i = 0; i < length; ++i) {
      const long row = outer * length + i;
      state.add(elementThrough(x, row * inner + col, prologue, row, col));
    }
    const SoftmaxScale<logarithm> scale(state);
    for (int i = 0; i < length; ++i) {
      const long row = outer * length + i;
      y[row * inner + col] =
          epilogue(scale(elementThrough(x, row * inner + col, prologue, row, col)), row, col);
    }
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_SOFTMAX_CUH
