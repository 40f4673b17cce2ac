//===- RightTest.cpp - What is right is not reported ----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SimTest.h"

using namespace kiln::cuda;

namespace {

class RightTest : public SimTest, public ::testing::WithParamInterface<int> {
protected:
  void SetUp() override {
    kiln_sim_options options = {};
    options.seed = uint64_t(GetParam());
    start(options);
    load("Right");
  }
  void TearDown() override {
    EXPECT_EQ(findings().size(), 0u) << sim().report();
    SimTest::TearDown();
  }
  CUdeviceptr filled(int count) { return upload(std::vector<float>(count, 1.0f)); }
};

TEST_P(RightTest, halfWarps) {
  CUdeviceptr out = allocate(2 * 64 * 4);
  ASSERT_EQ(launch("halfWarps", {2}, {64}, 0, out), CUDA_SUCCESS);
  const std::vector<float> got = download<float>(out, 64);
  for (int t = 0; t < 64; ++t)
    EXPECT_EQ(got[t], float((t ^ 1) + (t ^ 3)));
}

TEST_P(RightTest, smallNeighbours) {
  CUdeviceptr out = allocate(64 * 4);
  ASSERT_EQ(launch("smallNeighbours", {1}, {64}, 0, out), CUDA_SUCCESS);
  EXPECT_EQ(download<float>(out, 64)[63], 3 * 63.0f);
}

TEST_P(RightTest, sharedAtomics) {
  CUdeviceptr out = allocate(3 * 128 * 4);
  ASSERT_EQ(launch("sharedAtomics", {3}, {128}, 0, out), CUDA_SUCCESS);
  EXPECT_EQ(download<int>(out, 128)[5], 127 * 64);
}

TEST_P(RightTest, ring) {
  std::vector<float> in(256 * 5);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = float(i % 97);
  CUdeviceptr out = allocate(64 * 4);
  ASSERT_EQ(launch("ring", {1}, {64}, 2048, out, upload(in), 5), CUDA_SUCCESS);
  const std::vector<float> got = download<float>(out, 64);
  for (int t = 0; t < 64; ++t) {
    float sum = 0;
    for (int i = 0; i < 5; ++i)
      sum += in[i * 256 + (t * 37 & 255)];
    EXPECT_EQ(got[t], sum) << t;
  }
}

TEST_P(RightTest, warpCalls) {
  CUdeviceptr out = allocate(64 * 16 * 4);
  ASSERT_EQ(launch("warpCalls", {1}, {64}, 0, out), CUDA_SUCCESS);
  const std::vector<unsigned> got = download<unsigned>(out, 64 * 16);
  for (unsigned t = 0; t < 64; ++t) {
    const unsigned lane = t & 31, *o = &got[t * 16];
    const unsigned expected[] = {0xaaaaaaaau,
                                 1,
                                 0,
                                 0xffu << lane / 8 * 8,
                                 496,
                                 unsigned(-5),
                                 0,
                                 lane ? lane - 1 : 0,
                                 (lane & 7) < 5 ? lane + 3 : lane,
                                 (lane & ~3u) + 2,
                                 40,
                                 0,
                                 1,
                                 lane | 7,
                                 1u << lane};
    for (unsigned i = 0; i < 15; ++i)
      EXPECT_EQ(o[i], expected[i]) << "call " << i << ", thread " << t;
    const unsigned bits = unsigned(__builtin_popcount(t));
    const unsigned zeros = t ? unsigned(__builtin_clz(t)) : 32;
    EXPECT_EQ(o[15], bits + zeros * 100 + unsigned(__builtin_ffs(int(t))) * 10000);
  }
}

TEST_P(RightTest, atomics) {
  CUdeviceptr f = upload(std::vector<float>(1, 0.0f));
  CUdeviceptr u = upload(std::vector<unsigned>{0, 1000, 0, ~0u, 0});
  CUdeviceptr h = upload(std::vector<uint32_t>(1, 0));
  ASSERT_EQ(launch("atomics", {2}, {32}, 0, f, u, h), CUDA_SUCCESS);
  EXPECT_EQ(download<float>(f, 1)[0], 32.0f);
  const std::vector<unsigned> got = download<unsigned>(u, 5);
  EXPECT_EQ(got[0], 31u);
  EXPECT_EQ(got[1], 0u);
  EXPECT_EQ(got[2], 4u); // 64 steps of 0 ... 9
  EXPECT_EQ(got[3], 0u);
  EXPECT_EQ(got[4], 128u);
  EXPECT_EQ(download<uint32_t>(h, 1)[0], 0x58005400u); // 64, 128 as halves
}

TEST_P(RightTest, lastBlockAdds) {
  CUdeviceptr parts = upload(std::vector<unsigned>(9, 0)), sum = upload(std::vector<unsigned>{0});
  CUdeviceptr counter = upload(std::vector<unsigned>{0});
  ASSERT_EQ(launch("lastBlockAdds", {9}, {32}, 0, parts, counter, sum), CUDA_SUCCESS);
  EXPECT_EQ(download<unsigned>(sum, 1)[0], 45u);
}

TEST_P(RightTest, byteNeighbours) {
  CUdeviceptr in = upload(std::vector<unsigned char>{1, 0, 0, 2});
  CUdeviceptr out = upload(std::vector<unsigned char>(7, 0));
  ASSERT_EQ(launch("byteNeighbours", {7}, {32}, 0, out, in), CUDA_SUCCESS);
  EXPECT_EQ(download<unsigned char>(out, 7), (std::vector<unsigned char>{3, 4, 5, 6, 7, 8, 9}));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RightTest, ::testing::Values(1, 2, 3));

} // namespace
