//===- DeviceWeightsTest.cpp - Weights on a device are watched ------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DeviceSupport.h"

#include <chrono>
#include <sys/mman.h>
#include <thread>

using namespace kiln;
using namespace kiln::test;

namespace {

/// Weights are the model's first allocation on a device. Launches that check them
/// count: one for each of the two weights.
class DeviceWeights : public DeviceTest {
protected:
  /// In W, of 128 bytes, and in the bias behind it: sign bits of their floats.
  static constexpr uint64_t kInW = 7, kInBias = 135;

  void SetUp() override {
    DeviceTest::SetUp();
    watch.struct_size = sizeof watch;
    watch.reload = [](void *user, uint64_t offset, uint64_t size, void *into) {
      auto &self = *static_cast<DeviceWeights *>(user);
      ++self.reloads;
      std::memcpy(into, self.pristine.data() + offset, size);
      return KILN_OK;
    };
    watch.reload_user = this;
    const uint8_t *weights = kiln_test_dense.weights;
    pristine.assign(weights, weights + kiln_test_dense.weights_size);
  }
  void TearDown() override {
    flipOnHost(false);
    DeviceTest::TearDown();
  }
  void start(uint32_t rate, uint32_t flags = 0) {
    watch.rate = rate;
    open(kiln_test_dense, &watch);
    ASSERT_EQ(create(kDevice, flags), KILN_OK) << modelReason();
    for (uint32_t i = 1; i != 4; ++i)
      ASSERT_EQ(runOnHost(5, i), KILN_OK) << reason();
    ASSERT_EQ(integrity().damaged, 0u);
  }
  /// A bit of a weight there, from a kernel's point of view between two runs.
  void flipThere(uint64_t offset) { *address(offset) ^= 0x80; }
  /// The device's memory is the host's; no other one is held for so long.
  uint8_t *address(uint64_t offset) {
    const cuda::DriverTable &driver = cuda::sim().driver;
    cuda::CUdeviceptr base = 0;
    size_t size = 0;
    // The simulator gives out memory in ascending order: the first live one.
    for (cuda::CUdeviceptr at = firstPage; !base; at += 4096)
      if (driver.cuMemGetAddressRange(&base, &size, at) != cuda::CUDA_SUCCESS ||
          size != kiln_test_dense.weights_size)
        base = 0;
    return reinterpret_cast<uint8_t *>(base) + offset;
  }
  void flipOnHost(bool damaged) {
    auto *weights = const_cast<uint8_t *>(kiln_test_dense.weights);
    auto page = uintptr_t(weights) & ~uintptr_t(4095);
    mprotect(reinterpret_cast<void *>(page), 8192, PROT_READ | PROT_WRITE);
    std::memcpy(weights, pristine.data(), pristine.size());
    if (damaged)
      weights[kInW] ^= 0x80;
    mprotect(reinterpret_cast<void *>(page), 8192, PROT_READ);
  }
  void findFirstPage() {
    beCaller();
    cuda::CUdeviceptr probe = 0;
    ASSERT_EQ(cuda::sim().driver.cuMemAlloc(&probe, 1), cuda::CUDA_SUCCESS);
    firstPage = probe;
    ASSERT_EQ(cuda::sim().driver.cuMemFree(probe), cuda::CUDA_SUCCESS);
  }

