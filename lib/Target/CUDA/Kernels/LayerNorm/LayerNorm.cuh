//===- LayerNorm.cuh - LayerNorm and RMSNorm --------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The prologue adds a residual, if any (and may store the sum: it sees every element once in
// LayerNorm); the epilogue multiplies by the scale and adds the bias. `statistics` gets
// (mean, 1 / deviation, row) once a row, from one thread.
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_LAYERNORM_CUH
#define KILN_TARGET_CUDA_KERNELS_LAYERNORM_CUH

#include "../Common/Rows.cuh"
#include "LayerNorm.config.h"

namespace kiln::cuda {

struct NoStatistics {
  __device__ __forceinline__ void operator()(float, float, long) const {}
};

/// Scale and bias of each column, for the epilogue.
template <class R, class W> struct ScaleBias {
  const W *scale, *bias;
  template <int V>
  __device__ __forceinline__ void vector(const float (&v)[V], R (&to)[V], long, long col) const {
    float s[V], b[V];
    loadElements<V>(s, scale + col);
    loadElements<V>(b, bias + col);
#pragma unroll
    for (int i = 0; i < V; ++i)
      to[i] = convertTo<R>(fmaf(v[i], s[i], b[i]));
  }
};

/// Rows of at most Shape::capacity columns: read once; mean and variance are two exact passes over
/// registers. Without `centred` the mean counts as zero: RMSNorm. x = rows / rowsPerBlock.
template <class Shape, bool centred, class Prologue, class Epilogue,
          class Statistics = NoStatistics>
struct LayerNorm {
  template <class T, class R>
  __device__ __forceinline__ static void
  run(const T *x, R *y, long rows, int columns, float epsilon, const Prologue &prologue,
      const Epilogue &epilogue, const Statistics &statistics = {}) {
    const long row = Shape::row();
    RowValues<Shape> values;
    values.load(x, row, rows, columns, prologue, 0.0f);
    const float count = static_cast<float>(columns);
    float mean = 0;
    if constexpr (centred)
      mean = Shape::template reduce<0>(values.fold(Sum{}), Sum{}) / count;
    float squares = 0;
#pragma unroll
    for (int i = 0; i < values.vectors; ++i)
#pragma unroll
      for (int j = 0; j < values.vector; ++j) {
        values.value[i][j] -= mean;
        // What was filled in is no element.
        if (Shape::column(i) < columns)
          squares = fmaf(values.value[i][j], values.value[i][j], squares);
      }
    const float variance = Shape::template reduce<1>(squares, Sum{}) / count;
    const float scale = 1.0f / sqrtf(variance + epsilon);
#pragma unroll
    for (int i = 0; i < values.vectors; ++i)
#pragma unroll
      for (int j = 0; j < values.vector; ++j)
        values.value[i][j] *= scale;
    values.store(y, row, rows, columns, epilogue);
    if (row < rows && threadIdx.x % Shape::config.threadsPerRow == 0)
      statistics(mean, scale, row);
  }
};

/// Rows of any length, a block each, read again for every pass. x = rows.
template <class Shape, bool centred, class Prologue, class Epilogue,
          class Statistics = NoStatistics>
struct LayerNormLooped {
  static constexpr int vector = Shape::config.vector;
  static_assert(Shape::config.rowsPerBlock == 1);

  template <class T, class R>
  __device__ __forceinline__ static void run(const T *x, R *y, int columns, float epsilon,
                                             const Prologue &prologue, const Epilogue &epilogue,
                                             const Statistics &statistics = {}) {
    const long row = blockIdx.x;
    const float count = static_cast<float>(columns);
    auto forEach = [&](auto use) {
      forEachOfRow<Shape>(x, row, columns, 0, columns, prologue, use);
    };
    float mean = 0;
    if constexpr (centred) {
      float sum = 0;
      forEach([&](int, const float (&value)[vector]) {
#pragma unroll
        for (int j = 0; j < vector; ++j)
          sum += value[j];
      });
      mean = Shape::template reduce<0>(sum, Sum{}) / count;
    }
    float squares = 0;
    forEach([&](int, const float (&value)[vector]) {
#pragma unroll
      for (int j = 0; j < vector; ++j)
        squares = fmaf(value[j] - mean, value[j] - mean, squares);
    });
    const float variance = Shape::template reduce<1>(squares, Sum{}) / count;
    const float scale = 1.0f / sqrtf(variance + epsilon);
    forEach([&](int col, const float (&value)[vector]) {
      float normal[vector];
      R result[vector];
#pragma unroll
      for (int j = 0; j < vector; ++j)
        normal[j] = (value[j] - mean) * scale;
      applyFunctor<vector>(epilogue, normal, result, row, col);
      storeElements<vector>(y + row * columns + col, result);
    });
    if (threadIdx.x == 0)
      statistics(mean, scale, row);
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_LAYERNORM_CUH
