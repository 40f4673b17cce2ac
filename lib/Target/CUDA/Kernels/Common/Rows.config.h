//===- Rows.config.h - Configurations of kernels over rows ------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_COMMON_ROWS_CONFIG_H
#define KILN_TARGET_CUDA_KERNELS_COMMON_ROWS_CONFIG_H

#include "Config.h"

namespace kiln::cuda {

/// Rows of a row-major matrix: a part of a warp, a warp, or a whole block takes one. Registers hold
/// `vectors` vectors of `vector` elements of it in each thread.
struct RowConfig {
  int threadsPerRow, rowsPerBlock, vectors, vector;

  constexpr int threads() const { return threadsPerRow * rowsPerBlock; }
  /// The longest row that registers hold.
  constexpr int capacity() const { return threadsPerRow * vectors * vector; }
  constexpr bool legal() const {
    return isPowerOfTwo(threadsPerRow) && isPowerOfTwo(vector) && vector <= 16 && vectors >= 1 &&
           vectors * vector <= 64 && threads() % warpLanes == 0 && threads() <= 1024 &&
           (threadsPerRow <= warpLanes || rowsPerBlock == 1);
  }
  constexpr LaunchShape launch(int64_t rows) const {
    return {{ceilDiv(rows, rowsPerBlock), 1, 1}, threads(), 0};
  }
};

/// A matrix read `reads` times and written once, besides what functors read.
constexpr Traffic rowTraffic(int64_t rows, int64_t columns, int reads, int elementBytes,
                             int resultBytes) {
  int64_t in = rows * columns * elementBytes, out = rows * columns * resultBytes;
  return {in * reads, out, in, out};
}

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_COMMON_ROWS_CONFIG_H
