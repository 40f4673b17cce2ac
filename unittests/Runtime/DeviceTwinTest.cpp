//===- DeviceTwinTest.cpp - What becomes of a run when its device fails ---===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DeviceSupport.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace kiln::test;

namespace {

class DeviceTwin : public DeviceTest {
protected:
  /// Bytes for what a session has at first, not for its largest run.
  static constexpr uint64_t kTooLittle = 4096;

  /// The run answers, and all later ones do, on the CPU.
  void expectTwin(const char *because, int64_t rows = 7) {
    EXPECT_EQ(runOnHost(rows, 2), KILN_OK) << reason();
    EXPECT_EQ(device(), "cpu");
    EXPECT_TRUE(has(device(true), "sim:sm_80 failed: ")) << device(true);
    EXPECT_TRUE(has(device(true), because)) << device(true);
    EXPECT_EQ(runOnHost(3, 3), KILN_OK) << reason();
    EXPECT_EQ(metrics().sessions, 1u);
    EXPECT_EQ(metrics().device_failures, 1u);
    EXPECT_EQ(metrics().twin_runs, 2u);
    EXPECT_EQ(metrics().runs, 3u);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, uint32_t(KILN_EVENT_DEVICE_FAILED));
    EXPECT_EQ(events[0].status, KILN_OK);
    EXPECT_EQ(events[0].name, kDevice);
    EXPECT_EQ(kiln_session_device_pool(session), nullptr);
  }
  void start(uint32_t flags = KILN_SESSION_TWIN) {
    open();
    ASSERT_EQ(create(kDevice, flags), KILN_OK) << modelReason();
    ASSERT_EQ(runOnHost(), KILN_OK) << reason();
    ASSERT_EQ(device(), kDevice);
  }
};

TEST_F(DeviceTwin, TakesOverFromAKernelThatFaults) {
  start();
  inject([](auto &o) { o.sticky_launch = 2; });
  expectTwin("CUDA_ERROR_ILLEGAL_ADDRESS");
}

TEST_F(DeviceTwin, TakesOverFromALaunchThatIsRefused) {
  start();
  inject([](auto &o) { o.fail_launch = 2; });
  expectTwin("CUDA_ERROR_LAUNCH_FAILED");
}

TEST_F(DeviceTwin, TakesOverFromALostDevice) {
  // At each of the first calls of a run in turn.
  for (uint64_t call = 1; call < 26; call += 3) {
    start();
    events.clear();
    inject([&](auto &o) { o.lose_device = call; });
    expectTwin("CUDA_ERROR_UNKNOWN");
    configure({});
    EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
    EXPECT_EQ(kiln_model_close(model), KILN_OK);
    session = nullptr;
    model = nullptr;
    // The simulated card is put in again: nothing could be given back to it before.
    EXPECT_EQ(kiln::cuda::sim().driver.cuDevicePrimaryCtxReset(0), kiln::cuda::CUDA_SUCCESS);
  }
}

TEST_F(DeviceTwin, TakesOverWhenMemoryRunsOut) {
  start();
  inject([](auto &o) { o.memory_bytes = kTooLittle; });
  expectTwin("no memory on the device for", 64);
  EXPECT_EQ(used(0), kiln_generated_module.weights_size) << "all that the model still has there";
}

TEST_F(DeviceTwin, GivesBackWhatItHeld) {
  start();
  kiln_session *other = session;
  session = nullptr;
  ASSERT_EQ(create(kDevice, KILN_SESSION_TWIN), KILN_OK);
  kiln_pool *pool = kiln_session_device_pool(session);
  kiln_pool_stats stats = {};
  stats.struct_size = sizeof stats;
  kiln_pool_get_stats(pool, &stats);
  uint64_t alone = stats.static_used;
  ASSERT_EQ(runOnHost(), KILN_OK);
  inject([](auto &o) { o.fail_launch = 1; });
  EXPECT_EQ(runOnHost(), KILN_OK);
  EXPECT_EQ(device(), "cpu");
  kiln_pool_get_stats(pool, &stats);
  EXPECT_EQ(stats.static_used, alone);
  // The other one goes on: nothing but one launch was wrong.
  std::swap(session, other);
  EXPECT_EQ(runOnHost(), KILN_OK);
  EXPECT_EQ(device(), kDevice);
  EXPECT_EQ(kiln_session_destroy(other), KILN_OK);
}

