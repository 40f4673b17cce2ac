// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instances of Softmax that the tests run and nvcc compiles.
#include "Softmax/Softmax.cuh"
using namespace kiln::cuda;

namespace {
/// Attention's scale and mask in front of the rows.
struct ScaleMask {
  float scale;
  const float *mask;
  long columns;
  template <int V>
  __device__ __forceinline__ void vector(const float (&v)[V], float (&to)[V], long row,
                                         long col) const {
    float m[V];
    loadElements<V>(m, mask + row * columns + col);
#pragma unroll
    for (int i = 0; i < V; ++i)
      to[i] = fmaf(v[i], scale, m[i]);
  }
};
} // namespace

#define KILN_SOFTMAX(name, shape, logarithm, T)                                                    \
  extern "C" __global__ void __launch_bounds__(shape::threads, 1)                                  \
      name(const T *x, T *y, long rows, int columns) {                                             \
    Softmax<shape, logarithm, Identity<float>, Identity<T>>::run(x, y, rows, columns, {}, {});     \
  }
using Eighth = RowShape<8, 16, 4, 1>;
using Warp = RowShape<32, 4, 4, 4>;
using Block = RowShape<128, 1, 4, 4>;
using Wide = RowShape<64, 1, 2, 8>;
KILN_SOFTMAX(softmax_eighth, Eighth, false, float)
KILN_SOFTMAX(softmax_warp, Warp, false, float)
KILN_SOFTMAX(softmax_block, Block, false, float)
KILN_SOFTMAX(log_softmax_block, Block, true, float)
KILN_SOFTMAX(softmax_f16, Wide, false, __half)
KILN_SOFTMAX(softmax_bf16, Wide, false, __nv_bfloat16)

extern "C" __global__ void __launch_bounds__(Warp::threads, 1)
    softmax_masked(const float *x, const float *mask, float *y, long rows, int columns,
                   float scale) {
  Softmax<Warp, false, ScaleMask, Identity<float>>::run(x, y, rows, columns, {scale, mask, columns},
                                                        {});
}
extern "C" __global__ void __launch_bounds__(Block::threads, 1)
    softmax_looped(const float *x, float *y, int columns) {
  SoftmaxLooped<Block, false, Identity<float>, Identity<float>>::run(x, y, columns, {}, {});
}
extern "C" __global__ void __launch_bounds__(Block::threads, 1)
    softmax_parts(const float *x, float *states, int columns, int part) {
  SoftmaxParts<Block, Identity<float>>::run(x, states, columns, part, {});
}
extern "C" __global__ void __launch_bounds__(Block::threads, 1)
    softmax_finish(const float *x, const float *states, float *y, int columns, int part) {
  SoftmaxFinish<Block, false, Identity<float>, Identity<float>>::run(x, states, y, columns, part,
                                                                     {}, {});
}
extern "C" __global__ void __launch_bounds__(128, 1)
    softmax_columns(const float *x, float *y, long outers, int length, long inner) {
  SoftmaxColumns<false, Identity<float>, Identity<float>>::run(x, y, outers, length, inner, {}, {});
}
