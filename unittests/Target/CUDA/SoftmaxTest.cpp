//===- SoftmaxTest.cpp - Softmax on the simulator -------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HalfFloats.h"
#include "KernelRunner.h"
#include "lib/Target/CUDA/Kernels/Softmax/Softmax.config.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace kiln::cuda;
using namespace kiln::cuda::test;

namespace {

constexpr RowConfig eighth{8, 16, 4, 1}, warp{32, 4, 4, 4}, block{128, 1, 4, 4}, wide{64, 1, 2, 8};

/// Softmax along `length` elements that lie `inner` apart, in double.
std::vector<double> exactSoftmax(const std::vector<float> &x, int64_t outers, int64_t length,
                                 int64_t inner, bool logarithm = false) {
  std::vector<double> y(x.size());
  for (int64_t outer = 0; outer < outers; ++outer)
    for (int64_t place = 0; place < inner; ++place) {
      auto at = [&](int64_t i) { return (outer * length + i) * inner + place; };
      double maximum = -INFINITY, sum = 0;
      for (int64_t i = 0; i < length; ++i)
        maximum = std::fmax(maximum, x[at(i)]);
      for (int64_t i = 0; i < length; ++i)
        sum += std::exp(x[at(i)] - maximum);
      for (int64_t i = 0; i < length; ++i)
        y[at(i)] =
            logarithm ? x[at(i)] - maximum - std::log(sum) : std::exp(x[at(i)] - maximum) / sum;
    }
  return y;
}

/// Softmax/README.md states the bound: relative to the result.
constexpr double relativeBound = 64 * 0x1p-24;

void expectNear(const std::vector<float> &got, const std::vector<double> &want,
                double relative = relativeBound) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[i], relative * std::fabs(want[i]) + 1e-38) << "element " << i;
}

struct Case {
  const char *kernel;
  RowConfig config;
  int64_t rows;
  int columns;
  bool logarithm = false;
};
class SoftmaxRows : public testing::TestWithParam<Case> {};

TEST_P(SoftmaxRows, ReadsAndWritesOnce) {
  const Case &c = GetParam();
  ASSERT_TRUE(c.config.legal());
  for (unsigned seed : seeds) {
    KernelRunner runner("SoftmaxKernels");
    runner.setSeed(seed);
    std::vector<float> x = randomFloats(c.rows * c.columns, seed, -20, 20);
    auto result = runner.allocate<float>(x.size());
    Launched launched = runner.launch(c.kernel, c.config.launch(c.rows), runner.upload(x), result,
                                      c.rows, c.columns);
    EXPECT_EQ(launched.findings, "");
    std::vector<double> want = exactSoftmax(x, c.rows, c.columns, 1, c.logarithm);
    if (c.logarithm) // A difference of numbers of up to 40: an absolute bound.
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_NEAR(runner.download(result)[i], want[i], 64 * 0x1p-24 * 40);
    else
      expectNear(runner.download(result), want);
    Traffic traffic = softmaxTraffic(c.config, c.rows, c.columns, 4, 4);
    EXPECT_EQ(launched.counts.readBytes, static_cast<uint64_t>(traffic.readBytes));
    EXPECT_EQ(launched.counts.writtenBytes, static_cast<uint64_t>(traffic.writtenBytes));
    if (c.columns % 8 == 0)
      EXPECT_EQ(launched.counts.coalescing(), 1);
  }
}
INSTANTIATE_TEST_SUITE_P(
    Shapes, SoftmaxRows,
    testing::Values(Case{"softmax_eighth", eighth, 37, 31}, Case{"softmax_eighth", eighth, 16, 1},
                    Case{"softmax_eighth", eighth, 3, 8}, Case{"softmax_warp", warp, 6, 400},
                    Case{"softmax_warp", warp, 1, 4}, Case{"softmax_block", block, 3, 1000},
                    Case{"softmax_block", block, 2, 2048},
                    Case{"log_softmax_block", block, 3, 1000, true}));

TEST(Softmax, RowsOfInfinities) {
  KernelRunner runner("SoftmaxKernels");
  const int columns = 8;
  std::vector<float> x(4 * columns, -INFINITY);
  x[0] = 1; // one element that is not masked
  x[columns + 3] = NAN;
  x[2 * columns + 5] = -3e38f;
  auto result = runner.allocate<float>(x.size());
  Launched launched = runner.launch("softmax_eighth", eighth.launch(4), runner.upload(x), result,
                                    int64_t(4), columns);
  EXPECT_EQ(launched.findings, "");
  std::vector<float> got = runner.download(result);
  for (int i = 0; i < columns; ++i) {
    EXPECT_EQ(got[i], i == 0 ? 1 : 0);
    EXPECT_TRUE(std::isnan(got[columns + i])) << "a NaN takes the whole row";
    EXPECT_EQ(got[2 * columns + i], i == 5 ? 1 : 0);
    EXPECT_TRUE(std::isnan(got[3 * columns + i])) << "0 / 0, as ONNX says";
  }
}

