// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instances of Conv that the tests run and nvcc compiles.
#include "Conv/Conv.cuh"
using namespace kiln::cuda;

namespace {
struct BiasRelu {
  const float *bias;
  int filters;
  __device__ __forceinline__ float operator()(float acc, long row, long) const {
    float v = acc + bias[row % filters];
    return v < 0 ? 0 : v;
  }
};
struct Relu {
  __device__ __forceinline__ float operator()(float acc, long, long) const {
    return acc < 0 ? 0 : acc;
  }
};
struct Twice {
  __device__ __forceinline__ float operator()(float v, long, long) const { return 2 * v; }
};
/// As the emitter writes it: a 3 x 3 kernel is known when compiling, extents are not.
struct Static3x3 {
  static constexpr int kernelHeight = 3, kernelWidth = 3, strideHeight = 1, strideWidth = 1,
                       dilationHeight = 1, dilationWidth = 1, padTop = 1, padLeft = 1;
  int images, groups, channels, filters, height, width, outHeight, outWidth;
};
struct Static1x1 {
  static constexpr int kernelHeight = 1, kernelWidth = 1, strideHeight = 1, strideWidth = 1,
                       dilationHeight = 1, dilationWidth = 1, padTop = 0, padLeft = 0;
  int images, groups, channels, filters, height, width, outHeight, outWidth;
};
} // namespace

using Tile = SimtShape<64, 64, 16, 4, 4>;

// Every extent at run time: any stride, dilation, padding and number of groups.
extern "C" __global__ void __launch_bounds__(Tile::threads, 1)
    conv_any(const float *x, const float *w, float *y, const float *bias, const ConvGeometry *at) {
  const ConvGeometry g = *at;
  using Input = Im2colNchw<float, ConvGeometry, 1, Twice>;
  using Result = NchwResult<float, ConvGeometry, 1, BiasRelu>;
  NchwConv<SimtMatMul, Tile, ConvWeights<float, 1>, Input, Result>::run(
      w, {}, Input{x, g}, Result{y, g, {bias, g.groups * g.filters}}, g, 4);
}
extern "C" __global__ void __launch_bounds__(Tile::threads, 1)
    conv_3x3(const float *x, const float *w, float *y, int images, int channels, int filters,
             int height, int width) {
  const Static3x3 g{images, 1, channels, filters, height, width, height, width};
  using Input = Im2colNchw<float, Static3x3>;
  using Result = NchwResult<float, Static3x3, 4, Relu>;
  NchwConv<SimtMatMul, Tile, ConvWeights<float, 4>, Input, Result>::run(w, {}, Input{x, g},
                                                                        Result{y, g}, g, 4);
}
extern "C" __global__ void __launch_bounds__(Tile::threads, 1)
    conv_1x1(const float *x, const float *w, float *y, int images, int channels, int filters,
             int height, int width) {
  const Static1x1 g{images, 1, channels, filters, height, width, height, width};
  using Input = Im2colNchw<float, Static1x1, 4>;
  using Result = NchwResult<float, Static1x1, 4, Relu>;
  NchwConv<SimtMatMul, Tile, ConvWeights<float, 4>, Input, Result>::run(w, {}, Input{x, g},
                                                                        Result{y, g}, g, 4);
}

using Window = DepthwiseShape<8, 32, 128>;
extern "C" __global__ void __launch_bounds__(Window::threads, 1)
    depthwise_any(const float *x, const float *w, float *y, const float *bias,
                  const ConvGeometry *at) {
  const ConvGeometry g = *at;
  Depthwise<Window, float, ConvGeometry, Twice, BiasRelu>::run(x, w, y, g, {},
                                                               {bias, g.groups * g.filters});
}
extern "C" __global__ void __launch_bounds__(Window::threads, 1)
    depthwise_3x3(const float *x, const float *w, float *y, const float *bias, int images,
                  int groups, int height, int width) {
  const Static3x3 g{images, groups, 1, 1, height, width, height, width};
  Depthwise<Window, float, Static3x3, Identity<float>, BiasRelu>::run(x, w, y, g, {},
                                                                      {bias, groups});
}

using Half64 = TensorShape<__half, 64, 64, 32, 32, 32, 3>;
struct ReluHalf {
  __device__ __forceinline__ __half operator()(float acc, long, long) const {
    return __float2half_rn(acc < 0 ? 0 : acc);
  }
};
extern "C" __global__ void __launch_bounds__(Half64::threads, 1)
    conv_nhwc_f16(const __half *x, const __half *w, __half *y, const ConvGeometry *at) {
  const ConvGeometry g = *at;
  using Result = RowMajorResult<__half, 4, ReluHalf>;
  TensorConv<Half64, Result>::run(
      x, w, Result{y, static_cast<long>(g.images) * g.outHeight * g.outWidth, g.filters}, g, 4);
}
