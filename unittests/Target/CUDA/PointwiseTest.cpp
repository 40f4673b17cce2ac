//===- PointwiseTest.cpp - Pointwise kernels and moves on the simulator --===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HalfFloats.h"
#include "KernelRunner.h"
#include "lib/Target/CUDA/Kernels/Gather/Gather.config.h"
#include "lib/Target/CUDA/Kernels/Pointwise/Pointwise.config.h"
#include "lib/Target/CUDA/Kernels/Transpose/Transpose.config.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace kiln::cuda;
using namespace kiln::cuda::test;

namespace {

constexpr PointwiseConfig vector4{128, 4, 2}, single{64, 1, 3}, vector8{64, 8, 1},
    vector16{32, 16, 1};

struct Case {
  const char *kernel;
  PointwiseConfig config;
  int64_t rows, columns;
};
class PointwiseRows : public testing::TestWithParam<Case> {};

TEST_P(PointwiseRows, MovesEveryElementOnce) {
  const auto &[kernel, config, rows, columns] = GetParam();
  for (unsigned seed : seeds) {
    KernelRunner runner("PointwiseKernels");
    runner.setSeed(seed);
    std::vector<float> a = randomFloats(rows * columns, seed), b = randomFloats(columns, seed + 1),
                       c = randomFloats(rows, seed + 2);
    auto y = runner.allocate<float>(a.size());
    Launched launched = runner.launch(kernel, config.launch(rows, columns), runner.upload(a),
                                      runner.upload(b), runner.upload(c), y, rows, columns);
    EXPECT_EQ(launched.findings, "");
    std::vector<float> got = runner.download(y);
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(got[i], std::fma(a[i], b[i % columns], c[i / columns]));
    uint64_t bytes = a.size() * 4;
    EXPECT_EQ(launched.counts.writtenBytes, bytes);
    EXPECT_EQ(launched.counts.uniqueReadBytes, bytes + (rows + columns) * 4);
    // A vector of the matrix and of the row, and one element of the column.
    EXPECT_EQ(launched.counts.readBytes, bytes * 2 + bytes / config.vector);
    if (columns % 32 == 0)
      EXPECT_EQ(launched.counts.coalescing(), 1);
  }
}
INSTANTIATE_TEST_SUITE_P(Shapes, PointwiseRows,
                         testing::Values(Case{"multiply_add", vector4, 1, 4},
                                         Case{"multiply_add", vector4, 9, 1024},
                                         Case{"multiply_add", vector4, 77, 12},
                                         Case{"multiply_add_single", single, 1, 1},
                                         Case{"multiply_add_single", single, 5, 77}));

TEST(Pointwise, Half) {
  const int64_t rows = 3, columns = 80;
  KernelRunner runner("PointwiseKernels");
  std::vector<uint16_t> a = toHalf(randomFloats(rows * columns, 1), HalfType::f16),
                        b = toHalf(randomFloats(columns, 2), HalfType::f16),
                        c = toHalf(randomFloats(rows, 3), HalfType::f16);
  auto y = runner.allocate<uint16_t>(a.size());
  Launched launched =
      runner.launch("multiply_add_f16", vector8.launch(rows, columns), runner.upload(a),
                    runner.upload(b), runner.upload(c), y, rows, columns);
  EXPECT_EQ(launched.findings, "");
  std::vector<float> fa = fromHalf(a, HalfType::f16), fb = fromHalf(b, HalfType::f16),
                     fc = fromHalf(c, HalfType::f16), want(a.size());
  for (size_t i = 0; i < want.size(); ++i)
    want[i] = std::fma(fa[i], fb[i % columns], fc[i / columns]);
  EXPECT_EQ(runner.download(y), toHalf(want, HalfType::f16));
}

TEST(Quantize, SaturatesAndRoundsToEven) {
  const int64_t rows = 4, columns = 32;
  std::vector<float> x = randomFloats(rows * columns, 1, -40, 40);
  std::vector<float> scale(columns);
  std::vector<int8_t> zero(columns);
  for (int64_t i = 0; i < columns; ++i) {
    scale[i] = i % 2 ? 0.25f : 0.1f;
    zero[i] = static_cast<int8_t>(i * 7 - 100);
  }
  x[0] = INFINITY;
  x[1] = -INFINITY;
  x[3] = 0.625f; // 2.5 steps
  x[2] = NAN;
  auto quantized = [&](float v, float s, int z, int low, int high) {
    double steps = std::nearbyint(v / s);
    return std::isnan(steps) ? low : static_cast<int>(std::fmin(std::fmax(steps + z, low), high));
  };
  for (unsigned seed : seeds) {
    KernelRunner runner("PointwiseKernels");
    runner.setSeed(seed);
    auto y = runner.allocate<int8_t>(x.size());
    Launched launched = runner.launch("quantize", vector16.launch(rows, columns), runner.upload(x),
                                      runner.upload(scale), runner.upload(zero), y, rows, columns);
    EXPECT_EQ(launched.findings, "");
    std::vector<int8_t> got = runner.download(y);
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(got[i], quantized(x[i], scale[i % columns], zero[i % columns], -128, 127)) << i;

    std::vector<uint8_t> zeroPoint{3};
    auto bytes = runner.allocate<uint8_t>(x.size());
    EXPECT_EQ(runner
                  .launch("quantize_u8", vector4.launch(1, x.size()), runner.upload(x),
                          runner.upload(std::vector<float>{0.5f}), runner.upload(zeroPoint), bytes,
                          int64_t(1), static_cast<int64_t>(x.size()))
                  .findings,
              "");
    std::vector<uint8_t> gotBytes = runner.download(bytes);
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(gotBytes[i], quantized(x[i], 0.5f, 3, 0, 255)) << i;

    // Back, with a scale a row.
    std::vector<float> rowScale(rows, 0.5f);
    std::vector<int8_t> rowZero{0, 1, -128, 127};
    auto floats = runner.allocate<float>(x.size());
    EXPECT_EQ(runner
                  .launch("dequantize", vector16.launch(rows, columns), runner.upload(got),
                          runner.upload(rowScale), runner.upload(rowZero), floats, rows, columns)
                  .findings,
              "");
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(runner.download(floats)[i], (got[i] - rowZero[i / columns]) * 0.5f);
  }
}

TEST(Gather, IndicesCountFromTheEndAndAreClamped) {
  const GatherExtents e{2, 5, 12, 7};
  const std::vector<int64_t> index{0, 4, -1, -5, 2, 100, -100};
  const int rows[] = {0, 4, 4, 0, 2, 4, 0};
  for (unsigned seed : seeds) {
    KernelRunner runner("PointwiseKernels");
    runner.setSeed(seed);
    std::vector<float> data = randomFloats(e.outers * e.axis * e.inner, seed);
    auto y = runner.allocate<float>(e.outers * e.indices * e.inner);
    Launched launched =
        runner.launch("gather", gatherLaunch(vector4, e), runner.upload(data), runner.upload(index),
                      y, e.outers, e.axis, e.inner, e.indices);
    EXPECT_EQ(launched.findings, "");
    std::vector<float> got = runner.download(y);
    for (int64_t outer = 0; outer < e.outers; ++outer)
      for (int64_t i = 0; i < e.indices; ++i)
        for (int64_t col = 0; col < e.inner; ++col)
          ASSERT_EQ(got[(outer * e.indices + i) * e.inner + col],
                    -data[(outer * e.axis + rows[i]) * e.inner + col]);
    Traffic traffic = gatherTraffic(vector4, e, 4, 8);
    EXPECT_EQ(launched.counts.readBytes, static_cast<uint64_t>(traffic.readBytes));
    EXPECT_EQ(launched.counts.writtenBytes, static_cast<uint64_t>(traffic.writtenBytes));
  }
}

TEST(Gather, Bytes) {
  const GatherExtents e{1, 6, 3, 4};
  KernelRunner runner("PointwiseKernels");
  std::vector<uint8_t> data(e.axis * e.inner);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<uint8_t>(i * 13);
  const std::vector<int> index{5, 0, -2, 3};
  auto y = runner.allocate<uint8_t>(e.indices * e.inner);
  EXPECT_EQ(runner
                .launch("gather_bytes", gatherLaunch(single, e), runner.upload(data),
                        runner.upload(index), y, e.outers, e.axis, e.inner, e.indices)
                .findings,
            "");
  std::vector<uint8_t> got = runner.download(y);
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(got[i], data[(index[i / 3] + (index[i / 3] < 0 ? 6 : 0)) * 3 + i % 3]);
}

template <class T>
void checkTranspose(const char *kernel, int batches, int rows, int columns, unsigned seed, T sign) {
  KernelRunner runner("PointwiseKernels");
  runner.setSeed(seed);
  std::vector<T> x(static_cast<size_t>(batches) * rows * columns);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<T>(i * 31 + 7);
  auto y = runner.allocate<T>(x.size());
  Launched launched = runner.launch(kernel, TransposeConfig{8}.launch(batches, rows, columns),
                                    runner.upload(x), y, batches, rows, columns);
  EXPECT_EQ(launched.findings, "");
  std::vector<T> got = runner.download(y);
  for (int batch = 0; batch < batches; ++batch)
    for (int row = 0; row < rows; ++row)
      for (int col = 0; col < columns; ++col)
        ASSERT_EQ(got[(batch * columns + col) * rows + row],
                  static_cast<T>(sign * x[(batch * rows + row) * columns + col]));
  EXPECT_EQ(launched.counts.readBytes, x.size() * sizeof(T));
  EXPECT_EQ(launched.counts.writtenBytes, x.size() * sizeof(T));
  EXPECT_LE(launched.counts.wavefronts, launched.counts.idealWavefronts) << "bank conflicts";
  if (rows % 32 == 0 && columns % 32 == 0)
    EXPECT_EQ(launched.counts.coalescing(), 1);
}

TEST(Transpose, EveryWidth) {
  for (unsigned seed : seeds) {
    checkTranspose<float>("transpose_f32", 2, 64, 96, seed, -1);
    checkTranspose<float>("transpose_f32", 3, 33, 5, seed, -1);
    checkTranspose<uint8_t>("transpose_b8", 1, 64, 32, seed, 1);
    checkTranspose<uint16_t>("transpose_b16", 1, 40, 70, seed, 1);
    checkTranspose<int64_t>("transpose_b64", 2, 1, 50, seed, 1);
  }
}

} // namespace
