//===- Depthwise.cuh - Convolution of single channels -----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_CONV_DEPTHWISE_CUH
#define KILN_TARGET_CUDA_KERNELS_CONV_DEPTHWISE_CUH

#include "../Common/Functors.cuh"
#include "Conv.config.h"

namespace kiln::cuda {

template <int tileHeight, int tileWidth, int threads_> struct DepthwiseShape {
  static constexpr DepthwiseConfig config{tileHeight, tileWidth, threads_};
  static_assert(config.legal(), "not a configuration of Depthwise");
  static constexpr int threads = threads_;
};

/// One input channel a group, `filters` outputs of it, NCHW, fp32 sums in the order of the taps.
/// A block stages the window of one tile of one output plane, zeros for the padding. The functors'
/// places are those of Im2colNchw and NchwResult. x = (plane, tile).
template <class Shape, class T, class Geometry, class Prologue, class Epilogue> struct Depthwise {
  static constexpr DepthwiseConfig config = Shape::config;

  template <class R>
  __device__ __forceinline__ static void run(const T *input, const T *weights, R *result,
                                             const Geometry &g, const Prologue &prologue,
                                             const Epilogue &epilogue) {
    float *window = reinterpret_cast<float *>(dynamicShared());
    const int windowHeight =
        (config.tileHeight - 1) * g.strideHeight + (g.kernelHeight - 1) * g.dilationHeight + 1;
    const int windowWidth =
        (config.tileWidth - 1) * g.strideWidth + (g.kernelWidth - 1) * g.dilationWidth + 1;
    const int tilesX = (g.outWidth + config.tileWidth - 1) / config.tileWidth,
              tilesY = (g.outHeight + config.tileHeight - 1) / config.tileHeight;
    const long plane = blockIdx.x / (tilesX * tilesY);
    const int tile = blockIdx.x % (tilesX * tilesY), outY = tile / tilesX * config.tileHeight,
              outX = tile % tilesX * config.tileWidth;
    const int filter = static_cast<int>(plane % (static_cast<long>(g.groups) * g.filters));
    const long row = plane / g.filters; // of the input: image * groups + group

    const int top = outY * g.strideHeight - g.padTop, left = outX * g.strideWidth - g.padLeft;
    for (int i = threadIdx.x; i < windowHeight * windowWidth; i += Shape::threads) {
      const int y = top + i / windowWidth, x = left + i % windowWidth;
      float v = 0;
      if (static_cast<unsigned>(y) < static_cast<unsigned>(g.height) &&
          static_cast<unsigned>(x) < static_cast<unsigned>(g.width)) {
        const long col = static_cast<long>(y) * g.width + x;
        v = elementThrough(input, row * g.height * g.width + col, prologue, row, col);
      }
      window[i] = v;
    }
    __syncthreads();

    const T *taps = weights + static_cast<long>(filter) * g.kernelHeight * g.kernelWidth;
    for (int i = threadIdx.x; i < config.tileHeight * config.tileWidth; i += Shape::threads) {
      const int inY = i / config.tileWidth, inX = i % config.tileWidth;
      if (outY + inY >= g.outHeight || outX + inX >= g.outWidth)
        continue;
      float acc = 0;
      for (int y = 0; y < g.kernelHeight; ++y)
        for (int x = 0; x < g.kernelWidth; ++x)
          acc = fmaf(window[(inY * g.strideHeight + y * g.dilationHeight) * windowWidth +
                            inX * g.strideWidth + x * g.dilationWidth],
                     convertTo<float>(taps[y * g.kernelWidth + x]), acc);
      const long col = static_cast<long>(outY + inY) * g.outWidth + outX + inX;
      result[plane * g.outHeight * g.outWidth + col] = epilogue(acc, plane, col);
    }
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_CONV_DEPTHWISE_CUH
