//===- Conv.cuh - Convolutions ----------------------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_CONV_CUH
#define KILN_TARGET_CUDA_KERNELS_CONV_CUH

#include "../MatMul/MatMul.cuh"
#include "Depthwise.cuh"
#include "Im2col.cuh"

namespace kiln::cuda {

/// Weights [group][filter][channel][tap] as operand A. The prologue's row is group * filters +
/// filter.
template <class T, int vector, class Prologue = Identity<float>>
using ConvWeights = StridedOperand<T, true, vector, Prologue>;

/// NCHW convolution as an implicit product of matrices, SimtMatMul or TensorMatMul; x, y, z as
/// matMulLaunch says for convExtents. `group` is tileOf's.
template <template <class, class, class, class> class Product, class Shape, class Weights,
          class Input, class Result>
struct NchwConv {
  template <class Geometry>
  __device__ __forceinline__ static void
  run(const typename Weights::Element *weights, const typename Weights::Prologue &prologue,
      const Input &input, const Result &result, const Geometry &g, int group) {
    const int k = g.channels * g.kernelHeight * g.kernelWidth;
    Product<Shape, Weights, Input, Result>::run({weights, k, g.filters, prologue}, input, result,
                                                g.filters, g.images * g.outHeight * g.outWidth, k,
                                                group);
  }
};

/// NHWC convolution of one group on tensor cores: (image, pixel) x filters, K = tap and channel,
/// weights [filter][tap][channel]. The epilogue's row is image * pixels + pixel, its column the
/// filter. x, y, z as matMulLaunch says for convExtentsNhwc.
template <class Shape, class Result> struct TensorConv {
  template <class T, class Geometry>
  __device__ __forceinline__ static void run(const T *input, const T *weights, const Result &result,
                                             const Geometry &g, int group) {
    using Input = Im2colNhwc<T, Geometry>;
    const int k = g.channels * g.kernelHeight * g.kernelWidth;
    TensorMatMul<Shape, Input, ConvWeights<T, Input::vector>, Result>::run(
        Input{input, g}, {weights, k, g.filters}, result, g.images * g.outHeight * g.outWidth,
        g.filters, k, group);
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_CONV_CUH
