//===- SplitK.cuh - Adds up the parts of a split product --------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_MATMUL_SPLITK_CUH
#define KILN_TARGET_CUDA_KERNELS_MATMUL_SPLITK_CUH

#include "Operands.cuh"

namespace kiln::cuda {

/// Adds workspace[split][batch][row][col] over the splits, always in the same order, and applies
/// the epilogue. A thread takes four columns; x covers a matrix, z = batch.
template <class F, int vector, class Result> struct SplitKSum {
  __device__ __forceinline__ static void run(const F *workspace, const Result &result, int m, int n,
                                             int splits) {
    const int groups = (n + 3) / 4, batches = gridDim.z, batch = blockIdx.z;
    const long index = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
    const int row = static_cast<int>(index / groups), col = static_cast<int>(index % groups) * 4;
    if (row >= m)
      return;
    F sum[4] = {};
    for (int split = 0; split < splits; ++split) {
      const F *at = workspace + ((static_cast<long>(split) * batches + batch) * m + row) * n + col;
#pragma unroll
      for (int i = 0; i < 4; i += vector) {
        if (col + i >= n)
          break;
        F part[vector];
        loadElements<vector>(part, at + i);
#pragma unroll
        for (int j = 0; j < vector; ++j)
          sum[i + j] += part[j];
      }
    }
    result.store(result.at(batch, col, n), row, sum);
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_MATMUL_SPLITK_CUH
