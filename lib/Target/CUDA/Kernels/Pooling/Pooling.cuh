//===- Pooling.cuh - Maximum and average over windows -----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_POOLING_CUH
#define KILN_TARGET_CUDA_KERNELS_POOLING_CUH

#include "../Common/Functors.cuh"
#include "Pooling.config.h"

namespace kiln::cuda {

/// What a window becomes.
struct MaxPool {
  float value = -INFINITY;
  __device__ __forceinline__ void add(float v) { value = Max{}(value, v); }
  __device__ __forceinline__ float result(int) const { return value; }
};
struct SumPool {
  float sum = 0;
  __device__ __forceinline__ void add(float v) { sum += v; }
  __device__ __forceinline__ float result(int) const { return sum; }
};
struct AveragePool {
  float sum = 0;
  __device__ __forceinline__ void add(float v) { sum += v; }
  __device__ __forceinline__ float result(int count) const {
    return sum / static_cast<float>(count);
  }
};

/// A thread takes one result; windows overlap in the L1 cache. The functors' row is the plane, the
/// column the place in it. `countPadding`: padding counts as zeros in the divisor, but not what a
/// window reaches beyond it.
template <class Kind, bool countPadding, class Geometry, class Prologue, class Epilogue>
struct Pooling {
  template <class T, class R>
  __device__ __forceinline__ static void run(const T *x, R *y, const Geometry &g,
                                             const Prologue &prologue, const Epilogue &epilogue) {
    const int pixels = g.outHeight * g.outWidth;
    const long index = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (index >= static_cast<long>(g.planes) * pixels)
      return;
    const long plane = index / pixels;
    const int pixel = static_cast<int>(index - plane * pixels), outY = pixel / g.outWidth,
              top = outY * g.strideHeight - g.padTop,
              left = (pixel - outY * g.outWidth) * g.strideWidth - g.padLeft;
    Kind window;
    int count = 0;
    for (int tapY = 0; tapY < g.kernelHeight; ++tapY) {
      const int y0 = top + tapY * g.dilationHeight;
      if (y0 >= g.height + g.padBottom)
        continue;
      for (int tapX = 0; tapX < g.kernelWidth; ++tapX) {
        const int x0 = left + tapX * g.dilationWidth;
        if (x0 >= g.width + g.padRight)
          continue;
        const bool inside = static_cast<unsigned>(y0) < static_cast<unsigned>(g.height) &&
                            static_cast<unsigned>(x0) < static_cast<unsigned>(g.width);
        count += inside || countPadding;
        if (inside) {
          const long col = static_cast<long>(y0) * g.width + x0;
          window.add(elementThrough(x, plane * g.height * g.width + col, prologue, plane, col));
        }
      }
    }
    y[index] = epilogue(window.result(count), plane, pixel);
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_POOLING_CUH
