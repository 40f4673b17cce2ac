//===- Transpose.cuh - Exchange of two axes ---------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_TRANSPOSE_CUH
#define KILN_TARGET_CUDA_KERNELS_TRANSPOSE_CUH

#include "../Common/Functors.cuh"
#include "Transpose.config.h"

namespace kiln::cuda {

/// Moves the elements of [batch][row][col] through shared memory: `source(batch, row, col)` of
/// neighbouring columns is asked for by neighbouring lanes, `target(element, batch, row, col)` is
/// told of neighbouring rows by them. So both sides move whole lines where those are neighbours in
/// memory. S may be any type that one instruction moves.
template <int warps, class S> struct TransposeTiles {
  static constexpr TransposeConfig config{warps};
  static_assert(config.legal(), "not a configuration of Transpose");
  static constexpr int threads = config.threads(), tile = config.tile,
                       pitch = TransposeConfig::pitch(sizeof(S));

  template <class Source, class Target>
  __device__ __forceinline__ static void run(long batches, long rows, long columns,
                                             const Source &source, const Target &target) {
    __shared__ S staged[tile][pitch];
    const long tilesX = (columns + tile - 1) / tile, row0 = blockIdx.x / tilesX * tile,
               col0 = blockIdx.x % tilesX * tile;
    const int lane = threadIdx.x % tile, warp = threadIdx.x / tile;
    for (long batch = blockIdx.y; batch < batches; batch += gridDim.y) {
#pragma unroll
      for (int i = warp; i < tile; i += warps)
        if (row0 + i < rows && col0 + lane < columns)
          staged[i][lane] = source(batch, row0 + i, col0 + lane);
      __syncthreads();
#pragma unroll
      for (int i = warp; i < tile; i += warps)
        if (row0 + lane < rows && col0 + i < columns)
          target(staged[lane][i], batch, row0 + lane, col0 + i);
      __syncthreads();
    }
  }
};

/// y[batch][col][row] = x[batch][row][col]. The prologue's places are x's, all batches one below
/// the other; R is what it returns.
template <int warps, class Prologue> struct Transpose {
  static constexpr int threads = TransposeConfig{warps}.threads();

  template <class T, class R> struct Source {
    const T *x;
    long rows, columns;
    const Prologue &prologue;
    __device__ __forceinline__ R operator()(long batch, long row, long col) const {
      const long line = batch * rows + row;
      return prologue(x[line * columns + col], line, col);
    }
  };
  template <class R> struct Target {
    R *y;
    long rows, columns;
    __device__ __forceinline__ void operator()(R value, long batch, long row, long col) const {
      y[(batch * columns + col) * rows + row] = value;
    }
  };

  template <class T, class R>
  __device__ __forceinline__ static void run(const T *x, R *y, int batches, int rows, int columns,
                                             const Prologue &prologue) {
    TransposeTiles<warps, R>::run(batches, rows, columns, Source<T, R>{x, rows, columns, prologue},
                                  Target<R>{y, rows, columns});
  }
};

/// Any two axes: functors `from` and `to` give an element's place in x and y, and the result is
/// function(element as F, batch, row, col).
template <int warps, class F, class From, class To, class Function> struct TransposeAny {
  template <class T> struct Source {
    const T *x;
    const From &from;
    __device__ __forceinline__ T operator()(long batch, long row, long col) const {
      return x[from(batch, row, col)];
    }
  };
  template <class T, class R> struct Target {
    R *y;
    const To &to;
    const Function &function;
    __device__ __forceinline__ void operator()(T value, long batch, long row, long col) const {
      y[to(batch, row, col)] = convertTo<R>(function(convertTo<F>(value), batch, row, col));
    }
  };

  template <class T, class R>
  __device__ __forceinline__ static void run(const T *x, R *y, long batches, long rows,
                                             long columns, const From &from, const To &to,
                                             const Function &function) {
    TransposeTiles<warps, T>::run(batches, rows, columns, Source<T>{x, from},
                                  Target<T, R>{y, to, function});
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_TRANSPOSE_CUH