TEST_F(DeviceTwin, IsNotForThoseWhoNameADevice) {
  start(0);
  inject([](auto &o) { o.sticky_launch = 2; });
  EXPECT_EQ(runOnHost(), KILN_DEVICE_FAILED);
  EXPECT_TRUE(has(reason(), "sim:sm_80: ")) << reason();
  EXPECT_TRUE(has(reason(), "(CUDA_ERROR_ILLEGAL_ADDRESS)")) << reason();
  EXPECT_EQ(runOnHost(), KILN_DEVICE_FAILED) << "the error stays";
  EXPECT_EQ(device(), kDevice);
  EXPECT_EQ(metrics().device_failures, 2u);
  EXPECT_EQ(metrics().failures[KILN_DEVICE_FAILED], 2u);
  EXPECT_EQ(metrics().twin_runs, 0u);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].status, KILN_DEVICE_FAILED);
}

TEST_F(DeviceTwin, SessionsMadeLaterFindTheDeviceInOrder) {
  start(0);
  inject([](auto &o) { o.sticky_launch = 1; });
  EXPECT_EQ(runOnHost(), KILN_DEVICE_FAILED);
  kiln_session *lost = session;
  session = nullptr;
  EXPECT_EQ(create(), KILN_DEVICE_FAILED) << "another session still holds the context";
  EXPECT_EQ(kiln_session_destroy(lost), KILN_OK);
  ASSERT_EQ(create(), KILN_OK) << modelReason();
  EXPECT_EQ(runOnHost(), KILN_OK) << reason();
  EXPECT_EQ(device(), kDevice);
}

TEST_F(DeviceTwin, MemoryThatRunsOutIsNoEnd) {
  start(0);
  inject([](auto &o) { o.memory_bytes = kTooLittle; });
  EXPECT_EQ(runOnHost(64), KILN_OUT_OF_MEMORY);
  EXPECT_TRUE(has(reason(), "no memory on the device for")) << reason();
  EXPECT_EQ(runOnHost(2), KILN_OK) << "what is smaller has room: " << reason();
  configure({});
  EXPECT_EQ(runOnHost(64), KILN_OK) << reason();
  EXPECT_EQ(device(), kDevice);
}

TEST_F(DeviceTwin, StandsInForADeviceThatIsNotThere) {
  open();
  ASSERT_EQ(create("sim:sm_80:7"), KILN_UNSUPPORTED);
  EXPECT_EQ(modelReason(), "there is no device sim:sm_80:7: the CUDA driver shows 2");
  ASSERT_EQ(create("sim:sm_80:7", KILN_SESSION_TWIN), KILN_OK);
  EXPECT_EQ(runOnHost(), KILN_OK);
  EXPECT_EQ(device(), "cpu");
  EXPECT_TRUE(has(device(true), "there is no device sim:sm_80:7")) << device(true);
}

TEST_F(DeviceTwin, StandsInForADeviceWithoutRoom) {
  open();
  inject([](auto &o) { o.fail_allocation = 1; });
  ASSERT_EQ(create(), KILN_OUT_OF_MEMORY);
  EXPECT_TRUE(has(modelReason(), "has no room for")) << modelReason();
  inject([](auto &o) { o.fail_allocation = 1; });
  ASSERT_EQ(create(kDevice, KILN_SESSION_TWIN), KILN_OK);
  EXPECT_EQ(runOnHost(), KILN_OK);
  EXPECT_EQ(device(), "cpu");
}

