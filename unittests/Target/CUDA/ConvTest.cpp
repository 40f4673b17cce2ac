//===- ConvTest.cpp - Convolutions on the simulator -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HalfFloats.h"
#include "KernelRunner.h"
#include "lib/Target/CUDA/Kernels/Conv/Conv.config.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace kiln::cuda;
using namespace kiln::cuda::test;

namespace {

/// A geometry whose outputs follow from the rest; pads are equal on both sides.
ConvGeometry geometry(int images, int groups, int channels, int filters, int height, int width,
                      int kernelHeight, int kernelWidth, int stride = 1, int dilation = 1,
                      int padTop = 0, int padLeft = 0) {
  auto out = [&](int extent, int kernel, int pad) {
    return (extent + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
  };
  return {images,
          groups,
          channels,
          filters,
          height,
          width,
          out(height, kernelHeight, padTop),
          out(width, kernelWidth, padLeft),
          kernelHeight,
          kernelWidth,
          stride,
          stride,
          dilation,
          dilation,
          padTop,
          padLeft};
}

struct Problem {
  ConvGeometry g;
  std::vector<float> input, weights, bias;

  Problem(const ConvGeometry &g, unsigned seed)
      : g(g),
        input(randomFloats(size_t(g.images) * g.groups * g.channels * g.height * g.width, seed)),
        weights(randomFloats(
            size_t(g.groups) * g.filters * g.channels * g.kernelHeight * g.kernelWidth, seed + 1)),
        bias(randomFloats(size_t(g.groups) * g.filters, seed + 2)) {}

  size_t results() const {
    return size_t(g.images) * g.groups * g.filters * g.outHeight * g.outWidth;
  }

  /// Conv/README.md: the bound of the product of matrices.
  void expect(const std::vector<float> &got, double scale, double biasScale = 1,
              double rounding = 0) const {
    size_t index = 0;
    for (int image = 0; image < g.images; ++image)
      for (int filter = 0; filter < g.groups * g.filters; ++filter)
        for (int outY = 0; outY < g.outHeight; ++outY)
          for (int outX = 0; outX < g.outWidth; ++outX, ++index) {
            double sum = 0, magnitude = 0;
            int group = filter / g.filters;
            for (int channel = 0; channel < g.channels; ++channel)
              for (int tapY = 0; tapY < g.kernelHeight; ++tapY)
                for (int tapX = 0; tapX < g.kernelWidth; ++tapX) {
                  int y = outY * g.strideHeight + tapY * g.dilationHeight - g.padTop;
                  int x = outX * g.strideWidth + tapX * g.dilationWidth - g.padLeft;
                  if (y < 0 || y >= g.height || x < 0 || x >= g.width)
                    continue;
                  size_t plane = (size_t(image) * g.groups + group) * g.channels + channel;
                  size_t weight =
                      ((size_t(filter) * g.channels + channel) * g.kernelHeight + tapY) *
                          g.kernelWidth +
                      tapX;
                  double product =
                      scale * input[(plane * g.height + y) * g.width + x] * double(weights[weight]);
                  sum += product;
                  magnitude += std::fabs(product);
                }
            double bound = (static_cast<double>(convExtents(g).k) + 2) * 0x1p-24 * (magnitude + 2);
            ASSERT_NEAR(got[index], std::fmax(0, sum + biasScale * bias[filter]),
                        bound + rounding * (2 * bound + std::fabs(sum)))
                << "image " << image << " filter " << filter << " y " << outY << " x " << outX;
          }
  }
};

class AnyConv : public testing::TestWithParam<ConvGeometry> {};

TEST_P(AnyConv, ComputesAndCounts) {
  const ConvGeometry &g = GetParam();
  const SimtMatMulConfig config{64, 64, 16, 4, 4};
  for (unsigned seed : seeds) {
    KernelRunner runner("ConvKernels");
    runner.setSeed(seed);
    Problem problem(g, seed);
    auto result = runner.allocate<float>(problem.results());
    Launched launched =
        runner.launch("conv_any", matMulLaunch(config, convExtents(g), 1),
                      runner.upload(problem.input), runner.upload(problem.weights), result,
                      runner.upload(problem.bias), runner.upload(std::vector<ConvGeometry>{g}));
    EXPECT_EQ(launched.findings, "");
    problem.expect(runner.download(result), 2);
    EXPECT_EQ(launched.counts.uniqueWrittenBytes, problem.results() * 4);
  }
}
INSTANTIATE_TEST_SUITE_P(Shapes, AnyConv,
                         testing::Values(geometry(2, 1, 3, 5, 9, 7, 3, 3, 1, 1, 1, 1),
                                         geometry(1, 2, 4, 70, 8, 9, 3, 3, 2, 1, 1, 1),
                                         geometry(1, 1, 3, 4, 17, 15, 7, 7, 2, 1, 3, 3),
                                         geometry(3, 1, 2, 3, 1, 30, 1, 5, 1, 3, 0, 6),
                                         geometry(5, 1, 6, 2, 1, 1, 1, 1),
                                         geometry(1, 3, 2, 2, 6, 6, 2, 4, 3, 2, 0, 3)));

struct StaticCase {
  const char *kernel;
  ConvGeometry g;
};
class StaticConv : public testing::TestWithParam<StaticCase> {};

TEST_P(StaticConv, ComputesAndCounts) {
  const auto &[kernel, g] = GetParam();
  const SimtMatMulConfig config{64, 64, 16, 4, 4};
  for (unsigned seed : seeds) {
    KernelRunner runner("ConvKernels");
    runner.setSeed(seed);
    Problem problem(g, seed);
    auto result = runner.allocate<float>(problem.results());
    Launched launched = runner.launch(kernel, matMulLaunch(config, convExtents(g), 1),
                                      runner.upload(problem.input), runner.upload(problem.weights),
                                      result, g.images, g.channels, g.filters, g.height, g.width);
    EXPECT_EQ(launched.findings, "");
    problem.expect(runner.download(result), 1, 0);
    Traffic traffic = convTraffic(config, g, 1, 4, 4);
    EXPECT_EQ(launched.counts.readBytes, static_cast<uint64_t>(traffic.readBytes));
    EXPECT_EQ(launched.counts.writtenBytes, static_cast<uint64_t>(traffic.writtenBytes));
    EXPECT_EQ(launched.counts.uniqueReadBytes, static_cast<uint64_t>(traffic.uniqueReadBytes));
    EXPECT_LE(launched.counts.wavefronts, launched.counts.idealWavefronts);
  }
}
INSTANTIATE_TEST_SUITE_P(
    Shapes, StaticConv,
    testing::Values(StaticCase{"conv_3x3", geometry(2, 1, 4, 66, 10, 6, 3, 3, 1, 1, 1, 1)},
                    StaticCase{"conv_3x3", geometry(1, 1, 8, 3, 2, 2, 3, 3, 1, 1, 1, 1)},
                    StaticCase{"conv_1x1", geometry(3, 1, 12, 65, 4, 7, 1, 1)}));

class DepthwiseConv : public testing::TestWithParam<ConvGeometry> {};

TEST_P(DepthwiseConv, StagesEachWindowOnce) {
  const ConvGeometry &g = GetParam();
  const DepthwiseConfig config{8, 32, 128};
  for (unsigned seed : seeds) {
    KernelRunner runner("ConvKernels");
    runner.setSeed(seed);
    Problem problem(g, seed);
    auto result = runner.allocate<float>(problem.results());
    Launched launched =
        runner.launch("depthwise_any", config.launch(g), runner.upload(problem.input),
                      runner.upload(problem.weights), result, runner.upload(problem.bias),
                      runner.upload(std::vector<ConvGeometry>{g}));
    EXPECT_EQ(launched.findings, "");
    problem.expect(runner.download(result), 2);
  }
}
INSTANTIATE_TEST_SUITE_P(Shapes, DepthwiseConv,
                         testing::Values(geometry(2, 3, 1, 1, 9, 40, 3, 3, 1, 1, 1, 1),
                                         geometry(1, 4, 1, 2, 20, 11, 5, 3, 2, 1, 2, 1),
                                         geometry(1, 2, 1, 1, 12, 12, 3, 3, 1, 2, 2, 2),
                                         geometry(2, 1, 1, 1, 1, 1, 1, 1)));

TEST(DepthwiseConv, WithKnownKernelSize) {
  ConvGeometry g = geometry(1, 5, 1, 1, 16, 64, 3, 3, 1, 1, 1, 1);
  const DepthwiseConfig config{8, 32, 128};
  KernelRunner runner("ConvKernels");
  Problem problem(g, 1);
  auto result = runner.allocate<float>(problem.results());
  Launched launched =
      runner.launch("depthwise_3x3", config.launch(g), runner.upload(problem.input),
                    runner.upload(problem.weights), result, runner.upload(problem.bias), g.images,
                    g.groups, g.height, g.width);
  EXPECT_EQ(launched.findings, "");
  problem.expect(runner.download(result), 1);
  EXPECT_LE(launched.counts.wavefronts, launched.counts.idealWavefronts);
}

/// [outer][a][b] as [outer][b][a].
std::vector<float> exchanged(const std::vector<float> &from, size_t a, size_t b) {
  std::vector<float> to(from.size());
  for (size_t i = 0; i < from.size(); ++i)
    to[i / (a * b) * a * b + i % b * a + i / b % a] = from[i];
  return to;
}

class NhwcConv : public testing::TestWithParam<ConvGeometry> {};

TEST_P(NhwcConv, OnTensorCores) {
  const ConvGeometry &g = GetParam();
  const TensorMatMulConfig config{64, 64, 32, 32, 32, 3, 2};
  for (unsigned seed : seeds) {
    KernelRunner runner("ConvKernels");
    runner.setSeed(seed);
    Problem problem(g, seed);
    for (auto *values : {&problem.input, &problem.weights})
      *values = fromHalf(toHalf(*values, HalfType::f16), HalfType::f16);
    auto half = [](const std::vector<float> &values) { return toHalf(values, HalfType::f16); };
    size_t taps = size_t(g.kernelHeight) * g.kernelWidth, pixels = size_t(g.outHeight) * g.outWidth;
    auto result = runner.allocate<uint16_t>(problem.results());
    Launched launched = runner.launch(
        "conv_nhwc_f16", matMulLaunch(config, convExtentsNhwc(g), 1),
        runner.upload(half(exchanged(problem.input, g.channels, size_t(g.height) * g.width))),
        runner.upload(half(exchanged(problem.weights, g.channels, taps))), result,
        runner.upload(std::vector<ConvGeometry>{g}));
    EXPECT_EQ(launched.findings, "");
    std::vector<float> got =
        exchanged(fromHalf(runner.download(result), HalfType::f16), pixels, g.filters);
    problem.expect(got, 1, 0, halfUlp(HalfType::f16));
    Traffic traffic = convTrafficNhwc(config, g, 2, 2);
    // The geometry is the tests' own: at most once a thread.
    EXPECT_GE(launched.counts.readBytes, static_cast<uint64_t>(traffic.readBytes));
    uint64_t blocks = ceilDiv(convExtentsNhwc(g).m, 64) * ceilDiv(convExtentsNhwc(g).n, 64);
    EXPECT_LE(launched.counts.readBytes,
              traffic.readBytes + blocks * config.threads() * 2 * sizeof(ConvGeometry));
    EXPECT_EQ(launched.counts.writtenBytes, static_cast<uint64_t>(traffic.writtenBytes));
    EXPECT_LE(launched.counts.wavefronts, launched.counts.idealWavefronts) << "bank conflicts";
  }
}
INSTANTIATE_TEST_SUITE_P(Shapes, NhwcConv,
                         testing::Values(geometry(2, 1, 16, 8, 9, 7, 3, 3, 1, 1, 1, 1),
                                         geometry(1, 1, 8, 68, 10, 9, 3, 3, 2, 1, 1, 1),
                                         geometry(1, 1, 40, 4, 5, 5, 1, 1)));

} // namespace
