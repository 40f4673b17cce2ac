// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instances of the tensor-core product that the tests run and nvcc compiles. Architectures without
// bf16 and tf32 products skip those (TensorMatMulAmpereKernels.cu).
#include "MatMul/MatMul.cuh"
using namespace kiln::cuda;

namespace {
struct BiasGelu {
  const float *bias;
  __device__ __forceinline__ __half operator()(float acc, long, long col) const {
    const float x = acc + bias[col];
    return __float2half_rn(0.5f * x * (1.0f + erff(x * 0.70710678f)));
  }
};
} // namespace

#define KILN_TENSOR(name, shape, alongKA, alongKB, R, Epilogue, epilogueArgument, init)            \
  extern "C" __global__ void __launch_bounds__(shape::threads, 1)                                  \
      name(const shape::Stored *a, const shape::Stored *b, R *c, epilogueArgument, int m, int n,   \
           int k, int group) {                                                                     \
    constexpr int vector = 16 / sizeof(shape::Stored);                                             \
    using A = StridedOperand<shape::Stored, alongKA, vector>;                                      \
    using B = StridedOperand<shape::Stored, alongKB, vector>;                                      \
    using C = RowMajorResult<R, 4, Epilogue>;                                                      \
    TensorMatMul<shape, A, B, C>::run(A{a, alongKA ? k : m, alongKA ? m : k},                      \
                                      B{b, alongKB ? k : n, alongKB ? n : k}, C{c, m, n, init}, m, \
                                      n, k, group);                                                \
  }

using Half128 = TensorShape<__half, 128, 128, 32, 64, 32, 4>;
using Half64 = TensorShape<__half, 64, 64, 32, 32, 32, 3>;
using Half64Deep = TensorShape<__half, 64, 64, 64, 32, 32, 2>;
using Bytes64 = TensorShape<int8_t, 64, 64, 64, 32, 32, 3>;

KILN_TENSOR(f16_128x128x32, Half128, true, false, __half, BiasGelu, const float *bias, {bias})
KILN_TENSOR(f16_64x64x32, Half64, true, false, __half, BiasGelu, const float *bias, {bias})
KILN_TENSOR(f16_64x64x64_nt, Half64Deep, true, true, __half, BiasGelu, const float *bias, {bias})
KILN_TENSOR(f16_64x64x32_tn, Half64, false, false, __half, BiasGelu, const float *bias, {bias})
KILN_TENSOR(s8_64x64x64, Bytes64, true, true, int, Identity<int>, const float *, {})

/// Reads fp32 by itself: neither operand lies in memory in chunks of halves.
struct FromFloats {
  const float *data;
  long columns;
  __device__ __forceinline__ float operator()(long row, long col) const {
    return data[row * columns + col];
  }
};
extern "C" __global__ void __launch_bounds__(Half64::threads, 1)
    f16_gathered(const float *a, const float *b, float *c, int m, int n, int k) {
  using A = StridedOperand<float, true, 1>;
  using B = StridedOperand<float, false, 1, FromFloats>;
  using C = RowMajorResult<float, 1, Identity<float>>;
  TensorMatMul<Half64, A, B, C>::run(A{a, k, m}, B{nullptr, n, k, {b, n}}, C{c, m, n, {}}, m, n, k,
                                     2);
}
extern "C" __global__ void __launch_bounds__(Half64::threads, 1)
    f16_split(const __half *a, const __half *b, float *workspace, int m, int n, int k) {
  using A = StridedOperand<__half, true, 8>;
  using B = StridedOperand<__half, false, 8>;
  using C = PartialResult<float, 4>;
  TensorMatMul<Half64, A, B, C>::run(A{a, k, m}, B{b, n, k}, C{workspace, m, n}, m, n, k, 4);
}
extern "C" __global__ void __launch_bounds__(128, 1)
    f16_split_sum(const float *workspace, __half *c, const float *bias, int m, int n, int splits) {
  using C = RowMajorResult<__half, 4, BiasGelu>;
  SplitKSum<float, 4, C>::run(workspace, C{c, m, n, {bias}}, m, n, splits);
}
