//===- CountTest.cpp - Counted traffic, conflicts and work ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SimTest.h"

#include <cstring>

using namespace kiln::cuda;

namespace {

class CountTest : public SimTest {
protected:
  template <class... A>
  kiln_sim_counts run(const char *kernel, unsigned grid, unsigned block, unsigned shared,
                      A... arguments) {
    if (!module)
      load("Counts");
    EXPECT_EQ(launch(kernel, {grid}, {block}, shared, arguments...), CUDA_SUCCESS);
    EXPECT_EQ(synchronize(), CUDA_SUCCESS);
    EXPECT_EQ(findings().size(), 0u) << sim().report();
    return counts(kernel);
  }
  CUdeviceptr filled(int count) { return upload(std::vector<float>(count, 1.0f)); }
};

TEST_F(CountTest, contiguous) {
  const kiln_sim_counts c = run("contiguous", 4, 128, 0, filled(512), filled(512));
  EXPECT_EQ(c.launches, 1u);
  EXPECT_EQ(c.blocks, 4u);
  EXPECT_EQ(c.threads, 512u);
  EXPECT_EQ(c.global_reads, 16u);
  EXPECT_EQ(c.global_writes, 16u);
  EXPECT_EQ(c.global_read_bytes, 2048u);
  EXPECT_EQ(c.global_write_bytes, 2048u);
  EXPECT_EQ(c.unique_read_bytes, 2048u);
  EXPECT_EQ(c.unique_written_bytes, 2048u);
  EXPECT_EQ(c.sectors, 2 * 64u);
  EXPECT_EQ(c.ideal_sectors, c.sectors);
}

TEST_F(CountTest, vectorsAreOneAccess) {
  const kiln_sim_counts c = run("vectors", 1, 128, 0, filled(512), filled(512));
  EXPECT_EQ(c.global_reads, 4u);
  EXPECT_EQ(c.global_writes, 4u);
  EXPECT_EQ(c.sectors, 2 * 64u);
  EXPECT_EQ(c.ideal_sectors, c.sectors);
}

TEST_F(CountTest, stridedAndBroadcast) {
  const kiln_sim_counts s = run("strided", 1, 32, 0, filled(32), filled(256));
  EXPECT_EQ(s.sectors, 32u + 4);
  EXPECT_EQ(s.ideal_sectors, 4u + 4);
  const kiln_sim_counts b = run("broadcast", 1, 32, 0, filled(32), filled(1));
  EXPECT_EQ(b.global_read_bytes, 128u);
  EXPECT_EQ(b.unique_read_bytes, 4u);
  EXPECT_EQ(b.sectors, 1u + 4);
  EXPECT_EQ(b.ideal_sectors, 1u + 4);
}

TEST_F(CountTest, bankConflicts) {
  const kiln_sim_counts bad = run("transposeConflicts", 1, 32, 0, filled(1024), filled(1024));
  EXPECT_EQ(bad.shared_writes, 32u);
  EXPECT_EQ(bad.shared_reads, 32u);
  EXPECT_EQ(bad.ideal_shared_wavefronts, 64u);
  EXPECT_EQ(bad.shared_wavefronts, 32u + 32 * 32);
  const kiln_sim_counts good = run("transposePadded", 1, 32, 0, filled(1024), filled(1024));
  EXPECT_EQ(good.shared_wavefronts, good.ideal_shared_wavefronts);
  EXPECT_EQ(good.ideal_shared_wavefronts, 64u);
}

TEST_F(CountTest, ldmatrixConflicts) {
  // Four vector stores of four phases each, then four phases of rows.
  const kiln_sim_counts bad = run("ldmatrixConflicts", 1, 32, 2048, filled(32));
  EXPECT_EQ(bad.ideal_shared_wavefronts, 16u + 4);
  EXPECT_EQ(bad.shared_wavefronts, 16u + 4 * 4);
  const kiln_sim_counts good = run("ldmatrixSwizzled", 1, 32, 2048, filled(32));
  EXPECT_EQ(good.shared_wavefronts, good.ideal_shared_wavefronts);
}

TEST_F(CountTest, arithmeticByUnit) {
  CUdeviceptr d = upload(std::vector<double>(64, 2.0)), n = upload(std::vector<int>(64, 5));
  CUdeviceptr y = filled(64);
  const kiln_sim_counts c = run("arithmetic", 1, 64, 0, y, filled(64), d, n);
  EXPECT_EQ(c.arithmetic[KILN_SIM_FP32], 3 * 64u);
  EXPECT_EQ(c.arithmetic[KILN_SIM_FP64], 2 * 64u);
  EXPECT_EQ(c.arithmetic[KILN_SIM_SPECIAL], 64u);
  EXPECT_EQ(c.arithmetic[KILN_SIM_INTEGER], 4 * 64u);
  EXPECT_EQ(c.arithmetic[KILN_SIM_HALF], 0u);
  EXPECT_EQ(download<float>(y, 1)[0], 4.0f);
  EXPECT_EQ(download<int>(n, 1)[0], (5 ^ 0x55) * 3 - 2);
}

TEST_F(CountTest, halvesAreTheirOwnUnit) {
  const kiln_sim_counts c = run("halves", 1, 32, 0, upload(std::vector<uint32_t>(32, 0x3c003c00)));
  EXPECT_EQ(c.arithmetic[KILN_SIM_HALF], 64u);
  EXPECT_EQ(c.arithmetic[KILN_SIM_FP32], 0u);
}

TEST_F(CountTest, divergence) {
  CUdeviceptr n = upload(std::vector<int>(66, 0));
  const kiln_sim_counts d = run("divergent", 1, 64, 0, n);
  EXPECT_EQ(d.branches, 4u); // Two warps, two ways.
  EXPECT_EQ(d.divergent_branches, 4u);
  EXPECT_EQ(d.atomics, 2u);
  EXPECT_EQ(download<int>(n, 66)[64], 32);
  const kiln_sim_counts u = run("uniform", 1, 64, 0, n);
  EXPECT_EQ(u.branches, 2u);
  EXPECT_EQ(u.divergent_branches, 0u);
  EXPECT_EQ(u.atomics, 1u);
}

TEST_F(CountTest, asyncCopiesReadWhatTheyMust) {
  CUdeviceptr y = filled(32);
  const kiln_sim_counts c = run("asyncCopies", 1, 32, 512, y, filled(64));
  EXPECT_EQ(c.async_copies, 1u);
  EXPECT_EQ(c.global_read_bytes, 16 * 16u);
  EXPECT_EQ(c.unique_read_bytes, 16 * 16u);
  const std::vector<float> got = download<float>(y, 32);
  EXPECT_EQ(got[0], 1.0f);
  EXPECT_EQ(got[31], 1.0f);
}

TEST_F(CountTest, sitesNameLines) {
  run("strided", 1, 32, 0, filled(32), filled(256));
  bool found = false;
  for (size_t i = 0; i < sim().siteCount(); ++i) {
    kiln_sim_site s = {};
    ASSERT_EQ(sim().site(i, &s), 0);
    EXPECT_EQ(std::string(s.where).substr(0, 10), "Counts.cu:");
    if (s.operation != 'r')
      continue;
    found = true;
    EXPECT_STREQ(s.kernel, "strided");
    EXPECT_EQ(s.space, 'g');
    EXPECT_EQ(s.lanes, 32u);
    EXPECT_EQ(s.units, 32u);
    EXPECT_EQ(s.ideal_units, 4u);
  }
  EXPECT_TRUE(found);
  kiln_sim_site none;
  EXPECT_EQ(sim().site(sim().siteCount(), &none), -1);
}

TEST_F(CountTest, hostThreadsCountTheSame) {
  const kiln_sim_counts one = run("contiguous", 64, 128, 0, filled(8192), filled(8192));
  kiln_sim_options options = {};
  options.host_threads = 2;
  start(options);
  const kiln_sim_counts two = run("contiguous", 64, 128, 0, filled(8192), filled(8192));
  EXPECT_EQ(memcmp(&one, &two, sizeof one), 0);
}

TEST_F(CountTest, noChecksCountNothing) {
  kiln_sim_options options = {};
  options.no_checks = 1;
  start(options);
  const kiln_sim_counts c = run("contiguous", 4, 128, 0, filled(512), filled(512));
  EXPECT_EQ(c.launches, 1u);
  EXPECT_EQ(c.global_read_bytes, 0u);
}

} // namespace
