//===- ReductionTest.cpp - Reductions on the simulator -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"
#include "lib/Target/CUDA/Kernels/Reduction/Reduction.config.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace kiln::cuda;
using namespace kiln::cuda::test;

namespace {

constexpr RowConfig warp{32, 4, 1, 4}, block{256, 1, 1, 1};

double exactSum(const std::vector<float> &x, size_t first, size_t count, size_t step = 1,
                bool squares = false) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i)
    sum += squares ? std::pow(x[first + i * step], 2) : x[first + i * step];
  return sum;
}

TEST(ReduceRows, MeanAndMaximum) {
  for (auto [rows, columns] : {std::pair<int64_t, int>{9, 1000}, {1, 4}, {5, 128}})
    for (unsigned seed : seeds) {
      KernelRunner runner("ReductionKernels");
      runner.setSeed(seed);
      std::vector<float> x = randomFloats(rows * columns, seed, -2, 5);
      auto input = runner.upload(x);
      auto mean = runner.allocate<float>(rows), maximum = runner.allocate<float>(rows);
      Launched launched = runner.launch("mean_rows", warp.launch(rows), input, mean, rows, columns);
      EXPECT_EQ(launched.findings, "");
      Traffic traffic = reductionTraffic(rows * columns, rows, 1, 4, 4, 4);
      EXPECT_EQ(launched.counts.readBytes, static_cast<uint64_t>(traffic.readBytes));
      EXPECT_EQ(launched.counts.writtenBytes, static_cast<uint64_t>(traffic.writtenBytes));
      EXPECT_EQ(
          runner.launch("max_rows", warp.launch(rows), input, maximum, rows, columns).findings, "");
      for (int64_t row = 0; row < rows; ++row) {
        EXPECT_NEAR(runner.download(mean)[row], exactSum(x, row * columns, columns) / columns,
                    5 * 64 * 0x1p-24);
        EXPECT_EQ(runner.download(maximum)[row],
                  *std::max_element(x.begin() + row * columns, x.begin() + (row + 1) * columns));
      }
    }
}

TEST(ReduceRows, NaNIsTheMaximum) {
  KernelRunner runner("ReductionKernels");
  std::vector<float> x = randomFloats(2 * 400, 1);
  x[77] = NAN;
  auto maximum = runner.allocate<float>(2);
  EXPECT_EQ(runner.launch("max_rows", warp.launch(2), runner.upload(x), maximum, int64_t(2), 400)
                .findings,
            "");
  EXPECT_TRUE(std::isnan(runner.download(maximum)[0]));
  EXPECT_FALSE(std::isnan(runner.download(maximum)[1]));
}

TEST(ReduceRows, IntegersAreExact) {
  const int64_t rows = 2;
  const int columns = 700;
  KernelRunner runner("ReductionKernels");
  std::vector<int64_t> x(rows * columns), want(rows);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = (int64_t(1) << 40) * static_cast<int64_t>(i % 5) - static_cast<int64_t>(i);
    want[i / columns] += x[i];
  }
  auto sum = runner.allocate<int64_t>(rows);
  EXPECT_EQ(runner.launch("sum_rows_i64", block.launch(rows), runner.upload(x), sum, rows, columns)
                .findings,
            "");
  EXPECT_EQ(runner.download(sum), want);
}

TEST(ReduceRows, SeveralBlocksARow) {
  const int64_t rows = 2;
  const int columns = 5000, parts = 4, part = 1250;
  for (unsigned seed : seeds) {
    KernelRunner runner("ReductionKernels");
    runner.setSeed(seed);
    std::vector<float> x = randomFloats(rows * columns, seed);
    auto partial = runner.allocate<float>(rows * parts), sum = runner.allocate<float>(rows);
    Launched first = runner.launch("square_rows_parts", {{rows, parts, 1}, block.threads(), 0},
                                   runner.upload(x), partial, rows, columns, part);
    EXPECT_EQ(first.findings, "");
    EXPECT_EQ(
        first.counts.writtenBytes,
        static_cast<uint64_t>(reductionTraffic(rows * columns, rows, parts, 4, 4, 4).writtenBytes));
    Launched second =
        runner.launch("sum_columns", ColumnConfig{4}.launch(1, rows, 1), partial, sum, parts, rows);
    EXPECT_EQ(second.findings, "");
    for (int64_t row = 0; row < rows; ++row)
      EXPECT_NEAR(runner.download(sum)[row], exactSum(x, row * columns, columns, 1, true),
                  columns * 64 * 0x1p-24);
  }
}