TEST_F(DeviceTwin, IsWhatHappensWhenNoDeviceIsNamed) {
  // Under the driver's own name, with the cubins' place in the artefact.
  void *driver = dlopen(KILN_TEST_DRIVER, RTLD_NOW);
  ASSERT_NE(driver, nullptr) << dlerror();
  for (uint32_t flags : {0u, uint32_t(KILN_SESSION_NO_TWIN)}) {
    open();
    ASSERT_EQ(create(nullptr, flags), KILN_OK) << modelReason();
    EXPECT_EQ(runOnHost(), KILN_OK) << reason();
    EXPECT_EQ(device(), "cuda:0");
    EXPECT_TRUE(has(device(true), "sm_80 cubin for ")) << device(true);
    inject([](auto &o) { o.sticky_launch = 3; });
    EXPECT_EQ(runOnHost(), flags ? KILN_DEVICE_FAILED : KILN_OK) << reason();
    EXPECT_EQ(device(), flags ? "cuda:0" : "cpu");
    EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
    EXPECT_EQ(kiln_model_close(model), KILN_OK);
    session = nullptr;
    model = nullptr;
  }
  // None of its code is for this device: the reason names what there is.
  open(kiln_test_foreign);
  EXPECT_EQ(create("cuda:0"), KILN_UNSUPPORTED);
  EXPECT_TRUE(has(modelReason(), "it has sm_90a; compile with --arch=sm_80")) << modelReason();
  ASSERT_EQ(create(nullptr), KILN_OK);
  EXPECT_EQ(device(), "cpu");
  EXPECT_TRUE(has(device(true), "it has sm_90a")) << device(true);
  dlclose(driver);
}

TEST_F(DeviceTwin, DriversThatCannotBeUsed) {
  open();
  setenv("KILN_CUDASIM", "libm.so.6", 1);
  EXPECT_EQ(create(), KILN_UNSUPPORTED);
  EXPECT_EQ(modelReason(), "the CUDA driver is too old: it has no cuInit (525 or newer has)");
  setenv("KILN_CUDASIM", "/nowhere/libcuda.so.1", 1);
  EXPECT_EQ(create(), KILN_UNSUPPORTED);
  EXPECT_TRUE(has(modelReason(), "no CUDA driver: /nowhere/libcuda.so.1: ")) << modelReason();
}

TEST_F(DeviceTwin, FlagsThatContradict) {
  open();
  EXPECT_EQ(create(kDevice, KILN_SESSION_TWIN | KILN_SESSION_NO_TWIN), KILN_INVALID_ARGUMENT);
  EXPECT_TRUE(has(modelReason(), "at once")) << modelReason();
}

/// In a child of the process that has opened the device.
int inChild(const std::function<bool()> &body) {
  pid_t child = fork();
  if (child == 0)
    _exit(body() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(DeviceTwin, AChildMustNotUseTheDevice) {
  start(0);
  EXPECT_EQ(inChild([&] {
              bool refused = runOnHost() == KILN_UNSUPPORTED &&
                             has(reason(), "works only in the process that has opened the device");
              kiln_session *other = nullptr;
              kiln_session_options options = {};
              options.struct_size = sizeof options;
              options.device = kDevice;
              refused &= kiln_session_create(model, &options, &other) == KILN_UNSUPPORTED &&
                         has(modelReason(), "a child of it");
              options.device = "cpu";
              refused &= kiln_session_create(model, &options, &other) == KILN_OK;
              std::swap(session, other);
              refused &= runOnHost() == KILN_OK;
              return refused && kiln_session_destroy(session) == KILN_OK &&
                     kiln_session_destroy(other) == KILN_OK && kiln_model_close(model) == KILN_OK;
            }),
            0);
  EXPECT_EQ(runOnHost(), KILN_OK) << "the parent goes on";
}

TEST_F(DeviceTwin, AChildGetsTheTwin) {
  start();
  EXPECT_EQ(inChild([&] { return runOnHost() == KILN_OK && device() == "cpu"; }), 0);
  EXPECT_EQ(runOnHost(), KILN_OK);
  EXPECT_EQ(device(), kDevice);
}

} // namespace
