//===- Quantize.cuh - Between floats and 8-bit integers ---------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions for Pointwise: the matrix is seen as [outer * axis][inner], so that a scale of the axis
// is one of a row, or as [outer][axis], where it is one of a column.
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_QUANTIZE_CUH
#define KILN_TARGET_CUDA_KERNELS_QUANTIZE_CUH

#include "../Pointwise/Pointwise.cuh"

namespace kiln::cuda {

template <class Q> struct QuantizedRange;
template <> struct QuantizedRange<int8_t> {
  static constexpr int low = -128, high = 127;
};
template <> struct QuantizedRange<uint8_t> {
  static constexpr int low = 0, high = 255;
};

/// saturate(round(x / scale) + zero), ties to even, as ONNX's QuantizeLinear. A NaN becomes the
/// smallest value.
template <class Q> struct QuantizeFunction {
  __device__ __forceinline__ Q operator()(float x, float scale, int zero) const {
    const float low = static_cast<float>(QuantizedRange<Q>::low - zero),
                high = static_cast<float>(QuantizedRange<Q>::high - zero);
    const float steps = fminf(fmaxf(rintf(x / scale), low), high);
    return static_cast<Q>(static_cast<int>(steps) + zero);
  }
};

/// (q - zero) * scale.
struct DequantizeFunction {
  __device__ __forceinline__ float operator()(int q, float scale, int zero) const {
    return static_cast<float>(q - zero) * scale;
  }
};

/// y[row][col] of `x`, with scales and zero points of one row, one column or all.
template <class Shape, class Q, bool perRow, bool perColumn> struct Quantize {
  template <class T>
  __device__ __forceinline__ static void run(const T *x, const float *scale, const Q *zero, Q *y,
                                             long rows, long columns) {
    using Scale = PointwiseOperand<float, perRow, perColumn>;
    using Zero = PointwiseOperand<Q, perRow, perColumn, int>;
    Pointwise<Shape, Q, QuantizeFunction<Q>, PointwiseOperand<T>, Scale, Zero>::run(
        y, rows, columns, {}, {x}, {scale}, {zero});
  }
};
template <class Shape, class Q, bool perRow, bool perColumn> struct Dequantize {
  template <class R>
  __device__ __forceinline__ static void run(const Q *x, const float *scale, const Q *zero, R *y,
                                             long rows, long columns) {
    using Scale = PointwiseOperand<float, perRow, perColumn>;
    using Zero = PointwiseOperand<Q, perRow, perColumn, int>;
    Pointwise<Shape, R, DequantizeFunction, PointwiseOperand<Q, true, true, int>, Scale, Zero>::run(
        y, rows, columns, {}, {x}, {scale}, {zero});
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_QUANTIZE_CUH
