//===- LaunchTest.cpp - Kernels run and give right values -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SimTest.h"

#include <numeric>

using namespace kiln::cuda;

namespace {

struct ScaleParams {
  float factor;
  double unused;
  int count;
};

class LaunchTest : public SimTest, public ::testing::WithParamInterface<const char *> {};

std::vector<float> ramp(size_t count) {
  std::vector<float> v(count);
  std::iota(v.begin(), v.end(), 1.0f);
  return v;
}

TEST_P(LaunchTest, scaleTakesPointersAndStructs) {
  load("BasicKernels", GetParam());
  const int n = 1000;
  CUdeviceptr x = upload(ramp(n)), y = upload(std::vector<float>(n, 0.5f));
  ASSERT_EQ(launch("scale", {8}, {128}, 0, y, x, ScaleParams{2.0f, 0, n}), CUDA_SUCCESS);
  ASSERT_EQ(synchronize(), CUDA_SUCCESS);
  const std::vector<float> got = download<float>(y, n);
  for (int i = 0; i < n; ++i)
    ASSERT_EQ(got[i], 2.0f * float(i + 1) + 0.5f) << i;
  EXPECT_EQ(findings().size(), 0u) << sim().report();
}

TEST_P(LaunchTest, rowSumCrossesWarps) {
  load("BasicKernels", GetParam());
  const int rows = 5, columns = 300;
  CUdeviceptr x = upload(ramp(rows * columns)), sums = allocate(rows * 4);
  ASSERT_EQ(launch("rowSum", {rows}, {128}, 0, sums, x, columns), CUDA_SUCCESS);
  const std::vector<float> got = download<float>(sums, rows);
  for (int r = 0; r < rows; ++r)
    EXPECT_EQ(got[r], float(columns) * (2 * r * columns + columns + 1) / 2);
  EXPECT_EQ(findings().size(), 0u) << sim().report();
}

TEST_P(LaunchTest, indicesHaveThreeDimensions) {
  load("BasicKernels", GetParam());
  const unsigned grid[3] = {2, 3, 2}, block[3] = {4, 3, 5};
  CUdeviceptr out = allocate(12 * 60 * 4);
  ASSERT_EQ(launch("indices", {2, 3, 2}, {4, 3, 5}, 0, out), CUDA_SUCCESS);
  const std::vector<int> got = download<int>(out, 12 * 60);
  for (unsigned i = 0; i < 720; ++i) {
    const unsigned b = i / 60, t = i % 60;
    const unsigned expected = b % grid[0] | b / grid[0] % grid[1] << 4 | b / 6 << 8 |
                              t % block[0] << 12 | t / block[0] % block[1] << 16 | t / 12 << 20;
    ASSERT_EQ(unsigned(got[i]), expected) << i;
  }
}

TEST_P(LaunchTest, reverseWaitsForItsCopies) {
  load("BasicKernels", GetParam());
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    kiln_sim_options options = {};
    options.seed = seed;
    start(options);
    load("BasicKernels", GetParam());
    CUdeviceptr x = upload(ramp(512)), y = allocate(512 * 4);
    ASSERT_EQ(launch("reverse", {2}, {64}, 1024, y, x), CUDA_SUCCESS);
    const std::vector<float> got = download<float>(y, 512);
    for (int i = 0; i < 512; ++i)
      ASSERT_EQ(got[i], float(i / 256 * 256 + 256 - i % 256)) << i;
    EXPECT_EQ(findings().size(), 0u) << sim().report();
  }
}

INSTANTIATE_TEST_SUITE_P(Flavours, LaunchTest, ::testing::Values("plain", "checked"));

} // namespace