  kiln_integrity_options watch = {};
  std::vector<uint8_t> pristine;
  int reloads = 0;
  cuda::CUdeviceptr firstPage = 0;
};

TEST_F(DeviceWeights, ArriveWhole) {
  // A bit flips between the copy and the check: it is copied again.
  inject([](auto &o) {
    o.flip_launch = 2;
    o.flip_allocation = 1;
    o.flip_address = kInBias;
    o.flip_bit = 7;
  });
  open();
  ASSERT_EQ(create(), KILN_OK) << modelReason();
  EXPECT_EQ(runOnHost(), KILN_OK) << reason();
}

TEST_F(DeviceWeights, AreComparedWhenTheyArrive) {
  flipOnHost(true);
  open();
  EXPECT_EQ(create(), KILN_DAMAGED);
  EXPECT_EQ(modelReason(), "sim:sm_80: weight 'W' does not arrive as it is");
}

TEST_F(DeviceWeights, AreMendedAfterTheRunThatUsedThem) {
  findFirstPage();
  for (uint32_t flags : {0u, uint32_t(KILN_INTEGRITY_KEYED)}) {
    watch.flags = flags;
    events.clear();
    start(KILN_CHECK_EVERY_RUN);
    for (uint64_t offset : {kInW, kInBias}) {
      flipThere(offset);
      EXPECT_EQ(runOnHost(6, 9), KILN_OK) << "made again before its result is given out";
    }
    kiln_integrity_stats stats = integrity();
    EXPECT_EQ(stats.damaged, 2u);
    EXPECT_EQ(stats.reloaded, 2u);
    EXPECT_EQ(stats.recomputed_runs, 2u);
    EXPECT_EQ(reloads, 0) << "the host's copy was whole";
    ASSERT_EQ(events.size(), 4u);
    EXPECT_EQ(events[0].kind, uint32_t(KILN_EVENT_WEIGHT_DAMAGED));
    EXPECT_EQ(events[0].name, "W");
    EXPECT_EQ(events[0].text, "a weight changed in a device's memory");
    EXPECT_EQ(events[1].kind, uint32_t(KILN_EVENT_WEIGHT_RELOADED));
    EXPECT_EQ(events[2].name, "bias");
    EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
    EXPECT_EQ(kiln_model_close(model), KILN_OK);
    session = nullptr;
    model = nullptr;
  }
}

TEST_F(DeviceWeights, AreMendedFromAWholeHost) {
  findFirstPage();
  start(KILN_CHECK_EVERY_RUN);
  flipOnHost(true);
  flipThere(kInW);
  EXPECT_EQ(runOnHost(6, 9), KILN_OK) << reason();
  EXPECT_EQ(reloads, 1);
  EXPECT_EQ(std::memcmp(kiln_test_dense.weights, pristine.data(), pristine.size()), 0);
}

TEST_F(DeviceWeights, ThatCannotBeMendedOpenTheBreaker) {
  findFirstPage();
  watch.reload = nullptr;
  watch.breaker_open_ms = 86400000;
  start(KILN_CHECK_EVERY_RUN);
  flipOnHost(true);
  flipThere(kInW);
  EXPECT_EQ(runOnHost(), KILN_DAMAGED);
  EXPECT_TRUE(has(reason(), "there is no way to reload")) << reason();
  EXPECT_EQ(runOnHost(), KILN_CIRCUIT_OPEN);
  EXPECT_EQ(device(), kDevice) << "no failure of the device";
}

TEST_F(DeviceWeights, AreCheckedInTurn) {
  findFirstPage();
  start(KILN_CHECK_ROLLING);
  flipThere(kInBias);
  // So many bytes as 1/128 of the runs' time pays for: all of them sooner or later.
  DeviceTensor x(kFirst, {64, 8}), y(kFirst, {64, 4}), z(kFirst, {128, 4});
  x.tensor.fill(3);
  x.upload();
  int runs = 0;
  while (!integrity().reloaded && ++runs != 20000)
    ASSERT_EQ(run(x.tensor.view, y.tensor.view, z.tensor.view), KILN_OK) << reason();
  EXPECT_EQ(integrity().reloaded, 1u);
  EXPECT_EQ(z.download(), Expected(x.tensor.values).z) << "that run was made again";
}

TEST_F(DeviceWeights, AreCheckedWhileNothingRuns) {
  findFirstPage();
  watch.background_round_ms = 20;
  start(KILN_CHECK_BACKGROUND);
  flipThere(kInW);
  for (int i = 0; i != 2000 && !integrity().reloaded; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(integrity().reloaded, 1u);
  EXPECT_EQ(runOnHost(), KILN_OK);
}

TEST_F(DeviceWeights, AreCheckedWhenTheHostAsks) {
  findFirstPage();
  start(KILN_CHECK_NEVER);
  flipThere(kInW);
  EXPECT_EQ(kiln_model_check(model, 0), KILN_OK);
  EXPECT_EQ(integrity().reloaded, 1u);
  EXPECT_EQ(runOnHost(), KILN_OK) << reason();
}

TEST_F(DeviceWeights, OnADeviceThatIsLostAreNoDamage) {
  start(KILN_CHECK_EVERY_RUN, KILN_SESSION_TWIN);
  // The first launch of the check after the run, which has three.
  inject([](auto &o) { o.sticky_launch = 4; });
  EXPECT_EQ(runOnHost(), KILN_OK) << reason();
  EXPECT_EQ(device(), "cpu");
  EXPECT_EQ(integrity().damaged, 0u);
  EXPECT_EQ(kiln_model_check(model, 0), KILN_OK) << "the host's alone are left";
}

} // namespace
