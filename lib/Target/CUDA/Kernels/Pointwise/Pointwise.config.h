//===- Pointwise.config.h - Configurations of pointwise kernels -*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_POINTWISE_CONFIG_H
#define KILN_TARGET_CUDA_KERNELS_POINTWISE_CONFIG_H

#include "../Common/Config.h"

namespace kiln::cuda {

/// A row-major matrix in vectors; a thread takes `perThread` of them, a block's width apart.
struct PointwiseConfig {
  int threads, vector, perThread;

  constexpr bool legal() const {
    return threads % warpLanes == 0 && threads >= warpLanes && threads <= 1024 &&
           isPowerOfTwo(vector) && vector <= 16 && perThread >= 1 && perThread <= 16;
  }
  constexpr LaunchShape launch(int64_t rows, int64_t columns) const {
    return {{ceilDiv(rows * (columns / vector), static_cast<int64_t>(threads) * perThread), 1, 1},
            threads,
            0};
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_POINTWISE_CONFIG_H
