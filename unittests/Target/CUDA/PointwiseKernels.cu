// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instances of Pointwise, Quantize, Gather and Transpose that the tests run and nvcc compiles.
#include "Gather/Gather.cuh"
#include "Pointwise/Pointwise.cuh"
#include "Quantize/Quantize.cuh"
#include "Transpose/Transpose.cuh"
using namespace kiln::cuda;

namespace {
struct MultiplyAdd {
  __device__ __forceinline__ float operator()(float a, float b, float c) const {
    return fmaf(a, b, c);
  }
};
struct Negate {
  __device__ __forceinline__ float operator()(float v, long, long) const { return -v; }
};
/// The bits themselves.
struct Move {
  template <class T> __device__ __forceinline__ T operator()(T v, long, long) const { return v; }
};
} // namespace

using Vector4 = PointwiseShape<128, 4, 2>;
using Single = PointwiseShape<64, 1, 3>;
using Vector8 = PointwiseShape<64, 8, 1>;
using Vector16 = PointwiseShape<32, 16, 1>;

// a is a matrix, b one row, c one column.
extern "C" __global__ void __launch_bounds__(Vector4::threads, 1)
    multiply_add(const float *a, const float *b, const float *c, float *y, long rows,
                 long columns) {
  Pointwise<Vector4, float, MultiplyAdd, PointwiseOperand<float>,
            PointwiseOperand<float, false, true>,
            PointwiseOperand<float, true, false>>::run(y, rows, columns, {}, {a}, {b}, {c});
}
extern "C" __global__ void __launch_bounds__(Single::threads, 1)
    multiply_add_single(const float *a, const float *b, const float *c, float *y, long rows,
                        long columns) {
  Pointwise<Single, float, MultiplyAdd, PointwiseOperand<float>,
            PointwiseOperand<float, false, true>,
            PointwiseOperand<float, true, false>>::run(y, rows, columns, {}, {a}, {b}, {c});
}
extern "C" __global__ void __launch_bounds__(Vector8::threads, 1)
    multiply_add_f16(const __half *a, const __half *b, const __half *c, __half *y, long rows,
                     long columns) {
  Pointwise<Vector8, __half, MultiplyAdd, PointwiseOperand<__half>,
            PointwiseOperand<__half, false, true>,
            PointwiseOperand<__half, true, false>>::run(y, rows, columns, {}, {a}, {b}, {c});
}
extern "C" __global__ void __launch_bounds__(Vector16::threads, 1)
    quantize(const float *x, const float *scale, const int8_t *zero, int8_t *y, long rows,
             long columns) {
  Quantize<Vector16, int8_t, false, true>::run(x, scale, zero, y, rows, columns);
}
extern "C" __global__ void __launch_bounds__(Vector4::threads, 1)
    quantize_u8(const float *x, const float *scale, const uint8_t *zero, uint8_t *y, long rows,
                long columns) {
  Quantize<Vector4, uint8_t, false, false>::run(x, scale, zero, y, rows, columns);
}
extern "C" __global__ void __launch_bounds__(Vector16::threads, 1)
    dequantize(const int8_t *x, const float *scale, const int8_t *zero, float *y, long rows,
               long columns) {
  Dequantize<Vector16, int8_t, true, false>::run(x, scale, zero, y, rows, columns);
}

extern "C" __global__ void __launch_bounds__(Vector4::threads, 1)
    gather(const float *data, const int64_t *index, float *y, long outers, long axis, long inner,
           long indices) {
  Gather<Vector4, float, Negate>::run(data, index, y, outers, axis, inner, indices, {});
}
extern "C" __global__ void __launch_bounds__(Single::threads, 1)
    gather_bytes(const uint8_t *data, const int *index, uint8_t *y, long outers, long axis,
                 long inner, long indices) {
  Gather<Single, uint8_t, Move>::run(data, index, y, outers, axis, inner, indices, {});
}

#define KILN_TRANSPOSE(name, T, Prologue)                                                          \
  extern "C" __global__ void __launch_bounds__(256, 1)                                             \
      name(const T *x, T *y, int batches, int rows, int columns) {                                 \
    Transpose<8, Prologue>::run(x, y, batches, rows, columns, Prologue{});                         \
  }
KILN_TRANSPOSE(transpose_f32, float, Negate)
KILN_TRANSPOSE(transpose_b8, uint8_t, Move)
KILN_TRANSPOSE(transpose_b16, uint16_t, Move)
KILN_TRANSPOSE(transpose_b64, int64_t, Move)
