// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instances of LayerNorm that the tests run and nvcc compiles.
#include "LayerNorm/LayerNorm.cuh"
using namespace kiln::cuda;

namespace {
/// x + residual, kept for the next residual: skip-layer-norm.
struct AddResidual {
  const float *residual;
  float *sum;
  long columns;
  template <int V>
  __device__ __forceinline__ void vector(const float (&v)[V], float (&to)[V], long row,
                                         long col) const {
    loadElements<V>(to, residual + row * columns + col);
#pragma unroll
    for (int i = 0; i < V; ++i)
      to[i] += v[i];
    storeElements<V>(sum + row * columns + col, to);
  }
};
struct KeepStatistics {
  float *mean, *scale;
  __device__ __forceinline__ void operator()(float m, float s, long row) const {
    mean[row] = m;
    scale[row] = s;
  }
};
} // namespace

using Warp = RowShape<32, 4, 2, 4>;
using Block = RowShape<256, 1, 3, 1>;
using Wide = RowShape<128, 1, 1, 8>;

extern "C" __global__ void __launch_bounds__(Warp::threads, 1)
    layer_norm_warp(const float *x, float *y, const float *scale, const float *bias, long rows,
                    int columns) {
  LayerNorm<Warp, true, Identity<float>, ScaleBias<float, float>>::run(x, y, rows, columns, 1e-5f,
                                                                       {}, {scale, bias});
}
extern "C" __global__ void __launch_bounds__(Block::threads, 1)
    layer_norm_residual(const float *x, const float *residual, float *sum, float *y,
                        const float *scale, const float *bias, float *mean, float *deviation,
                        long rows, int columns) {
  LayerNorm<Block, true, AddResidual, ScaleBias<float, float>, KeepStatistics>::run(
      x, y, rows, columns, 1e-5f, {residual, sum, columns}, {scale, bias}, {mean, deviation});
}
extern "C" __global__ void __launch_bounds__(Warp::threads, 1)
    rms_norm_warp(const float *x, float *y, const float *scale, const float *bias, long rows,
                  int columns) {
  LayerNorm<Warp, false, Identity<float>, ScaleBias<float, float>>::run(x, y, rows, columns, 1e-5f,
                                                                        {}, {scale, bias});
}
extern "C" __global__ void __launch_bounds__(Wide::threads, 1)
    layer_norm_f16(const __half *x, __half *y, const __half *scale, const __half *bias, long rows,
                   int columns) {
  LayerNorm<Wide, true, Identity<float>, ScaleBias<__half, __half>>::run(x, y, rows, columns, 1e-5f,
                                                                         {}, {scale, bias});
}
extern "C" __global__ void __launch_bounds__(Block::threads, 1)
    layer_norm_looped(const float *x, float *y, const float *scale, const float *bias,
                      int columns) {
  LayerNormLooped<Block, true, Identity<float>, ScaleBias<float, float>>::run(x, y, columns, 1e-5f,
                                                                              {}, {scale, bias});
}
extern "C" __global__ void __launch_bounds__(Block::threads, 1)
    rms_norm_looped(const float *x, float *y, const float *scale, const float *bias, int columns) {
  LayerNormLooped<Block, false, Identity<float>, ScaleBias<float, float>>::run(x, y, columns, 1e-5f,
                                                                               {}, {scale, bias});
}
