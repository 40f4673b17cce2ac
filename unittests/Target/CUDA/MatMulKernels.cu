// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instances of MatMul that the tests run and nvcc compiles.
#include "MatMul/MatMul.cuh"
using namespace kiln::cuda;

namespace {
/// What a fusion's region would become.
struct BiasRelu {
  const float *bias;
  __device__ __forceinline__ float operator()(float acc, long, long col) const {
    float v = acc + bias[col];
    return v < 0 ? 0 : v;
  }
};
struct Residual {
  const float *residual;
  long columns;
  template <int V>
  __device__ __forceinline__ void vector(const float (&acc)[V], float (&to)[V], long row,
                                         long col) const {
    float r[V];
    loadElements<V>(r, residual + row * columns + col);
#pragma unroll
    for (int i = 0; i < V; ++i)
      to[i] = acc[i] + r[i];
  }
};
/// Matrices of [batch][row][head][column], the heads of a batch one below the other.
struct HeadRows {
  const float *data;
  long heads, rows, columns;
  __device__ __forceinline__ const float *at(long row, long col) const {
    const long matrix = row / rows;
    return data + ((matrix / heads * rows + row % rows) * heads + matrix % heads) * columns + col;
  }
};
/// An element that is computed where it is asked for.
struct Doubled {
  const float *data;
  long columns;
  __device__ __forceinline__ float operator()(long row, long col) const {
    return 2 * data[row * columns + col];
  }
};
struct Scale {
  float by;
  __device__ __forceinline__ float operator()(float v, long, long) const { return v * by; }
};
} // namespace

#define KILN_SIMT(name, shape, alongKA, va, alongKB, vb, vc)                                       \
  extern "C" __global__ void __launch_bounds__(shape::threads, 1)                                  \
      name(const float *a, const float *b, float *c, const float *bias, int m, int n, int k,       \
           int group) {                                                                            \
    using A = StridedOperand<float, alongKA, va>;                                                  \
    using B = StridedOperand<float, alongKB, vb>;                                                  \
    using C = RowMajorResult<float, vc, BiasRelu>;                                                 \
    SimtMatMul<shape, A, B, C>::run(A{a, alongKA ? k : m, alongKA ? m : k},                        \
                                    B{b, alongKB ? k : n, alongKB ? n : k}, C{c, m, n, {bias}}, m, \
                                    n, k, group);                                                  \
  }

using Large = SimtShape<128, 128, 8, 8, 8>;
using Medium = SimtShape<64, 64, 16, 4, 8>;
using Small = SimtShape<32, 32, 32, 4, 4>;
KILN_SIMT(simt_128x128x8_v4, Large, true, 4, false, 4, 4)
KILN_SIMT(simt_64x64x16_v1, Medium, true, 1, false, 1, 1)
KILN_SIMT(simt_64x64x16_v2_tt, Medium, false, 2, true, 2, 2)
KILN_SIMT(simt_32x32x32_v4_nt, Small, true, 4, true, 4, 4)

extern "C" __global__ void __launch_bounds__(Medium::threads, 1)
    simt_heads(const float *a, const float *b, float *c, int heads, int m, int n, int k) {
  using A = StridedOperand<float, true, 4, HeadRows>;
  using B = StridedOperand<float, false, 1, Doubled>;
  using C = RowMajorResult<float, 4, Identity<float>>;
  SimtMatMul<Medium, A, B, C>::run(A{a, k, m, {a, heads, m, k}}, B{nullptr, n, k, {b, n}},
                                   C{c, m, n, {}}, m, n, k, 4);
}
extern "C" __global__ void __launch_bounds__(Medium::threads, 1)
    simt_split(const float *a, const float *b, float *workspace, int m, int n, int k) {
  using A = StridedOperand<float, true, 4, Scale>;
  using B = StridedOperand<float, false, 4, Identity<float>, SharedByBatches>;
  using C = PartialResult<float, 4>;
  SimtMatMul<Medium, A, B, C>::run(A{a, k, m, {0.5f}}, B{b, n, k}, C{workspace, m, n}, m, n, k, 4);
}
extern "C" __global__ void __launch_bounds__(128, 1)
    simt_split_sum(const float *workspace, float *c, const float *residual, int m, int n,
                   int splits) {
  using C = RowMajorResult<float, 4, Residual>;
  SplitKSum<float, 4, C>::run(workspace, C{c, m, n, {residual, n}}, m, n, splits);
}

using Skinny = SkinnyShape<4, 4, 4>;
extern "C" __global__ void __launch_bounds__(Skinny::threads, 1)
    skinny(const float *a, const float *b, float *c, const float *bias, int m, int n, int k) {
  using A = StridedOperand<float, true, 1>;
  using B = StridedOperand<float, false, 4>;
  using C = RowMajorResult<float, 4, BiasRelu>;
  SkinnyMatMul<Skinny, A, B, C>::run(A{a, k, m}, B{b, n, k}, C{c, m, n, {bias}}, m, n, k);
}
extern "C" __global__ void __launch_bounds__(Skinny::threads, 1)
    skinny_nt(const float *a, const float *b, float *c, const float *bias, int m, int n, int k) {
  using A = StridedOperand<float, true, 4>;
  using B = StridedOperand<float, true, 4>;
  using C = RowMajorResult<float, 1, BiasRelu>;
  SkinnyMatMulAlongK<Skinny, A, B, C>::run(A{a, k, m}, B{b, k, n}, C{c, m, n, {bias}}, m, n, k);
}
