//===- AttentionTest.cpp - Attention on the simulator --------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HalfFloats.h"
#include "KernelRunner.h"
#include "lib/Target/CUDA/Kernels/Attention/Attention.config.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace kiln::cuda;
using namespace kiln::cuda::test;

namespace {

enum class Mask { none, causal, additive };

struct Problem {
  AttentionExtents e;
  Mask kind;
  std::vector<float> q, k, v, mask;

  Problem(const AttentionExtents &e, Mask kind, unsigned seed)
      : e(e), kind(kind),
        q(randomFloats(size_t(e.batches) * e.heads * e.queries * e.headSize, seed, -2, 2)),
        k(randomFloats(size_t(e.batches) * e.keyHeads * e.keys * e.headSize, seed + 1, -2, 2)),
        v(randomFloats(size_t(e.batches) * e.keyHeads * e.keys * e.valueSize, seed + 2)),
        mask(size_t(e.queries) * e.keys) {
    for (size_t i = 0; i < mask.size(); ++i) // every query sees the first key at least
      mask[i] = i % e.keys != 0 && i * 7 % 5 < 2 ? -INFINITY : static_cast<float>(i % 3) * 0.25f;
  }

  size_t results() const { return size_t(e.batches) * e.heads * e.queries * e.valueSize; }

