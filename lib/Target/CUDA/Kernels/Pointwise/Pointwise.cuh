//===- Pointwise.cuh - One function of every element ------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_POINTWISE_CUH
#define KILN_TARGET_CUDA_KERNELS_POINTWISE_CUH

#include "../Common/Functors.cuh"
#include "Pointwise.config.h"

namespace kiln::cuda {

template <int threads_, int vector, int perThread> struct PointwiseShape {
  static constexpr PointwiseConfig config{threads_, vector, perThread};
  static_assert(config.legal(), "not a configuration of Pointwise");
  static constexpr int threads = threads_;
};

/// An operand of a matrix of results; it may have one row, one column, or one element for all.
/// Values arrive at the function as F.
template <class T, bool manyRows = true, bool manyColumns = true, class F = float>
struct PointwiseOperand {
  using Value = F;
  const T *data;

  template <int V>
  __device__ __forceinline__ void load(F (&to)[V], long row, long col, long columns) const {
    const T *at =
        data + (manyRows ? row * (manyColumns ? columns : 1) : 0) + (manyColumns ? col : 0);
    if constexpr (manyColumns) {
      loadElements<V>(to, at);
    } else {
      const F all = convertTo<F>(*at);
#pragma unroll
      for (int i = 0; i < V; ++i)
        to[i] = all;
    }
  }
};

/// y[row][col] = f(operands at (row, col) ...), converted to R. Columns are whole vectors; an array
/// without structure is one row. All loads of a thread are issued before its first result.
template <class Shape, class R, class F, class... Operands> struct Pointwise {
  static constexpr int vector = Shape::config.vector, perThread = Shape::config.perThread;

  template <class Operand> struct Loaded {
    typename Operand::Value value[perThread][vector];
  };
  /// What all operands gave: an inherited Loaded for each, told apart by number.
  template <int number, class... Rest> struct Values {};
  template <int number, class First, class... Rest> struct Values<number, First, Rest...> {
    Loaded<First> first;
    Values<number + 1, Rest...> rest;
  };

  template <int number, class First, class... Rest>
  __device__ __forceinline__ static void load(Values<number, First, Rest...> &to, int i, long row,
                                              long col, long columns, const First &first,
                                              const Rest &...rest) {
    first.template load<vector>(to.first.value[i], row, col, columns);
    if constexpr (sizeof...(Rest) != 0)
      load(to.rest, i, row, col, columns, rest...);
  }

  template <class... Done>
  __device__ __forceinline__ static auto apply(const F &f, const Values<sizeof...(Operands)> &, int,
                                               int, Done... done) {
    return f(done...);
  }
  template <int number, class First, class... Rest, class... Done>
  __device__ __forceinline__ static auto
  apply(const F &f, const Values<number, First, Rest...> &from, int i, int j, Done... done) {
    return apply(f, from.rest, i, j, done..., from.first.value[i][j]);
  }

  __device__ __forceinline__ static void run(R *y, long rows, long columns, const F &f,
                                             const Operands &...operands) {
    const long perRow = columns / vector, total = rows * perRow;
    const long first = static_cast<long>(blockIdx.x) * Shape::threads * perThread + threadIdx.x;
    Values<0, Operands...> values;
#pragma unroll
    for (int i = 0; i < perThread; ++i) {
      const long index = first + static_cast<long>(i) * Shape::threads, row = index / perRow;
      if (index < total)
        load(values, i, row, (index - row * perRow) * vector, columns, operands...);
    }
#pragma unroll
    for (int i = 0; i < perThread; ++i) {
      const long index = first + static_cast<long>(i) * Shape::threads;
      if (index >= total)
        continue;
      R result[vector];
#pragma unroll
      for (int j = 0; j < vector; ++j)
        result[j] = convertTo<R>(apply(f, values, i, j));
      storeElements<vector>(y + index * vector, result);
    }
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_POINTWISE_CUH
