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

/// Weights [group][filter][channel][tap] as operand A.
template <class T, int vector> using ConvWeights = StridedOperand<T, true, vector>;

/// NCHW convolution in fp32 as an implicit product of matrices; x, y, z as matMulLaunch says for
/// convExtents. `group` is tileOf's.
template <class Shape, int weightVector, class Input, class Result> struct SimtConv {
  template <class T, class Geometry>
  __device__ __forceinline__ static void run(const T *weights, const Input &input,
                                             const Result &result, const Geometry &g, int group) {
    const int k = g.channels * g.kernelHeight * g.kernelWidth;
    SimtMatMul<Shape, ConvWeights<T, weightVector>, Input, Result>::run(
        {weights, k, g.filters}, input, result, g.filters, g.images * g.outHeight * g.outWidth, k,
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