  /// |error| <= relative * (largest |v|), for results are means of values.
  void expect(const std::vector<float> &got, double bound) const {
    size_t index = 0;
    for (int batch = 0; batch < e.batches; ++batch)
      for (int head = 0; head < e.heads; ++head)
        for (int query = 0; query < e.queries; ++query) {
          size_t keyHead = size_t(batch) * e.keyHeads + head / (e.heads / e.keyHeads);
          std::vector<double> powers(e.keys);
          double maximum = -INFINITY, sum = 0;
          for (int key = 0; key < e.keys; ++key) {
            double score = 0;
            for (int d = 0; d < e.headSize; ++d)
              score +=
                  double(
                      q[((size_t(batch) * e.heads + head) * e.queries + query) * e.headSize + d]) *
                  k[(keyHead * e.keys + key) * e.headSize + d];
            score /= std::sqrt(e.headSize);
            if (kind == Mask::additive)
              score += mask[size_t(query) * e.keys + key];
            if (kind == Mask::causal && key > query + e.keys - e.queries)
              score = -INFINITY;
            powers[key] = score;
            maximum = std::fmax(maximum, score);
          }
          for (double &power : powers)
            sum += power = std::exp(power - maximum);
          for (int col = 0; col < e.valueSize; ++col, ++index) {
            double want = 0;
            for (int key = 0; key < e.keys; ++key)
              want += powers[key] * v[(keyHead * e.keys + key) * e.valueSize + col] / sum;
            if (std::isnan(want)) // no key at all: 0 / 0, as the unfused chain
              ASSERT_TRUE(std::isnan(got[index]));
            else
              ASSERT_NEAR(got[index], want, bound) << "query " << query << " column " << col;
          }
        }
  }
};

struct Case {
  const char *kernel;
  Mask mask;
  bool wide;
  AttentionExtents e;
};

constexpr SimtAttentionConfig simt64{32, 32, 64, 4}, simt128{16, 64, 128, 4};
constexpr TensorAttentionConfig tensor64(64, 64, 4, 2), tensor128(32, 128, 4, 3);

/// The mask's bytes are the functor's own and lie between one read a score and the unique ones.
template <class Config>
void expectTraffic(const Launched &launched, const Config &config, const Problem &problem,
                   int bytes) {
  EXPECT_EQ(launched.findings, "");
  Traffic traffic = attentionTraffic(config, problem.e, problem.kind == Mask::causal, bytes, bytes);
  EXPECT_EQ(launched.counts.writtenBytes, static_cast<uint64_t>(traffic.writtenBytes));
  uint64_t masks = problem.kind == Mask::additive
                       ? uint64_t(problem.e.batches) * problem.e.heads * problem.mask.size() * 4
                       : 0;
  // The extents' struct is read by every thread of these tests' kernels.
  uint64_t extents = sizeof(AttentionExtents) * config.threads() *
                     ceilDiv(problem.e.queries, config.tileQ) * problem.e.heads * problem.e.batches;
  EXPECT_LE(launched.counts.readBytes, traffic.readBytes + masks + extents);
  EXPECT_GE(launched.counts.readBytes, traffic.readBytes + masks);
  EXPECT_LE(launched.counts.wavefronts, launched.counts.idealWavefronts) << "bank conflicts";
}

class SimtAttention : public testing::TestWithParam<Case> {};
TEST_P(SimtAttention, Computes) {
  const auto &[kernel, mask, wide, e] = GetParam();
  const SimtAttentionConfig &config = wide ? simt128 : simt64;
  ASSERT_TRUE(config.legal());
  for (unsigned seed : seeds) {
    KernelRunner runner("AttentionKernels");
    runner.setSeed(seed);
    Problem problem(e, mask, seed);
    auto y = runner.allocate<float>(problem.results());
    Launched launched =
        runner.launch(kernel, attentionLaunch(config, e), runner.upload(problem.q),
                      runner.upload(problem.k), runner.upload(problem.v), y,
                      runner.upload(problem.mask), runner.upload(std::vector<AttentionExtents>{e}));
    problem.expect(runner.download(y), 256 * 0x1p-24);
    expectTraffic(launched, config, problem, 4);
  }
}
INSTANTIATE_TEST_SUITE_P(
    Shapes, SimtAttention,
    testing::Values(Case{"simt_plain", Mask::none, false, {1, 2, 2, 40, 70, 64, 64}},
                    Case{"simt_plain", Mask::none, false, {2, 2, 1, 5, 33, 40, 24}},
                    Case{"simt_plain", Mask::none, false, {1, 1, 1, 1, 1, 4, 4}},
                    Case{"simt_causal", Mask::causal, false, {1, 2, 1, 70, 70, 32, 32}},
                    Case{"simt_causal", Mask::causal, false, {1, 1, 1, 9, 50, 32, 32}},
                    Case{"simt_causal", Mask::causal, false, {1, 1, 1, 50, 9, 32, 32}},
                    Case{"simt_masked", Mask::additive, true, {1, 2, 2, 20, 100, 128, 96}}));

class TensorAttention : public testing::TestWithParam<Case> {};
TEST_P(TensorAttention, Computes) {
  const auto &[kernel, mask, wide, e] = GetParam();
  const TensorAttentionConfig &config = wide ? tensor128 : tensor64;
  ASSERT_TRUE(config.legal());
  for (unsigned seed : seeds) {
    KernelRunner runner("AttentionKernels");
    runner.setSeed(seed);
    Problem problem(e, mask, seed);
    auto half = [](std::vector<float> &values) {
      std::vector<uint16_t> bits = toHalf(values, HalfType::f16);
      values = fromHalf(bits, HalfType::f16);
      return bits;
    };
    auto q = runner.upload(half(problem.q)), k = runner.upload(half(problem.k)),
         v = runner.upload(half(problem.v));
    auto y = runner.allocate<uint16_t>(problem.results());
    Launched launched =
        runner.launch(kernel, attentionLaunch(config, e), q, k, v, y, runner.upload(problem.mask),
                      runner.upload(std::vector<AttentionExtents>{e}));
    // Exponentials and results are rounded to fp16.
    problem.expect(fromHalf(runner.download(y), HalfType::f16), 3 * 0x1p-11);
    expectTraffic(launched, config, problem, 2);
  }
}
INSTANTIATE_TEST_SUITE_P(
    Shapes, TensorAttention,
    testing::Values(Case{"f16_plain", Mask::none, false, {1, 2, 2, 70, 130, 64, 64}},
                    Case{"f16_plain", Mask::none, false, {2, 2, 1, 5, 33, 40, 24}},
                    Case{"f16_plain", Mask::none, false, {1, 1, 1, 1, 1, 8, 8}},
                    Case{"f16_causal", Mask::causal, false, {1, 2, 1, 130, 130, 64, 64}},
                    Case{"f16_causal", Mask::causal, false, {1, 1, 1, 100, 9, 32, 32}},
                    Case{"f16_masked", Mask::additive, true, {1, 2, 2, 20, 100, 128, 96}}));

} // namespace
