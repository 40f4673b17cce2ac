//===- Pooling.config.h - Configurations of pooling -------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_POOLING_CONFIG_H
#define KILN_TARGET_CUDA_KERNELS_POOLING_CONFIG_H

#include "../Common/Config.h"

namespace kiln::cuda {

/// Windows over planes of NCHW; `planes` is images * channels. As with ConvGeometry, kernels take
/// any class with these members.
struct PoolGeometry {
  int planes;
  int height, width, outHeight, outWidth;
  int kernelHeight = 1, kernelWidth = 1;
  int strideHeight = 1, strideWidth = 1;
  int dilationHeight = 1, dilationWidth = 1;
  int padTop = 0, padLeft = 0, padBottom = 0, padRight = 0;
};

/// A thread takes one result.
constexpr LaunchShape poolingLaunch(const PoolGeometry &g, int threads) {
  return {{ceilDiv(static_cast<int64_t>(g.planes) * g.outHeight * g.outWidth, threads), 1, 1},
          threads,
          0};
}

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_POOLING_CONFIG_H
