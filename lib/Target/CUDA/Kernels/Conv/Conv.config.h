//===- Conv.config.h - Configurations of the convolution --------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_CONV_CONFIG_H
#define KILN_TARGET_CUDA_KERNELS_CONV_CONFIG_H

#include "../MatMul/MatMul.config.h"

namespace kiln::cuda {

/// A two-dimensional convolution; one dimension is a height of 1. Kernels take any class with these
/// members: the emitter makes those static that are known when compiling, so that divisions by
/// them become multiplications.
struct ConvGeometry {
  int images, groups;
  /// Of one group.
  int channels, filters;
  int height, width, outHeight, outWidth;
  int kernelHeight = 1, kernelWidth = 1;
  int strideHeight = 1, strideWidth = 1;
  int dilationHeight = 1, dilationWidth = 1;
  int padTop = 0, padLeft = 0;
};

/// The product of matrices that a convolution is: filters x (image, pixel), a batch a group.
constexpr MatMulExtents convExtents(const ConvGeometry &g) {
  return {g.groups, g.filters, static_cast<int64_t>(g.images) * g.outHeight * g.outWidth,
          static_cast<int64_t>(g.channels) * g.kernelHeight * g.kernelWidth};
}

/// Pairs of an output and a tap along one axis whose input exists.
constexpr int64_t insideTaps(int outputs, int taps, int stride, int dilation, int pad, int extent) {
  int64_t count = 0;
  for (int tap = 0; tap < taps; ++tap)
    for (int out = 0; out < outputs; ++out) {
      int at = out * stride + tap * dilation - pad;
      count += at >= 0 && at < extent;
    }
  return count;
}

/// Elements of the gathered matrix that are read, rather than being padding.
constexpr int64_t gatheredElements(const ConvGeometry &g) {
  return insideTaps(g.outHeight, g.kernelHeight, g.strideHeight, g.dilationHeight, g.padTop,
                    g.height) *
         insideTaps(g.outWidth, g.kernelWidth, g.strideWidth, g.dilationWidth, g.padLeft, g.width) *
         g.channels * g.groups * g.images;
}

/// The same for NHWC on tensor cores, transposed; one group.
constexpr MatMulExtents convExtentsNhwc(const ConvGeometry &g) {
  MatMulExtents e = convExtents(g);
  return {1, e.n, e.m, e.k};
}

/// The gathered input once a column of tiles, weights once a row of tiles.
template <class Config>
constexpr Traffic convTrafficNhwc(const Config &config, const ConvGeometry &g, int elementBytes,
                                  int resultBytes) {
  MatMulExtents e = convExtentsNhwc(g);
  int64_t weights = e.n * e.k * elementBytes, results = e.m * e.n * resultBytes;
  int64_t input = static_cast<int64_t>(g.images) * g.channels * g.height * g.width * elementBytes;
  return {gatheredElements(g) * elementBytes * ceilDiv(e.n, config.tileN) +
              weights * ceilDiv(e.m, config.tileM),
          results, input + weights, results};
}

/// Weights once a column of tiles, the gathered input once a row of tiles.
template <class Config>
constexpr Traffic convTraffic(const Config &config, const ConvGeometry &g, int splits,
                              int elementBytes, int resultBytes) {
  MatMulExtents e = convExtents(g);
  int64_t weights = e.batches * e.m * e.k * elementBytes;
  int64_t input =
      static_cast<int64_t>(g.images) * g.groups * g.channels * g.height * g.width * elementBytes;
  int64_t results = e.batches * e.m * e.n * (splits == 1 ? resultBytes : 4 * splits);
  return {weights * ceilDiv(e.n, config.tileN) +
              gatheredElements(g) * elementBytes * ceilDiv(e.m, config.tileM),
          results, weights + input, results};
}

/// Depthwise: a block computes tileHeight x tileWidth outputs of one plane from a staged window.
struct DepthwiseConfig {
  int tileHeight, tileWidth, threads;

  constexpr int windowHeight(const ConvGeometry &g) const {
    return (tileHeight - 1) * g.strideHeight + (g.kernelHeight - 1) * g.dilationHeight + 1;
  }
  constexpr int windowWidth(const ConvGeometry &g) const {
    return (tileWidth - 1) * g.strideWidth + (g.kernelWidth - 1) * g.dilationWidth + 1;
  }
  constexpr int sharedBytes(const ConvGeometry &g) const {
    return windowHeight(g) * windowWidth(g) * 4;
  }
  constexpr LaunchShape launch(const ConvGeometry &g) const {
    int64_t tiles = ceilDiv(g.outHeight, tileHeight) * ceilDiv(g.outWidth, tileWidth);
    return {{tiles * g.images * g.groups * g.filters, 1, 1}, threads, sharedBytes(g)};
  }
  constexpr bool legal() const {
    return tileHeight >= 1 && tileWidth >= 1 && threads % warpLanes == 0 && threads >= warpLanes &&
           threads <= 1024;
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_CONV_CONFIG_H
