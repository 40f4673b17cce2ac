//===- Gather.cuh - Rows chosen by index ------------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_GATHER_CUH
#define KILN_TARGET_CUDA_KERNELS_GATHER_CUH

#include "../Pointwise/Pointwise.cuh"
#include "Gather.config.h"

namespace kiln::cuda {

/// result[outer][i][:] = epilogue(data[outer][index[i]][:]); an embedding has one outer. Negative
/// indices count from the end; an index outside is clamped, for memory has to be safe even where
/// the check before the launch was left out. The epilogue's row is outer * indices + i. Type F is
/// what the epilogue gets: float, or T itself to move bits.
template <class Shape, class F, class Epilogue> struct Gather {
  static constexpr int vector = Shape::config.vector, perThread = Shape::config.perThread;

  template <class T, class Index, class R>
  __device__ __forceinline__ static void run(const T *data, const Index *index, R *result,
                                             long outers, long axis, long inner, long indices,
                                             const Epilogue &epilogue) {
    const long perRow = inner / vector, total = outers * indices * perRow;
    const long first = static_cast<long>(blockIdx.x) * Shape::threads * perThread + threadIdx.x;
#pragma unroll
    for (int i = 0; i < perThread; ++i) {
      const long at = first + static_cast<long>(i) * Shape::threads;
      if (at >= total)
        continue;
      const long row = at / perRow, col = (at - row * perRow) * vector, outer = row / indices;
      long from = static_cast<long>(index[row - outer * indices]);
      from = from < 0 ? from + axis : from;
      from = from < 0 ? 0 : from >= axis ? axis - 1 : from;
      F plain[vector];
      R value[vector];
      loadElements<vector>(plain, data + (outer * axis + from) * inner + col);
      applyFunctor<vector>(epilogue, plain, value, row, col);
      storeElements<vector>(result + row * inner + col, value);
    }
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_GATHER_CUH
