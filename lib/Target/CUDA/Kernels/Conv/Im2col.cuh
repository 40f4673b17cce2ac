//===- Im2col.cuh - A convolution's operands of a product -------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_CONV_IM2COL_CUH
#define KILN_TARGET_CUDA_KERNELS_CONV_IM2COL_CUH

#include "../MatMul/Operands.cuh"
#include "Conv.config.h"

namespace kiln::cuda {

/// The gathered input of NCHW as operand (outer = image and pixel, k = channel and tap), a batch a
/// group; it exists only as addresses. The prologue's row is image * all channels + channel, its
/// column the place in the plane; padding is zero behind the prologue. More than one element at
/// once only for 1 x 1 kernels of stride 1 without padding, over planes of whole vectors.
template <class T, class Geometry, int vector_ = 1, class Prologue = Identity<float>>
struct Im2colNchw {
  static constexpr bool alongK = false;
  static constexpr int vector = vector_;
  using Element = T;

  template <class> static constexpr bool isChunked = false;

  const T *input;
  Geometry g;
  Prologue prologue{};

  struct Position {
    /// Of the group's first channel in the image: a row of NCHW.
    long row;
    int top, left;
    bool inside;
  };

  __device__ __forceinline__ Position position(int group, int outer, int outerEnd) const {
    const int pixels = g.outHeight * g.outWidth, image = outer / pixels,
              pixel = outer - image * pixels, y = pixel / g.outWidth, x = pixel - y * g.outWidth;
    return {(static_cast<long>(image) * g.groups + group) * g.channels,
            y * g.strideHeight - g.padTop, x * g.strideWidth - g.padLeft, outer < outerEnd};
  }

  template <class F>
  __device__ __forceinline__ void load(F (&to)[vector_], const Position &p, int k, int kEnd) const {
    const int taps = g.kernelHeight * g.kernelWidth, channel = k / taps, tap = k - channel * taps,
              tapY = tap / g.kernelWidth, tapX = tap - tapY * g.kernelWidth;
    const int y = p.top + tapY * g.dilationHeight, x = p.left + tapX * g.dilationWidth;
    // Unsigned: a negative place is outside as well.
    if (p.inside && k < kEnd && static_cast<unsigned>(y) < static_cast<unsigned>(g.height) &&
        static_cast<unsigned>(x) < static_cast<unsigned>(g.width)) {
      const long row = p.row + channel, col = static_cast<long>(y) * g.width + x;
      loadThrough<vector_>(to, input, row * g.height * g.width + col, prologue, row, col);
    } else {
#pragma unroll
      for (int i = 0; i < vector_; ++i)
        to[i] = F(0);
    }
  }
};

/// The gathered input of NHWC for tensor cores: operand (outer = image and pixel, k = tap and
/// channel), in chunks of 16 bytes that lie within one tap: channels are whole chunks. One group.
template <class T, class Geometry> struct Im2colNhwc {
  static constexpr bool alongK = true;
  static constexpr int vector = vectorBytes / static_cast<int>(sizeof(T));
  using Element = T;
  template <class Stored> static constexpr bool isChunked = IsSame<T, Stored>::value;

  const T *data;
  Geometry g;

  struct Position {
    /// Of the image's first pixel.
    long pixel;
    int top, left;
    bool inside;
  };
  __device__ __forceinline__ Position position(int, int outer, int outerEnd) const {
    const int pixels = g.outHeight * g.outWidth, image = outer / pixels,
              pixel = outer - image * pixels, y = pixel / g.outWidth, x = pixel - y * g.outWidth;
    return {static_cast<long>(image) * g.height * g.width, y * g.strideHeight - g.padTop,
            x * g.strideWidth - g.padLeft, outer < outerEnd};
  }
  __device__ __forceinline__ const T *chunk(const Position &p, int k, int kEnd) const {
    const int tap = k / g.channels, channel = k - tap * g.channels, tapY = tap / g.kernelWidth,
              tapX = tap - tapY * g.kernelWidth;
    const int y = p.top + tapY * g.dilationHeight, x = p.left + tapX * g.dilationWidth;
    if (!p.inside || k >= kEnd || static_cast<unsigned>(y) >= static_cast<unsigned>(g.height) ||
        static_cast<unsigned>(x) >= static_cast<unsigned>(g.width))
      return nullptr;
    return data + (p.pixel + static_cast<long>(y) * g.width + x) * g.channels + channel;
  }
};

/// The result in NCHW. The epilogue's row is image * all filters + filter, its column the pixel.
/// Vectors do not cross images: planes are whole vectors.
template <class T, class Geometry, int vector_ = 1, class Epilogue = Identity<T>>
struct NchwResult {
  T *data;
  Geometry g;
  Epilogue epilogue{};

  struct Columns {
    long row0;
    int pixel, count;
  };
  __device__ __forceinline__ Columns at(int group, int col, int colEnd) const {
    const int pixels = g.outHeight * g.outWidth, image = col / pixels;
    return {(static_cast<long>(image) * g.groups + group) * g.filters, col - image * pixels,
            colEnd - col};
  }

  template <class F>
  __device__ __forceinline__ void store(const Columns &c, int filter, const F (&acc)[4]) const {
    const int pixels = g.outHeight * g.outWidth;
    long row = c.row0 + filter;
    int pixel = c.pixel;
#pragma unroll
    for (int i = 0; i < 4; i += vector_) {
      if (i >= c.count)
        return;
      F part[vector_];
#pragma unroll
      for (int j = 0; j < vector_; ++j)
        part[j] = acc[i + j];
      T result[vector_];
      applyFunctor<vector_>(epilogue, part, result, row, pixel);
      storeElements<vector_>(data + row * pixels + pixel, result);
      pixel += vector_;
      if (pixel == pixels) {
        pixel = 0;
        row += static_cast<long>(g.groups) * g.filters;
      }
    }
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_CONV_IM2COL_CUH
