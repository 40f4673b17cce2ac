//===- NormLinearTest.cpp - Norm, activation and product on the simulator -===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"
#include "lib/Target/CUDA/Kernels/NormLinear/NormLinear.config.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace kiln::cuda;
using namespace kiln::cuda::test;

namespace {

struct Case {
  const char *kernel;
  bool centred, gelu;
  int vector;
  MatMulExtents e;
};
class NormLinear : public testing::TestWithParam<Case> {};

TEST_P(NormLinear, StoresNothingInBetween) {
  const auto &[kernel, centred, withGelu, vector, e] = GetParam();
  const NormLinearConfig config{{64, 64, 16, 4, 4}};
  ASSERT_TRUE(config.legal());
  for (unsigned seed : seeds) {
    KernelRunner runner("NormLinearKernels");
    runner.setSeed(seed);
    std::vector<float> x = randomFloats(e.m * e.k, seed, -1, 3),
                       scale = randomFloats(e.k, seed + 1), bias = randomFloats(e.k, seed + 2),
                       b = randomFloats(e.k * e.n, seed + 3);
    auto y = runner.allocate<float>(e.m * e.n);
    Launched launched = runner.launch(
        kernel, config.launch(e), runner.upload(x), runner.upload(scale), runner.upload(bias),
        runner.upload(b), y, static_cast<int>(e.m), static_cast<int>(e.n), static_cast<int>(e.k));
    EXPECT_EQ(launched.findings, "");
    std::vector<float> got = runner.download(y);
    for (int64_t row = 0; row < e.m; ++row) {
      double mean = 0, squares = 0;
      for (int64_t k = 0; k < e.k; ++k)
        mean += centred ? double(x[row * e.k + k]) / double(e.k) : 0;
      for (int64_t k = 0; k < e.k; ++k)
        squares += std::pow(x[row * e.k + k] - mean, 2) / double(e.k);
      double deviation = std::sqrt(squares + 1e-5);
      for (int64_t col = 0; col < e.n; ++col) {
        double want = 0, bound = 0;
        for (int64_t k = 0; k < e.k; ++k) {
          double normal = (x[row * e.k + k] - mean) / deviation;
          double v = normal * scale[k] + bias[k], weight = b[k * e.n + col];
          double error = 32 * 0x1p-24 * (std::fabs(normal) + 1 + std::fabs(mean) / deviation);
          v = withGelu ? 0.5 * v * (1 + std::erf(v * M_SQRT1_2)) : v;
          want -= v * weight;
          // GELU is nowhere steeper than 1.13.
          bound += std::fabs(weight) * (1.13 * error + (double(e.k) + 4) * 0x1p-24 * std::fabs(v));
        }
        ASSERT_NEAR(got[row * e.n + col], want, bound) << "row " << row << " column " << col;
      }
    }
    Traffic traffic = normLinearTraffic(config, e, centred, 4, 4);
    // Scale and bias, with each element of each column of tiles.
    traffic.readBytes += e.m * e.k * ceilDiv(e.n, config.product.tileN) * 8;
    traffic.uniqueReadBytes += e.k * 8;
    EXPECT_EQ(launched.counts.readBytes, static_cast<uint64_t>(traffic.readBytes));
    EXPECT_EQ(launched.counts.writtenBytes, static_cast<uint64_t>(traffic.writtenBytes));
    EXPECT_EQ(launched.counts.uniqueReadBytes, static_cast<uint64_t>(traffic.uniqueReadBytes));
    if (stagingIsFree(config.product, vector))
      EXPECT_LE(launched.counts.wavefronts, launched.counts.idealWavefronts) << "bank conflicts";
  }
}
INSTANTIATE_TEST_SUITE_P(
    Shapes, NormLinear,
    testing::Values(Case{"layer_norm_gelu_linear", true, true, 4, {1, 70, 132, 96}},
                    Case{"layer_norm_gelu_linear", true, true, 4, {1, 1, 4, 768}},
                    Case{"rms_norm_linear", false, false, 1, {1, 65, 3, 33}}));

} // namespace