TEST(ReduceColumns, MiddleAxis) {
  const int64_t outers = 2, columns = 64;
  const int length = 37;
  for (unsigned seed : seeds) {
    KernelRunner runner("ReductionKernels");
    runner.setSeed(seed);
    std::vector<float> x = randomFloats(outers * length * columns, seed);
    auto sum = runner.allocate<float>(outers * columns);
    Launched launched = runner.launch("sum_columns", ColumnConfig{4}.launch(outers, columns, 1),
                                      runner.upload(x), sum, length, columns);
    EXPECT_EQ(launched.findings, "");
    EXPECT_EQ(launched.counts.coalescing(), 1);
    EXPECT_LE(launched.counts.wavefronts, launched.counts.idealWavefronts);
    for (int64_t i = 0; i < outers * columns; ++i)
      EXPECT_NEAR(runner.download(sum)[i],
                  exactSum(x, i / columns * length * columns + i % columns, length, columns),
                  length * 0x1p-22);
  }
}

/// NumPy's choice: a NaN first, then the extreme, the first or the last of equals.
int64_t exactArg(const std::vector<float> &x, size_t first, int length, size_t step, bool smallest,
                 bool last) {
  int64_t best = 0;
  for (int64_t i = 1; i < length; ++i) {
    float a = x[first + i * step], b = x[first + best * step];
    bool equal = a == b || (std::isnan(a) && std::isnan(b));
    bool better = std::isnan(a) ? !std::isnan(b) : smallest ? a < b : a > b;
    if (better || (last && equal))
      best = i;
  }
  return best;
}

TEST(ArgReduce, RowsAndColumns) {
  for (auto [rows, length] : {std::pair<int64_t, int>{7, 100}, {3, 5}, {1, 1}, {4, 32}})
    for (unsigned seed : seeds) {
      KernelRunner runner("ReductionKernels");
      runner.setSeed(seed);
      std::vector<float> x = randomFloats(rows * length, seed, -3, 3);
      for (float &value : x)
        value = std::round(value); // so that there are equals
      if (rows == 3)
        x[length + 2] = x[length + 4] = NAN;
      auto input = runner.upload(x);
      auto largest = runner.allocate<int64_t>(rows), smallest = runner.allocate<int64_t>(rows);
      LaunchShape shape{{ceilDiv(rows, 4), 1, 1}, 128, 0};
      EXPECT_EQ(runner.launch("argmax_rows", shape, input, largest, rows, length).findings, "");
      EXPECT_EQ(runner.launch("argmin_last_rows", shape, input, smallest, rows, length).findings,
                "");
      for (int64_t row = 0; row < rows; ++row) {
        EXPECT_EQ(runner.download(largest)[row],
                  exactArg(x, row * length, length, 1, false, false));
        EXPECT_EQ(runner.download(smallest)[row], exactArg(x, row * length, length, 1, true, true));
      }
      // The same memory as one matrix whose columns are reduced.
      auto columns = runner.allocate<int64_t>(length);
      EXPECT_EQ(runner
                    .launch("argmax_columns", {{1, 1, 1}, 128, 0}, input, columns, int64_t(1),
                            static_cast<int>(rows), int64_t(length))
                    .findings,
                "");
      for (int i = 0; i < length; ++i)
        EXPECT_EQ(runner.download(columns)[i],
                  exactArg(x, i, static_cast<int>(rows), length, false, false));
    }
}

} // namespace