TEST(Softmax, MaskInThePrologue) {
  const int rows = 9, columns = 100;
  for (unsigned seed : seeds) {
    KernelRunner runner("SoftmaxKernels");
    runner.setSeed(seed);
    std::vector<float> x = randomFloats(rows * columns, seed, -8, 8);
    std::vector<float> mask(x.size());
    std::vector<float> masked(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      mask[i] = i % columns > i / columns ? -INFINITY : 0;
      masked[i] = x[i] * 0.25f + mask[i];
    }
    auto result = runner.allocate<float>(x.size());
    Launched launched = runner.launch("softmax_masked", warp.launch(rows), runner.upload(x),
                                      runner.upload(mask), result, int64_t(rows), columns, 0.25f);
    EXPECT_EQ(launched.findings, "");
    expectNear(runner.download(result), exactSoftmax(masked, rows, columns, 1));
    EXPECT_EQ(launched.counts.readBytes, 2 * launched.counts.writtenBytes);
  }
}

TEST(Softmax, LongRows) {
  const int rows = 2, columns = 5004, parts = 3, part = 1668;
  for (unsigned seed : seeds) {
    KernelRunner runner("SoftmaxKernels");
    runner.setSeed(seed);
    std::vector<float> x = randomFloats(rows * columns, seed, -30, 30);
    std::vector<double> want = exactSoftmax(x, rows, columns, 1);
    auto input = runner.upload(x);
    auto looped = runner.allocate<float>(x.size());
    Launched launched =
        runner.launch("softmax_looped", {{rows, 1, 1}, block.threads(), 0}, input, looped, columns);
    EXPECT_EQ(launched.findings, "");
    expectNear(runner.download(looped), want, 4 * relativeBound);
    Traffic traffic = softmaxTraffic(block, rows, columns, 4, 4);
    EXPECT_EQ(launched.counts.readBytes, static_cast<uint64_t>(traffic.readBytes));

    auto states = runner.allocate<float>(softmaxWorkspaceBytes(rows, parts) / 4);
    auto split = runner.allocate<float>(x.size());
    LaunchShape shape{{rows, parts, 1}, block.threads(), 0};
    EXPECT_EQ(runner.launch("softmax_parts", shape, input, states, columns, part).findings, "");
    EXPECT_EQ(runner.launch("softmax_finish", shape, input, states, split, columns, part).findings,
              "");
    expectNear(runner.download(split), want, 4 * relativeBound);
  }
}

TEST(Softmax, ColumnsOfAnInnerAxis) {
  const int64_t outers = 3, inner = 70;
  const int length = 9;
  for (unsigned seed : seeds) {
    KernelRunner runner("SoftmaxKernels");
    runner.setSeed(seed);
    std::vector<float> x = randomFloats(outers * length * inner, seed, -9, 9);
    auto result = runner.allocate<float>(x.size());
    Launched launched =
        runner.launch("softmax_columns", {{ceilDiv(outers * inner, 128), 1, 1}, 128, 0},
                      runner.upload(x), result, outers, length, inner);
    EXPECT_EQ(launched.findings, "");
    expectNear(runner.download(result), exactSoftmax(x, outers, length, inner));
  }
}

TEST(Softmax, HalfTypes) {
  const int64_t rows = 3;
  const int columns = 608;
  for (HalfType type : {HalfType::f16, HalfType::bf16}) {
    KernelRunner runner("SoftmaxKernels");
    std::vector<uint16_t> x = toHalf(randomFloats(rows * columns, 5, -20, 20), type);
    auto result = runner.allocate<uint16_t>(x.size());
    Launched launched = runner.launch(type == HalfType::f16 ? "softmax_f16" : "softmax_bf16",
                                      wide.launch(rows), runner.upload(x), result, rows, columns);
    EXPECT_EQ(launched.findings, "");
    std::vector<double> want = exactSoftmax(fromHalf(x, type), rows, columns, 1);
    std::vector<float> got = fromHalf(runner.download(result), type);
    // One rounding to the type on top; below the smallest normal fp16 an absolute one.
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want[i], halfUlp(type) * want[i] + relativeBound + 0x1p-25);
    // CUDA's header rounds to fp16 with branches on the host, so that lanes reach the same store at
    // different times there; on a device it is one instruction.
    if (type == HalfType::bf16)
      EXPECT_EQ(launched.counts.coalescing(), 1);
  }
}

} // namespace
