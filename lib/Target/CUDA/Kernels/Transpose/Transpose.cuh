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

/// y[batch][col][row] = x[batch][row][col] through shared memory, so that both sides move whole
/// lines. The prologue's places are x's, all batches one below the other; T may be any type that
/// one instruction moves, R what the prologue returns.
template <int warps, class Prologue> struct Transpose {
  static constexpr TransposeConfig config{warps};
  static_assert(config.legal(), "not a configuration of Transpose");
  static constexpr int threads = config.threads(), tile = config.tile;
  template <class R> static constexpr int pitch = TransposeConfig::pitch(sizeof(R));

  template <class T, class R>
  __device__ __forceinline__ static void run(const T *x, R *y, int batches, int rows, int columns,
                                             const Prologue &prologue) {
    __shared__ R staged[tile][pitch<R>];
    const int tilesX = (columns + tile - 1) / tile, lane = threadIdx.x % tile,
              warp = threadIdx.x / tile;
    const int row0 = static_cast<int>(blockIdx.x) / tilesX * tile,
              col0 = static_cast<int>(blockIdx.x) % tilesX * tile;
    for (int batch = blockIdx.y; batch < batches; batch += gridDim.y) {
      const long matrix = static_cast<long>(batch) * rows * columns;
#pragma unroll
      for (int i = warp; i < tile; i += warps) {
        const int row = row0 + i, col = col0 + lane;
        if (row < rows && col < columns)
          staged[i][lane] = prologue(x[matrix + static_cast<long>(row) * columns + col],
                                     static_cast<long>(batch) * rows + row, col);
      }
      __syncthreads();
#pragma unroll
      for (int i = warp; i < tile; i += warps) {
        const int row = row0 + lane, col = col0 + i;
        if (row < rows && col < columns)
          y[matrix + static_cast<long>(col) * rows + row] = staged[lane][i];
      }
      __syncthreads();
    }
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_TRANSPOSE_CUH
