//===- TensorMatMulTest.cpp - Tensor-core products on the simulator ------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HalfFloats.h"
#include "KernelRunner.h"
#include "lib/Target/CUDA/Kernels/MatMul/MatMul.config.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace kiln::cuda;
using namespace kiln::cuda::test;

namespace {

double gelu(double x) { return 0.5 * x * (1 + std::erf(x * M_SQRT1_2)); }

/// The sum and the sum of magnitudes of one element.
template <class T>
std::pair<double, double> exactElement(const std::vector<T> &a, const std::vector<T> &b,
                                       const MatMulExtents &e, bool alongKA, bool alongKB,
                                       int64_t batch, int64_t row, int64_t col) {
  double sum = 0, magnitude = 0;
  for (int64_t k = 0; k < e.k; ++k) {
    double product = double(a[batch * e.m * e.k + (alongKA ? row * e.k + k : k * e.m + row)]) *
                     double(b[batch * e.k * e.n + (alongKB ? col * e.k + k : k * e.n + col)]);
    sum += product;
    magnitude += std::fabs(product);
  }
  return {sum, magnitude};
}

/// What every product has to fulfil: nothing found, the formula's traffic, no conflicts.
void expectCounts(const Launched &launched, const Traffic &traffic) {
  EXPECT_EQ(launched.findings, "");
  EXPECT_EQ(launched.counts.readBytes, static_cast<uint64_t>(traffic.readBytes));
  EXPECT_EQ(launched.counts.writtenBytes, static_cast<uint64_t>(traffic.writtenBytes));
  EXPECT_EQ(launched.counts.uniqueReadBytes, static_cast<uint64_t>(traffic.uniqueReadBytes));
  EXPECT_LE(launched.counts.wavefronts, launched.counts.idealWavefronts) << "bank conflicts";
}

struct HalfCase {
  const char *kernel;
  TensorMatMulConfig config;
  bool alongKA, alongKB;
  MatMulExtents e;
};
class HalfMatMul : public testing::TestWithParam<HalfCase> {};

TEST_P(HalfMatMul, BiasAndGelu) {
  const auto &[kernel, config, alongKA, alongKB, e] = GetParam();
  ASSERT_TRUE(config.legal());
  for (unsigned seed : seeds) {
    KernelRunner runner("TensorMatMulKernels");
    runner.setSeed(seed);
    std::vector<uint16_t> a = toHalf(randomFloats(e.batches * e.m * e.k, seed), HalfType::f16),
                          b = toHalf(randomFloats(e.batches * e.k * e.n, seed + 1), HalfType::f16);
    std::vector<float> bias = randomFloats(e.n, seed + 2), fa = fromHalf(a, HalfType::f16),
                       fb = fromHalf(b, HalfType::f16);
    auto c = runner.allocate<uint16_t>(e.batches * e.m * e.n);
    Launched launched =
        runner.launch(kernel, matMulLaunch(config, e, 1), runner.upload(a), runner.upload(b), c,
                      runner.upload(bias), static_cast<int>(e.m), static_cast<int>(e.n),
                      static_cast<int>(e.k), 2);
    std::vector<float> got = fromHalf(runner.download(c), HalfType::f16);
    for (int64_t i = 0; i < e.batches * e.m * e.n; ++i) {
      auto [sum, magnitude] =
          exactElement(fa, fb, e, alongKA, alongKB, i / (e.m * e.n), i / e.n % e.m, i % e.n);
      double want = gelu(sum + bias[i % e.n]);
      ASSERT_NEAR(got[i], want,
                  halfUlp(HalfType::f16) * std::fabs(want) + 0x1p-25 +
                      (static_cast<double>(e.k) + 4) * 0x1p-23 * (magnitude + 2))
          << "element " << i;
    }
    Traffic traffic = matMulTraffic(config, e, 1, 2, 2, 2);
    // The bias: at most once a result, as the compiler likes.
    int64_t extra = static_cast<int64_t>(launched.counts.readBytes) - traffic.readBytes;
    EXPECT_GE(extra, e.n * 4);
    EXPECT_LE(extra, e.batches * e.m * e.n * 4);
    traffic.readBytes += extra;
    traffic.uniqueReadBytes += e.n * 4;
    expectCounts(launched, traffic);
  }
}

const TensorMatMulConfig half128{128, 128, 32, 64, 32, 4, 2}, half64{64, 64, 32, 32, 32, 3, 2},
    half64Deep{64, 64, 64, 32, 32, 2, 2}, bytes64{64, 64, 64, 32, 32, 3, 1},
    tf64{64, 64, 16, 32, 32, 3, 4}, tf64Deep{64, 64, 32, 32, 32, 3, 4};
INSTANTIATE_TEST_SUITE_P(
    Shapes, HalfMatMul,
    testing::Values(HalfCase{"f16_128x128x32", half128, true, false, {1, 150, 136, 88}},
                    HalfCase{"f16_128x128x32", half128, true, false, {1, 1, 8, 8}},
                    HalfCase{"f16_64x64x32", half64, true, false, {2, 70, 72, 200}},
                    HalfCase{"f16_64x64x64_nt", half64Deep, true, true, {2, 65, 68, 136}},
                    HalfCase{"f16_64x64x32_tn", half64, false, false, {1, 72, 80, 56}}));

TEST(TensorMatMul, OperandsMayPassThroughRegisters) {
  const MatMulExtents e{2, 67, 33, 45};
  for (unsigned seed : seeds) {
    KernelRunner runner("TensorMatMulKernels");
    runner.setSeed(seed);
    // Halves, so that the conversion rounds nothing.
    auto draw = [&](int64_t count, unsigned from) {
      return fromHalf(toHalf(randomFloats(count, from), HalfType::f16), HalfType::f16);
    };
    std::vector<float> a = draw(e.batches * e.m * e.k, seed),
                       b = draw(e.batches * e.k * e.n, seed + 1);
    auto c = runner.allocate<float>(e.batches * e.m * e.n);
    Launched launched = runner.launch("f16_gathered", matMulLaunch(half64, e, 1), runner.upload(a),
                                      runner.upload(b), c, static_cast<int>(e.m),
                                      static_cast<int>(e.n), static_cast<int>(e.k));
    expectCounts(launched, matMulTraffic(half64, e, 1, 4, 4, 4));
    std::vector<float> got = runner.download(c);
    for (int64_t i = 0; i < e.batches * e.m * e.n; ++i) {
      auto [sum, magnitude] =
          exactElement(a, b, e, true, false, i / (e.m * e.n), i / e.n % e.m, i % e.n);
      ASSERT_NEAR(got[i], sum, (static_cast<double>(e.k) + 4) * 0x1p-23 * (magnitude + 2))
          << "element " << i;
    }
  }
}

TEST(TensorMatMul, BytesAreExact) {
  const MatMulExtents e{2, 67, 72, 176};
  for (unsigned seed : seeds) {
    KernelRunner runner("TensorMatMulKernels");
    runner.setSeed(seed);
    std::mt19937 generator(seed);
    auto draw = [&](size_t count) {
      std::vector<int8_t> values(count);
      for (int8_t &value : values)
        value = static_cast<int8_t>(generator());
      return values;
    };
    std::vector<int8_t> a = draw(e.batches * e.m * e.k), b = draw(e.batches * e.n * e.k);
    auto c = runner.allocate<int>(e.batches * e.m * e.n);
    Launched launched =
        runner.launch("s8_64x64x64", matMulLaunch(bytes64, e, 1), runner.upload(a),
                      runner.upload(b), c, runner.allocate<float>(1), static_cast<int>(e.m),
                      static_cast<int>(e.n), static_cast<int>(e.k), 2);
    expectCounts(launched, matMulTraffic(bytes64, e, 1, 1, 1, 4));
    std::vector<int> got = runner.download(c);
    for (int64_t i = 0; i < e.batches * e.m * e.n; ++i)
      ASSERT_EQ(got[i],
                exactElement(a, b, e, true, true, i / (e.m * e.n), i / e.n % e.m, i % e.n).first);
  }
}

TEST(TensorMatMul, Tf32RoundsItsOperands) {
  for (bool alongKB : {false, true})
    for (unsigned seed : seeds) {
      const MatMulExtents e{1, 66, 72, 36};
      const TensorMatMulConfig &config = alongKB ? tf64Deep : tf64;
      KernelRunner runner("TensorMatMulAmpereKernels");
      runner.setSeed(seed);
      std::vector<float> a = randomFloats(e.m * e.k, seed), b = randomFloats(e.k * e.n, seed + 1);
      auto c = runner.allocate<float>(e.m * e.n);
      Launched launched =
          runner.launch(alongKB ? "tf32_64x64x32_nt" : "tf32_64x64x16", matMulLaunch(config, e, 1),
                        runner.upload(a), runner.upload(b), c, static_cast<int>(e.m),
                        static_cast<int>(e.n), static_cast<int>(e.k), 1);
      expectCounts(launched, matMulTraffic(config, e, 1, 4, 4, 4));
      std::vector<float> got = runner.download(c);
      double furthest = 0;
      for (int64_t i = 0; i < e.m * e.n; ++i) {
        auto [sum, magnitude] = exactElement(a, b, e, true, alongKB, 0, i / e.n, i % e.n);
        // Two operands rounded to 11 significant bits.
        ASSERT_NEAR(got[i], sum, (2 * 0x1p-11 + 40 * 0x1p-23) * magnitude);
        furthest = std::fmax(furthest, std::fabs(got[i] - sum));
      }
      EXPECT_GT(furthest, 1e-5) << "fp32 would be this exact: the operands were not rounded";
    }
}

TEST(TensorMatMul, BFloat16) {
  const MatMulExtents e{1, 70, 72, 96};
  for (unsigned seed : seeds) {
    KernelRunner runner("TensorMatMulAmpereKernels");
    runner.setSeed(seed);
    std::vector<uint16_t> a = toHalf(randomFloats(e.m * e.k, seed), HalfType::bf16),
                          b = toHalf(randomFloats(e.k * e.n, seed + 1), HalfType::bf16);
    std::vector<float> fa = fromHalf(a, HalfType::bf16), fb = fromHalf(b, HalfType::bf16);
    auto c = runner.allocate<uint16_t>(e.m * e.n);
    Launched launched = runner.launch("bf16_64x64x32", matMulLaunch(half64, e, 1), runner.upload(a),
                                      runner.upload(b), c, static_cast<int>(e.m),
                                      static_cast<int>(e.n), static_cast<int>(e.k), 1);
    expectCounts(launched, matMulTraffic(half64, e, 1, 2, 2, 2));
    std::vector<float> got = fromHalf(runner.download(c), HalfType::bf16);
    for (int64_t i = 0; i < e.m * e.n; ++i) {
      auto [sum, magnitude] = exactElement(fa, fb, e, true, false, 0, i / e.n, i % e.n);
      ASSERT_NEAR(got[i], sum,
                  halfUlp(HalfType::bf16) * std::fabs(sum) +
                      (static_cast<double>(e.k) + 4) * 0x1p-23 * magnitude);
    }
  }
}

TEST(TensorMatMul, SplitK) {
  const MatMulExtents e{2, 66, 72, 296};
  const int splits = 3;
  for (unsigned seed : seeds) {
    KernelRunner runner("TensorMatMulKernels");
    runner.setSeed(seed);
    std::vector<uint16_t> a = toHalf(randomFloats(e.batches * e.m * e.k, seed), HalfType::f16),
                          b = toHalf(randomFloats(e.batches * e.k * e.n, seed + 1), HalfType::f16);
    std::vector<float> bias = randomFloats(e.n, seed + 2), fa = fromHalf(a, HalfType::f16),
                       fb = fromHalf(b, HalfType::f16);
    auto workspace = runner.allocate<float>(splits * e.batches * e.m * e.n);
    auto c = runner.allocate<uint16_t>(e.batches * e.m * e.n);
    expectCounts(runner.launch("f16_split", matMulLaunch(half64, e, splits), runner.upload(a),
                               runner.upload(b), workspace, static_cast<int>(e.m),
                               static_cast<int>(e.n), static_cast<int>(e.k)),
                 matMulTraffic(half64, e, splits, 2, 2, 2));
    EXPECT_EQ(runner
                  .launch("f16_split_sum",
                          {{ceilDiv(e.m * ceilDiv(e.n, 4), 128), 1, e.batches}, 128, 0}, workspace,
                          c, runner.upload(bias), static_cast<int>(e.m), static_cast<int>(e.n),
                          splits)
                  .findings,
              "");
    std::vector<float> got = fromHalf(runner.download(c), HalfType::f16);
    for (int64_t i = 0; i < e.batches * e.m * e.n; ++i) {
      auto [sum, magnitude] =
          exactElement(fa, fb, e, true, false, i / (e.m * e.n), i / e.n % e.m, i % e.n);
      double want = gelu(sum + bias[i % e.n]);
      ASSERT_NEAR(got[i], want,
                  halfUlp(HalfType::f16) * std::fabs(want) + 0x1p-25 +
                      (static_cast<double>(e.k) + 4) * 0x1p-23 * (magnitude + 2));
    }
  }
}

} // namespace
