//===- MatMulTest.cpp - The matrix product on the simulator ---------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"
#include "lib/Target/CUDA/Kernels/MatMul/MatMul.config.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace kiln::cuda;
using namespace kiln::cuda::test;

namespace {

struct Case {
  const char *kernel;
  SimtMatMulConfig config;
  bool alongKA, alongKB;
  int vector;
  MatMulExtents extents;
};

/// Operands, and results in double.
struct Reference {
  std::vector<float> a, b, bias;
  MatMulExtents e;
  bool alongKA, alongKB, sharedB = false;

  Reference(const MatMulExtents &e, bool alongKA, bool alongKB, unsigned seed)
      : a(randomFloats(e.batches * e.m * e.k, seed)),
        b(randomFloats(e.batches * e.k * e.n, seed + 100)), bias(randomFloats(e.n, seed + 200)),
        e(e), alongKA(alongKA), alongKB(alongKB) {}

  /// The exact sum and the sum of magnitudes.
  std::pair<double, double> at(int64_t batch, int64_t row, int64_t col) const {
    double sum = 0, magnitude = 0;
    const float *matrixA = a.data() + batch * e.m * e.k;
    const float *matrixB = b.data() + (sharedB ? 0 : batch * e.k * e.n);
    for (int64_t k = 0; k < e.k; ++k) {
      double product = double(matrixA[alongKA ? row * e.k + k : k * e.m + row]) *
                       double(matrixB[alongKB ? col * e.k + k : k * e.n + col]);
      sum += product;
      magnitude += std::fabs(product);
    }
    return {sum, magnitude};
  }
};

/// MatMul/README.md: (k + 2) roundings of half an ulp, of sums no larger than the magnitudes.
double bound(const MatMulExtents &e, double magnitude) {
  return (static_cast<double>(e.k) + 2) * 0x1p-24 * (magnitude + 2);
}

const SimtMatMulConfig large{128, 128, 8, 8, 8}, medium{64, 64, 16, 4, 8}, small{32, 32, 32, 4, 4};
const Case cases[] = {
    {"simt_128x128x8_v4", large, true, false, 4, {1, 128, 256, 64}},
    {"simt_128x128x8_v4", large, true, false, 4, {2, 150, 132, 20}},
    {"simt_128x128x8_v4", large, true, false, 4, {1, 1, 4, 4}},
    {"simt_64x64x16_v1", medium, true, false, 1, {2, 65, 33, 19}},
    {"simt_64x64x16_v1", medium, true, false, 1, {1, 1, 1, 1}},
    {"simt_64x64x16_v1", medium, true, false, 1, {1, 3, 130, 7}},
    {"simt_64x64x16_v2_tt", medium, false, true, 2, {2, 66, 34, 18}},
    {"simt_32x32x32_v4_nt", small, true, true, 4, {3, 40, 36, 44}},
};

class SimtMatMul : public testing::TestWithParam<Case> {};

TEST_P(SimtMatMul, ComputesAndCounts) {
  const Case &c = GetParam();
  const MatMulExtents &e = c.extents;
  ASSERT_TRUE(c.config.legal());
  for (unsigned seed : seeds) {
    KernelRunner runner("MatMulKernels");
    runner.setSeed(seed);
    Reference reference(e, c.alongKA, c.alongKB, seed);
    auto result = runner.allocate<float>(e.batches * e.m * e.n);
    Launched launched =
        runner.launch(c.kernel, matMulLaunch(c.config, e, 1), runner.upload(reference.a),
                      runner.upload(reference.b), result, runner.upload(reference.bias),
                      static_cast<int>(e.m), static_cast<int>(e.n), static_cast<int>(e.k), 2);
    EXPECT_EQ(launched.findings, "");
    std::vector<float> got = runner.download(result);
    for (int64_t batch = 0; batch < e.batches; ++batch)
      for (int64_t row = 0; row < e.m; ++row)
        for (int64_t col = 0; col < e.n; ++col) {
          auto [sum, magnitude] = reference.at(batch, row, col);
          double want = std::fmax(0, sum + reference.bias[col]);
          ASSERT_NEAR(got[(batch * e.m + row) * e.n + col], want, bound(e, magnitude))
              << "batch " << batch << " row " << row << " column " << col;
        }
    // The bias is the epilogue's own operand: one read a result.
    Traffic traffic = matMulTraffic(c.config, e, 1, 4, 4, 4);
    uint64_t results = e.batches * e.m * e.n;
    EXPECT_EQ(launched.counts.readBytes, traffic.readBytes + results * 4);
    EXPECT_EQ(launched.counts.writtenBytes, static_cast<uint64_t>(traffic.writtenBytes));
    EXPECT_EQ(launched.counts.uniqueReadBytes, traffic.uniqueReadBytes + e.n * 4);
    EXPECT_EQ(launched.counts.uniqueWrittenBytes, static_cast<uint64_t>(traffic.writtenBytes));
    if (stagingIsFree(c.config, c.vector))
      EXPECT_LE(launched.counts.wavefronts, launched.counts.idealWavefronts);
  }
}
INSTANTIATE_TEST_SUITE_P(Shapes, SimtMatMul, testing::ValuesIn(cases));

TEST(MatMul, OperandsMayLieElsewhereOrBeComputed) {
  const MatMulExtents e{6, 37, 36, 20};
  const int64_t heads = 3;
  for (unsigned seed : seeds) {
    KernelRunner runner("MatMulKernels");
    runner.setSeed(seed);
    Reference reference(e, true, false, seed);
    std::vector<float> inside(reference.a.size());
    for (int64_t batch = 0; batch < e.batches; ++batch)
      for (int64_t row = 0; row < e.m; ++row)
        for (int64_t k = 0; k < e.k; ++k)
          inside[((batch / heads * e.m + row) * heads + batch % heads) * e.k + k] =
              reference.a[(batch * e.m + row) * e.k + k];
    auto result = runner.allocate<float>(e.batches * e.m * e.n);
    Launched launched =
        runner.launch("simt_heads", matMulLaunch(medium, e, 1), runner.upload(inside),
                      runner.upload(reference.b), result, static_cast<int>(heads),
                      static_cast<int>(e.m), static_cast<int>(e.n), static_cast<int>(e.k));
    EXPECT_EQ(launched.findings, "");
    Traffic traffic = matMulTraffic(medium, e, 1, 4, 4, 4);
    EXPECT_EQ(launched.counts.readBytes, static_cast<uint64_t>(traffic.readBytes));
    EXPECT_EQ(launched.counts.uniqueReadBytes, static_cast<uint64_t>(traffic.uniqueReadBytes));
    std::vector<float> got = runner.download(result);
    for (int64_t i = 0; i < e.batches * e.m * e.n; ++i) {
      auto [sum, magnitude] = reference.at(i / (e.m * e.n), i / e.n % e.m, i % e.n);
      ASSERT_NEAR(got[i], 2 * sum, 2 * bound(e, magnitude)) << "element " << i;
    }
  }
}

TEST(MatMul, SplitKAddsTheParts) {
  const MatMulExtents e{2, 70, 68, 100};
  const int splits = 3;
  for (unsigned seed : seeds) {
    KernelRunner runner("MatMulKernels");
    runner.setSeed(seed);
    Reference reference(e, true, false, seed);
    reference.sharedB = true;
    std::vector<float> residual = randomFloats(e.batches * e.m * e.n, seed);
    auto workspace = runner.allocate<float>(splits * e.batches * e.m * e.n);
    auto result = runner.allocate<float>(e.batches * e.m * e.n);
    Launched parts =
        runner.launch("simt_split", matMulLaunch(medium, e, splits), runner.upload(reference.a),
                      runner.upload(reference.b), workspace, static_cast<int>(e.m),
                      static_cast<int>(e.n), static_cast<int>(e.k));
    EXPECT_EQ(parts.findings, "");
    EXPECT_EQ(parts.counts.writtenBytes,
              static_cast<uint64_t>(matMulTraffic(medium, e, splits, 4, 4, 4).writtenBytes));
    LaunchShape shape{{ceilDiv(e.m * ceilDiv(e.n, 4), 128), 1, e.batches}, 128, 0};
    Launched sum =
        runner.launch("simt_split_sum", shape, workspace, result, runner.upload(residual),
                      static_cast<int>(e.m), static_cast<int>(e.n), splits);
    EXPECT_EQ(sum.findings, "");
    EXPECT_EQ(sum.counts.coalescing(), 1);
    std::vector<float> got = runner.download(result);
    for (int64_t batch = 0; batch < e.batches; ++batch)
      for (int64_t row = 0; row < e.m; ++row)
        for (int64_t col = 0; col < e.n; ++col) {
          int64_t index = (batch * e.m + row) * e.n + col;
          auto [exact, magnitude] = reference.at(batch, row, col);
          ASSERT_NEAR(got[index], exact / 2 + residual[index], bound(e, magnitude));
        }
  }
}

struct SkinnyCase {
  const char *kernel;
  bool alongKB;
  MatMulExtents extents;
};

class SkinnyMatMul : public testing::TestWithParam<SkinnyCase> {};

TEST_P(SkinnyMatMul, ReadsEachWeightOnce) {
  const auto &[kernel, alongKB, e] = GetParam();
  const SkinnyMatMulConfig config{4, 4, 4};
  for (unsigned seed : seeds) {
    KernelRunner runner("MatMulKernels");
    runner.setSeed(seed);
    Reference reference(e, true, alongKB, seed);
    auto result = runner.allocate<float>(e.batches * e.m * e.n);
    int64_t perBlock = alongKB ? config.warps : config.tileN();
    LaunchShape shape{{ceilDiv(e.n, perBlock), 1, e.batches},
                      config.threads(),
                      alongKB ? 0 : config.sharedBytes()};
    Launched launched =
        runner.launch(kernel, shape, runner.upload(reference.a), runner.upload(reference.b), result,
                      runner.upload(reference.bias), static_cast<int>(e.m), static_cast<int>(e.n),
                      static_cast<int>(e.k));
    EXPECT_EQ(launched.findings, "");
    std::vector<float> got = runner.download(result);
    for (int64_t batch = 0; batch < e.batches; ++batch)
      for (int64_t row = 0; row < e.m; ++row)
        for (int64_t col = 0; col < e.n; ++col) {
          auto [sum, magnitude] = reference.at(batch, row, col);
          ASSERT_NEAR(got[(batch * e.m + row) * e.n + col], std::fmax(0, sum + reference.bias[col]),
                      bound(e, magnitude));
        }
    EXPECT_EQ(launched.counts.uniqueReadBytes,
              static_cast<uint64_t>(4 * (e.batches * (e.m * e.k + e.k * e.n) + e.n)));
    EXPECT_LE(launched.counts.wavefronts, launched.counts.idealWavefronts);
  }
}
INSTANTIATE_TEST_SUITE_P(Shapes, SkinnyMatMul,
                         testing::Values(SkinnyCase{"skinny", false, {1, 1, 256, 96}},
                                         SkinnyCase{"skinny", false, {2, 3, 132, 37}},
                                         SkinnyCase{"skinny_nt", true, {1, 4, 33, 260}},
                                         SkinnyCase{"skinny_nt", true, {2, 1, 5, 8}}));

TEST(MatMulConfig, RefusesWhatTheTemplateCannotDo) {
  EXPECT_TRUE(large.legal());
  EXPECT_FALSE((SimtMatMulConfig{128, 128, 8, 16, 16}.legal())) << "too many registers";
  EXPECT_FALSE((SimtMatMulConfig{128, 128, 12, 8, 8}.legal())) << "depth is no power of two";
  EXPECT_FALSE((SimtMatMulConfig{48, 64, 8, 4, 4}.legal())) << "rows not a multiple of 32";
  EXPECT_FALSE((TensorMatMulConfig{128, 128, 8, 64, 64, 3, 2}.legal())) << "less than one mma";
  EXPECT_EQ((SimtMatMulConfig{128, 128, 8, 8, 8}.sharedBytes()), 16384);
}

} // namespace
