//===- LayerNormTest.cpp - Norms over rows on the simulator ---------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HalfFloats.h"
#include "KernelRunner.h"
#include "lib/Target/CUDA/Kernels/LayerNorm/LayerNorm.config.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace kiln::cuda;
using namespace kiln::cuda::test;

namespace {

constexpr RowConfig warp{32, 4, 2, 4}, block{256, 1, 3, 1}, wide{128, 1, 1, 8};
constexpr double epsilon = 1e-5;

struct Problem {
  int64_t rows;
  int columns;
  std::vector<float> x, scale, bias;
  std::vector<double> mean, deviation;

  Problem(int64_t rows, int columns, unsigned seed, bool centred, float offset = 0)
      : rows(rows), columns(columns), x(randomFloats(rows * columns, seed, -1, 1)),
        scale(randomFloats(columns, seed + 1)), bias(randomFloats(columns, seed + 2)) {
    for (float &value : x)
      value += offset;
    measure(centred);
  }

  void measure(bool centred) {
    mean.clear();
    deviation.clear();
    for (int64_t row = 0; row < rows; ++row) {
      double sum = 0, squares = 0;
      for (int i = 0; i < columns; ++i)
        sum += x[row * columns + i];
      mean.push_back(centred ? sum / columns : 0);
      for (int i = 0; i < columns; ++i)
        squares += std::pow(x[row * columns + i] - mean.back(), 2);
      deviation.push_back(std::sqrt(squares / columns + epsilon));
    }
  }

  /// LayerNorm/README.md: the rounding of the mean counts in units of the deviation.
  void expect(const std::vector<float> &got, double unit = 0x1p-24) const {
    for (size_t i = 0; i < got.size(); ++i) {
      size_t row = i / columns, col = i % columns;
      double normal = (x[i] - mean[row]) / deviation[row];
      double error = 32 * 0x1p-24 * (std::fabs(normal) + 1 + std::fabs(mean[row]) / deviation[row]);
      double want = normal * scale[col] + bias[col];
      ASSERT_NEAR(got[i], want, error + unit * (std::fabs(want) + std::fabs(bias[col])))
          << "row " << row << " column " << col;
    }
  }
};

struct Case {
  const char *kernel;
  RowConfig config;
  int64_t rows;
  int columns;
  bool centred;
  float offset = 0;
};
class NormRows : public testing::TestWithParam<Case> {};

TEST_P(NormRows, ReadsAndWritesOnce) {
  const Case &c = GetParam();
  ASSERT_TRUE(c.config.legal());
  for (unsigned seed : seeds) {
    KernelRunner runner("LayerNormKernels");
    runner.setSeed(seed);
    Problem problem(c.rows, c.columns, seed, c.centred, c.offset);
    auto result = runner.allocate<float>(problem.x.size());
    Launched launched =
        runner.launch(c.kernel, c.config.launch(c.rows), runner.upload(problem.x), result,
                      runner.upload(problem.scale), runner.upload(problem.bias), c.rows, c.columns);
    EXPECT_EQ(launched.findings, "");
    problem.expect(runner.download(result));
    Traffic traffic = layerNormTraffic(c.config, c.rows, c.columns, c.centred, 4, 4);
    // Scale and bias come on top, once a row.
    EXPECT_EQ(launched.counts.readBytes,
              static_cast<uint64_t>(traffic.readBytes + c.rows * c.columns * 8));
    EXPECT_EQ(launched.counts.uniqueReadBytes,
              static_cast<uint64_t>(traffic.uniqueReadBytes + c.columns * 8));
    EXPECT_EQ(launched.counts.writtenBytes, static_cast<uint64_t>(traffic.writtenBytes));
    if (c.columns % 8 == 0)
      EXPECT_EQ(launched.counts.coalescing(), 1);
  }
}
INSTANTIATE_TEST_SUITE_P(Shapes, NormRows,
                         testing::Values(Case{"layer_norm_warp", warp, 9, 256, true},
                                         Case{"layer_norm_warp", warp, 5, 100, true, 1000},
                                         Case{"layer_norm_warp", warp, 1, 4, true},
                                         Case{"rms_norm_warp", warp, 6, 192, false}));

TEST(LayerNorm, ResidualAndStatistics) {
  const int64_t rows = 5;
  const int columns = 768;
  for (unsigned seed : seeds) {
    KernelRunner runner("LayerNormKernels");
    runner.setSeed(seed);
    Problem problem(rows, columns, seed, true);
    std::vector<float> x = problem.x, residual = randomFloats(x.size(), seed + 9);
    for (size_t i = 0; i < x.size(); ++i)
      problem.x[i] = x[i] + residual[i];
    problem.measure(true);
    auto sum = runner.allocate<float>(x.size()), result = runner.allocate<float>(x.size());
    auto mean = runner.allocate<float>(rows), scale = runner.allocate<float>(rows);
    Launched launched =
        runner.launch("layer_norm_residual", block.launch(rows), runner.upload(x),
                      runner.upload(residual), sum, result, runner.upload(problem.scale),
                      runner.upload(problem.bias), mean, scale, rows, columns);
    EXPECT_EQ(launched.findings, "");
    problem.expect(runner.download(result));
    EXPECT_EQ(runner.download(sum), problem.x);
    for (int64_t row = 0; row < rows; ++row) {
      EXPECT_NEAR(runner.download(mean)[row], problem.mean[row], 1e-6);
      EXPECT_NEAR(runner.download(scale)[row], 1 / problem.deviation[row], 1e-5);
    }
  }
}

TEST(LayerNorm, LongRows) {
  const int64_t rows = 3;
  const int columns = 3001;
  for (bool centred : {true, false}) {
    KernelRunner runner("LayerNormKernels");
    Problem problem(rows, columns, 7, centred);
    auto result = runner.allocate<float>(problem.x.size());
    Launched launched =
        runner.launch(centred ? "layer_norm_looped" : "rms_norm_looped", block.launch(rows),
                      runner.upload(problem.x), result, runner.upload(problem.scale),
                      runner.upload(problem.bias), columns);
    EXPECT_EQ(launched.findings, "");
    problem.expect(runner.download(result));
    Traffic traffic = layerNormTraffic(block, rows, columns, centred, 4, 4);
    EXPECT_EQ(launched.counts.readBytes,
              static_cast<uint64_t>(traffic.readBytes + rows * columns * 8));
  }
}

TEST(LayerNorm, Half) {
  const int64_t rows = 4;
  const int columns = 768;
  KernelRunner runner("LayerNormKernels");
  Problem problem(rows, columns, 7, true);
  auto round = [](std::vector<float> &values) {
    std::vector<uint16_t> bits = toHalf(values, HalfType::f16);
    values = fromHalf(bits, HalfType::f16);
    return bits;
  };
  auto x = runner.upload(round(problem.x)), scale = runner.upload(round(problem.scale)),
       bias = runner.upload(round(problem.bias));
  problem.measure(true);
  auto result = runner.allocate<uint16_t>(rows * columns);
  Launched launched =
      runner.launch("layer_norm_f16", wide.launch(rows), x, result, scale, bias, rows, columns);
  EXPECT_EQ(launched.findings, "");
  problem.expect(fromHalf(runner.download(result), HalfType::f16), halfUlp(HalfType::f16));
  EXPECT_EQ(launched.counts.coalescing(), 1);
}

} // namespace
