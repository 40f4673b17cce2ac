// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instances of NormLinear that the tests run and nvcc compiles.
#include "NormLinear/NormLinear.cuh"
using namespace kiln::cuda;

namespace {
struct Gelu {
  __device__ __forceinline__ float operator()(float x, long, long) const {
    return 0.5f * x * (1.0f + erff(x * 0.70710678f));
  }
};
/// What stands between a norm and a product.
template <class Activation> struct Scaled {
  const float *scale, *bias;
  template <int V>
  __device__ __forceinline__ void vector(const float (&x)[V], float (&to)[V], long row,
                                         long col) const {
    float s[V], b[V];
    loadElements<V>(s, scale + col);
    loadElements<V>(b, bias + col);
#pragma unroll
    for (int i = 0; i < V; ++i)
      to[i] = Activation{}(fmaf(x[i], s[i], b[i]), row, col + i);
  }
};
struct Negate {
  __device__ __forceinline__ float operator()(float v, long, long) const { return -v; }
};
} // namespace

using Shape = NormLinearShape<64, 64, 16, 4, 4>;
#define KILN_NORM_LINEAR(name, centred, Activation, vector)                                        \
  extern "C" __global__ void __launch_bounds__(Shape::threads, 1)                                  \
      name(const float *x, const float *scale, const float *bias, const float *b, float *y, int m, \
           int n, int k) {                                                                         \
    using B = StridedOperand<float, false, vector>;                                                \
    using C = RowMajorResult<float, vector, Negate>;                                               \
    NormLinear<Shape, centred, vector, Identity<float>, Scaled<Activation>, B, C>::run(            \
        x, 1e-5f, B{b, n, k}, C{y, m, n}, m, n, k, 2, {}, {scale, bias});                          \
  }
KILN_NORM_LINEAR(layer_norm_gelu_linear, true, Gelu, 4)
KILN_NORM_LINEAR(rms_norm_linear, false, Identity<float>, 1)
