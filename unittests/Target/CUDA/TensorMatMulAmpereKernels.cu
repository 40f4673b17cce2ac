// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instances of the tensor-core product in types that sm_75 does not have.
#include "MatMul/MatMul.cuh"
using namespace kiln::cuda;

#define KILN_TENSOR(name, shape, alongKB, R)                                                       \
  extern "C" __global__ void __launch_bounds__(shape::threads, 1)                                  \
      name(const shape::Stored *a, const shape::Stored *b, R *c, int m, int n, int k, int group) { \
    constexpr int vector = 16 / sizeof(shape::Stored);                                             \
    using A = StridedOperand<shape::Stored, true, vector>;                                         \
    using B = StridedOperand<shape::Stored, alongKB, vector>;                                      \
    using C = RowMajorResult<R, 4>;                                                                \
    TensorMatMul<shape, A, B, C>::run(A{a, k, m}, B{b, alongKB ? k : n, alongKB ? n : k},          \
                                      C{c, m, n}, m, n, k, group);                                 \
  }

using BHalf64 = TensorShape<__nv_bfloat16, 64, 64, 32, 32, 32, 3>;
using Tf64 = TensorShape<kiln::Tf32, 64, 64, 16, 32, 32, 3>;
using Tf64Deep = TensorShape<kiln::Tf32, 64, 64, 32, 32, 32, 3>;
KILN_TENSOR(bf16_64x64x32, BHalf64, false, __nv_bfloat16)
KILN_TENSOR(tf32_64x64x16, Tf64, false, float)
KILN_TENSOR(tf32_64x64x32_nt, Tf64Deep, true, float)
