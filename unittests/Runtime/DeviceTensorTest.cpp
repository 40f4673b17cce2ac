//===- DeviceTensorTest.cpp - Tensors and streams of the caller's device --===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DeviceSupport.h"
#include "GraphTable.h"

#include <cmath>
#include <thread>

using namespace kiln;
using namespace kiln::test;

namespace {

constexpr int64_t kRows = 6;

class DeviceTensors : public DeviceTest {
protected:
  void start(const kiln_module &module = kiln_test_dense, uint32_t flags = 0) {
    beCaller();
    open(module);
    ASSERT_EQ(create(kDevice, flags), KILN_OK) << modelReason();
  }
  kiln_pool_stats poolStats() {
    kiln_pool_stats stats = {};
    stats.struct_size = sizeof stats;
    kiln_pool_get_stats(kiln_session_device_pool(session), &stats);
    return stats;
  }
  static Tensor &fill(Tensor &x, uint32_t seed) {
    x.fill(seed);
    return x;
  }
  static const std::vector<float> &values(DeviceTensor &tensor) { return tensor.download(); }
  static const std::vector<float> &values(Tensor &tensor) { return tensor.values; }

  /// A run that is refused with these words.
  void expectRefused(kiln_status_t status, const std::string &words, const DLTensor &x, DLTensor &y,
                     DLTensor &z, uint32_t flags = 0, void *stream = nullptr) {
    EXPECT_EQ(run(x, y, z, flags, stream), status) << reason();
    EXPECT_TRUE(has(reason(), words)) << reason();
  }
};

TEST_F(DeviceTensors, AreUsedWhereTheyAre) {
  start();
  DeviceTensor x(kFirst, {kRows, 8}), y(kFirst, {kRows, 4}), z(kFirst, {2 * kRows, 4});
  for (uint32_t seed = 1; seed != 5; ++seed) { // The second one is recorded, others replayed.
    x.tensor.fill(seed);
    x.upload();
    ASSERT_EQ(run(x.tensor.view, y.tensor.view, z.tensor.view), KILN_OK) << reason();
    Expected expected(x.tensor.values);
    EXPECT_EQ(y.download(), expected.y);
    EXPECT_EQ(z.download(), expected.z);
  }
  EXPECT_EQ(poolStats().static_blocks, 1u) << "the arena: nothing was copied";
}

TEST_F(DeviceTensors, MixWithTheHosts) {
  start();
  DeviceTensor x(kFirst, {kRows, 8}), z(kFirst, {2 * kRows, 4}), pinned(kPinned, {kRows, 8});
  Tensor y({kRows, 4});
  x.tensor.fill(3);
  x.upload();
  ASSERT_EQ(run(x.tensor.view, y.view, z.tensor.view), KILN_OK) << reason();
  Expected expected(x.tensor.values);
  EXPECT_EQ(y.values, expected.y);
  EXPECT_EQ(z.download(), expected.z);

  pinned.tensor.fill(4);
  std::memcpy(pinned.pinned, pinned.tensor.values.data(), pinned.bytes);
  ASSERT_EQ(run(pinned.tensor.view, y.view, z.tensor.view), KILN_OK) << reason();
  EXPECT_EQ(y.values, Expected(pinned.tensor.values).y);

  // Of the host for one who runs there, too.
  kiln_session *there = std::exchange(session, nullptr);
  ASSERT_EQ(create("cpu"), KILN_OK);
  Tensor back({2 * kRows, 4});
  ASSERT_EQ(run(pinned.tensor.view, y.view, back.view), KILN_OK) << reason();
  EXPECT_EQ(back.values, Expected(pinned.tensor.values).z);
  EXPECT_EQ(kiln_session_destroy(there), KILN_OK);
}

TEST_F(DeviceTensors, AreCopiedWhereKernelsCannotReadThem) {
  start();
  // A multiple of the element, not of what kernels move at once.
  DeviceTensor x(kFirst, {kRows, 8}, 4), y(kFirst, {kRows, 4}, 8), z(kFirst, {2 * kRows, 4}, 12);
  x.tensor.fill(5);
  x.upload();
  for (int i = 0; i != 3; ++i)
    ASSERT_EQ(run(x.tensor.view, y.tensor.view, z.tensor.view), KILN_OK) << reason();
  Expected expected(x.tensor.values);
  EXPECT_EQ(y.download(), expected.y);
  EXPECT_EQ(z.download(), expected.z);
}

TEST_F(DeviceTensors, MayOverlap) {
  start();
  // z lies where x is.
  DeviceTensor x(kFirst, {kRows, 8}), y(kFirst, {kRows, 4});
  Tensor z({2 * kRows, 4});
  z.view = x.tensor.view;
  int64_t shape[] = {2 * kRows, 4};
  z.view.shape = shape;
  x.tensor.fill(6);
  x.upload();
  Expected expected(x.tensor.values);
  ASSERT_EQ(run(x.tensor.view, y.tensor.view, z.view), KILN_OK) << reason();
  EXPECT_EQ(y.download(), expected.y);
  EXPECT_EQ(x.download(), expected.z);
  DLTensor part = y.tensor.view;
  part.data = z.view.data;
  expectRefused(KILN_INVALID_ARGUMENT, "outputs 'y' and 'z' share memory", x.tensor.view, part,
                z.view);
}

TEST_F(DeviceTensors, OfTheSessionFeedTheNextRun) {
  start();
  DeviceTensor x(kFirst, {kRows, 8});
  x.tensor.fill(7);
  x.upload();
  std::vector<float> now = x.tensor.values;
  DLTensor y = {}, z = {}, input = x.tensor.view;
  int64_t shape[] = {kRows, 8};
  for (int i = 0; i != 4; ++i) {
    y.data = z.data = nullptr;
    ASSERT_EQ(run(input, y, z, KILN_RUN_DEVICE_OUTPUTS), KILN_OK) << reason();
    EXPECT_EQ(z.device.device_type, kDLCUDA);
    EXPECT_EQ(z.device.device_id, 0);
    now = Expected(now).z;
    std::vector<float> got(now.size());
    ASSERT_EQ(cuda::sim().driver.cuMemcpyDtoH(got.data(), cuda::CUdeviceptr(uintptr_t(z.data)),
                                              got.size() * sizeof(float)),
              cuda::CUDA_SUCCESS);
    EXPECT_EQ(got, now) << i;
    // 2n rows of 4 are n rows of 8: the session's own output, which the run overwrites.
    input = z;
    input.ndim = 2;
    input.shape = shape;
    input.strides = nullptr;
  }
  // And once more into the host's memory, whose way there leads through the same block.
  Tensor hostY({kRows, 4}), hostZ({2 * kRows, 4});
  ASSERT_EQ(run(input, hostY.view, hostZ.view), KILN_OK) << reason();
  EXPECT_EQ(hostZ.values, Expected(now).z);
}

TEST_F(DeviceTensors, ThatAreManagedOutliveTheirSession) {
  for (const kiln_module *module : {&kiln_test_dense, &kiln_generated_module}) {
    start(*module);
    uint32_t count = module->num_outputs;
    Tensor x({kRows, 8});
    x.fill(8);
    const DLTensor *inputs[] = {&x.view};
    DLManagedTensorVersioned *outputs[3] = {};
    kiln_run_options options = {};
    options.struct_size = sizeof options;
    options.flags = KILN_RUN_DEVICE_OUTPUTS;
    ASSERT_EQ(kiln_run_managed(session, inputs, 1, outputs, count, &options), KILN_OK) << reason();
    EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
    EXPECT_EQ(kiln_model_close(model), KILN_OK);
    session = nullptr;
    model = nullptr;
    Expected expected(x.values);
    for (uint32_t i = 0; i != count; ++i) {
      const DLTensor &tensor = outputs[i]->dl_tensor;
      EXPECT_EQ(tensor.device.device_type, kDLCUDA);
      std::vector<float> got(expected.z.size());
      if (i == 1) {
        EXPECT_EQ(cuda::sim().driver.cuMemcpyDtoH(got.data(),
                                                  cuda::CUdeviceptr(uintptr_t(tensor.data)),
                                                  got.size() * sizeof(float)),
                  cuda::CUDA_SUCCESS);
        EXPECT_EQ(got, expected.z);
      }
      outputs[i]->deleter(outputs[i]);
    }
    EXPECT_EQ(used(0), 0u);
  }
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

TEST_F(DeviceTensors, RunInTheCallersStream) {
  const cuda::DriverTable &driver = cuda::sim().driver;
  beCaller();
  cuda::CUstream mine, other;
  ASSERT_EQ(driver.cuStreamCreate(&mine, cuda::CU_STREAM_NON_BLOCKING), cuda::CUDA_SUCCESS);
  ASSERT_EQ(driver.cuStreamCreate(&other, cuda::CU_STREAM_NON_BLOCKING), cuda::CUDA_SUCCESS);
  open();
  for (uint64_t seed = 1; seed != 20; ++seed) {
    inject([&](auto &o) { o.seed = seed; });
    ASSERT_EQ(create(kDevice, 0, seed % 2 ? mine : nullptr), KILN_OK) << modelReason();
    DeviceTensor x(kFirst, {kRows, 8}), y(kFirst, {kRows, 4}), z(kFirst, {2 * kRows, 4});
    DeviceTensor pinned(kPinned, {kRows, 8});
    for (uint32_t i = 1; i != 6; ++i) {
      // Nothing waits between the upload and the run but the stream's own order.
      pinned.tensor.fill(i);
      std::memcpy(pinned.pinned, pinned.tensor.values.data(), pinned.bytes);
      cuda::CUstream stream = i % 2 ? mine : other;
      ASSERT_EQ(driver.cuMemcpyHtoDAsync(x.place(), pinned.pinned, x.bytes, stream),
                cuda::CUDA_SUCCESS);
      ASSERT_EQ(run(x.tensor.view, y.tensor.view, z.tensor.view, KILN_RUN_ASYNC, stream), KILN_OK)
          << reason();
      // A run in the other stream reads the arena that this one writes.
      if (i == 3)
        ASSERT_EQ(run(x.tensor.view, y.tensor.view, z.tensor.view, KILN_RUN_ASYNC, other), KILN_OK)
            << reason();
      ASSERT_EQ(driver.cuStreamSynchronize(i == 3 ? other : stream), cuda::CUDA_SUCCESS);
      EXPECT_EQ(z.download(), Expected(pinned.tensor.values).z) << seed << ", " << i;
    }
    EXPECT_EQ(kiln_session_wait(session), KILN_OK);
    EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
    session = nullptr;
  }
  EXPECT_EQ(driver.cuStreamDestroy(mine), cuda::CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamDestroy(other), cuda::CUDA_SUCCESS);
}

TEST_F(DeviceTensors, NeedNotBeWaitedFor) {
  start();
  DeviceTensor x(kFirst, {kRows, 8}), y(kFirst, {kRows, 4}), z(kFirst, {2 * kRows, 4});
  x.tensor.fill(9);
  x.upload();
  ASSERT_EQ(run(x.tensor.view, y.tensor.view, z.tensor.view, KILN_RUN_ASYNC), KILN_OK) << reason();
  // The simulator's memory is the host's: nobody has written there yet.
  const float *there = reinterpret_cast<const float *>(uintptr_t(z.place()));
  EXPECT_TRUE(std::isnan(there[0]));
  ASSERT_EQ(kiln_session_wait(session), KILN_OK);
  EXPECT_FALSE(std::isnan(there[0]));
  EXPECT_EQ(z.download(), Expected(x.tensor.values).z);
  EXPECT_EQ(kiln_session_wait(session), KILN_OK) << "again: nothing to wait for";

  // A larger shape takes other memory, of which the run before must be done with.
  DeviceTensor large(kFirst, {64, 8}), largeY(kFirst, {64, 4}), largeZ(kFirst, {128, 4});
  large.tensor.fill(10);
  large.upload();
  ASSERT_EQ(run(x.tensor.view, y.tensor.view, z.tensor.view, KILN_RUN_ASYNC), KILN_OK);
  ASSERT_EQ(run(large.tensor.view, largeY.tensor.view, largeZ.tensor.view, KILN_RUN_ASYNC),
            KILN_OK);
  // And a host's output with it: it is there when the wait is over.
  Tensor hostZ({2 * kRows, 4});
  ASSERT_EQ(run(x.tensor.view, y.tensor.view, hostZ.view, KILN_RUN_ASYNC), KILN_OK);
  ASSERT_EQ(kiln_session_wait(session), KILN_OK);
  EXPECT_EQ(largeZ.download(), Expected(large.tensor.values).z);
  EXPECT_EQ(hostZ.values, Expected(x.tensor.values).z);
}

TEST_F(DeviceTensors, TellErrorsWhenTheyAreWaitedFor) {
  start(kiln_test_dense, KILN_SESSION_TWIN);
  DeviceTensor x(kFirst, {kRows, 8}), y(kFirst, {kRows, 4}), z(kFirst, {2 * kRows, 4});
  x.tensor.fill(9);
  x.upload();
  inject([](auto &o) { o.sticky_launch = 2; });
  ASSERT_EQ(run(x.tensor.view, y.tensor.view, z.tensor.view, KILN_RUN_ASYNC), KILN_OK) << reason();
  EXPECT_EQ(kiln_session_wait(session), KILN_DEVICE_FAILED);
  EXPECT_TRUE(has(reason(), "CUDA_ERROR_ILLEGAL_ADDRESS")) << reason();
  // What lies on a device that is lost cannot be had, and so the run cannot be made.
  expectRefused(KILN_DEVICE_FAILED, "CUDA_ERROR_", x.tensor.view, y.tensor.view, z.tensor.view);
  EXPECT_EQ(device(), kDevice);
  EXPECT_EQ(runOnHost(), KILN_OK) << reason();
  EXPECT_EQ(device(), "cpu");
  expectRefused(KILN_UNSUPPORTED, "expected CPU memory", x.tensor.view, y.tensor.view,
                z.tensor.view);
  Tensor hostX({kRows, 8}), hostY({kRows, 4}), hostZ({2 * kRows, 4});
  expectRefused(KILN_UNSUPPORTED,
                "KILN_RUN_DEVICE_OUTPUTS: the CPU has none, which stands in since sim:sm_80 failed",
                hostX.view, hostY.view, hostZ.view, KILN_RUN_DEVICE_OUTPUTS);
  EXPECT_EQ(run(hostX.view, hostY.view, hostZ.view, KILN_RUN_ASYNC), KILN_OK) << reason();
  EXPECT_EQ(kiln_session_wait(session), KILN_OK);
  // What the test itself has there cannot be given back otherwise.
  EXPECT_EQ(cuda::sim().driver.cuDevicePrimaryCtxReset(0), cuda::CUDA_SUCCESS);
}

//===----------------------------------------------------------------------===//
// What is not what it says
//===----------------------------------------------------------------------===//

TEST_F(DeviceTensors, ThatAreNotWhatTheySay) {
  start();
  const cuda::DriverTable &driver = cuda::sim().driver;
  DeviceTensor x(kFirst, {kRows, 8}), y(kFirst, {kRows, 4}), z(kFirst, {2 * kRows, 4});
  x.tensor.fill(1);
  x.upload();
  auto refused = [&](kiln_status_t status, const char *words, const DLTensor &input) {
    expectRefused(status, words, input, y.tensor.view, z.tensor.view);
  };
  DLTensor bad = x.tensor.view;
  bad.device = kSecond;
  refused(KILN_UNSUPPORTED,
          "input 'x': expected CPU memory or that of device type 2, number 0, got device type 2, "
          "number 1",
          bad);
  bad.device = {kDLROCM, 0};
  refused(KILN_UNSUPPORTED, "got device type 10", bad);

  Tensor host({kRows, 8});
  bad = host.view;
  bad.device = kFirst;
  refused(KILN_INVALID_ARGUMENT, "is no memory of a device, though it says so", bad);
  DeviceTensor pinned(kPinned, {kRows, 8});
  bad = pinned.tensor.view;
  bad.device = kFirst;
  refused(KILN_INVALID_ARGUMENT, "is pinned memory of the host (kDLCUDAHost)", bad);

  cuda::CUcontext second;
  ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&second, 1), cuda::CUDA_SUCCESS);
  ASSERT_EQ(driver.cuCtxSetCurrent(second), cuda::CUDA_SUCCESS);
  {
    DeviceTensor elsewhere(kSecond, {kRows, 8});
    bad = elsewhere.tensor.view;
    bad.device = kFirst;
    refused(KILN_INVALID_ARGUMENT, "is memory of device 1, the session runs on number 0", bad);
    cuda::CUstream foreign;
    ASSERT_EQ(driver.cuStreamCreate(&foreign, cuda::CU_STREAM_NON_BLOCKING), cuda::CUDA_SUCCESS);
    expectRefused(KILN_INVALID_ARGUMENT, "is of another device or context than sim:sm_80",
                  x.tensor.view, y.tensor.view, z.tensor.view, 0, foreign);
    kiln_session *made = std::exchange(session, nullptr);
    EXPECT_EQ(create(kDevice, KILN_SESSION_TWIN, foreign), KILN_INVALID_ARGUMENT);
    EXPECT_TRUE(has(modelReason(), "is of another device or context")) << modelReason();
    session = made;
  }
  driver.cuDevicePrimaryCtxReset(1);
  ASSERT_EQ(driver.cuCtxSetCurrent(caller), cuda::CUDA_SUCCESS);
  expectRefused(KILN_INVALID_ARGUMENT, "stream: ", x.tensor.view, y.tensor.view, z.tensor.view, 0,
                &host);

  bad = x.tensor.view;
  bad.byte_offset = 2;
  refused(KILN_INVALID_ARGUMENT, "is no multiple of its element's 4 bytes", bad);
  bad.byte_offset = 8;
  refused(KILN_INVALID_ARGUMENT, "it has 192 bytes, but the memory at", bad);
  bad = x.tensor.view;
  int64_t strides[] = {1, kRows};
  bad.strides = strides;
  refused(KILN_UNSUPPORTED, "must be dense and row-major", bad);
  bad = x.tensor.view;
  bad.data = nullptr;
  refused(KILN_INVALID_ARGUMENT, "input 'x': data is NULL", bad);

  DLTensor badOutput = z.tensor.view;
  badOutput.byte_offset = 16;
  expectRefused(KILN_INVALID_ARGUMENT, "output 'z': it has 192 bytes, but the memory at",
                x.tensor.view, y.tensor.view, badOutput);
  badOutput = host.view;
  int64_t shape[] = {2 * kRows, 4};
  badOutput.shape = shape;
  badOutput.device = kFirst;
  expectRefused(KILN_INVALID_ARGUMENT, "output 'z': ", x.tensor.view, y.tensor.view, badOutput);
  expectRefused(KILN_INVALID_ARGUMENT, "flags: unknown bits in 0x80", x.tensor.view, y.tensor.view,
                z.tensor.view, 0x80);
  // After all of that it works.
  ASSERT_EQ(run(x.tensor.view, y.tensor.view, z.tensor.view), KILN_OK) << reason();
  EXPECT_EQ(z.download(), Expected(x.tensor.values).z);
  EXPECT_TRUE(events.empty());
}

TEST_F(DeviceTensors, AreNotForTheCpu) {
  beCaller();
  open();
  ASSERT_EQ(create("cpu"), KILN_OK);
  DeviceTensor x(kFirst, {kRows, 8});
  Tensor host({kRows, 8}), y({kRows, 4}), z({2 * kRows, 4});
  expectRefused(KILN_UNSUPPORTED, "input 'x': expected CPU memory, got device type 2",
                x.tensor.view, y.view, z.view);
  expectRefused(KILN_UNSUPPORTED, "KILN_RUN_ASYNC: the CPU has none", host.view, y.view, z.view,
                KILN_RUN_ASYNC);
  expectRefused(KILN_UNSUPPORTED, "KILN_RUN_DEVICE_OUTPUTS: the CPU has none", host.view, y.view,
                z.view, KILN_RUN_DEVICE_OUTPUTS);
  expectRefused(KILN_UNSUPPORTED, "stream: the CPU has none", host.view, y.view, z.view, 0, &host);
  EXPECT_EQ(kiln_session_wait(session), KILN_OK);
}

TEST_F(DeviceTensors, ThatAreGuardedMustBeFinite) {
  const char *guarded[] = {"z"};
  kiln_integrity_options watch = {};
  watch.struct_size = sizeof watch;
  watch.finite_outputs = guarded;
  watch.num_finite_outputs = 1;
  beCaller();
  open(kiln_test_dense, &watch);
  ASSERT_EQ(create(), KILN_OK) << modelReason();
  DeviceTensor x(kFirst, {kRows, 8}), y(kFirst, {kRows, 4}), z(kFirst, {2 * kRows, 4});
  x.tensor.fill(1);
  x.upload();
  EXPECT_EQ(run(x.tensor.view, y.tensor.view, z.tensor.view), KILN_OK) << reason();
  x.tensor.values[9] = INFINITY;
  x.upload();
  EXPECT_EQ(run(x.tensor.view, y.tensor.view, z.tensor.view, KILN_RUN_ASYNC), KILN_NOT_FINITE);
  EXPECT_TRUE(has(reason(), "output 'z' is not finite at element 4")) << reason();
}

//===----------------------------------------------------------------------===//
// Several
//===----------------------------------------------------------------------===//

TEST_F(DeviceTensors, ServeSeveralDevicesAndSessions) {
  // With a late output: memory that comes and goes during a run is never another's.
  open(kiln_generated_module);
  constexpr int sessionsPerDevice = 3, runs = 12;
  std::vector<kiln_session *> sessions;
  for (int i = 0; i != 2 * sessionsPerDevice; ++i) {
    ASSERT_EQ(create(i % 2 ? "sim:sm_80:1" : kDevice), KILN_OK) << modelReason();
    sessions.push_back(std::exchange(session, nullptr));
  }
  EXPECT_GT(used(0), 0u);
  EXPECT_GT(used(1), 0u);
  std::vector<std::thread> threads;
  for (size_t s = 0; s != sessions.size(); ++s)
    threads.emplace_back([&, s] {
      for (int i = 0; i != runs; ++i) {
        int64_t rows = 14 + (int64_t(s) * 5 + i * 7) % 40;
        Tensor x({rows, 8}), y({rows, 4}), z({2 * rows, 4});
        DLTensor positive = {};
        x.fill(uint32_t(100 * s + i));
        const DLTensor *inputs[] = {&x.view};
        DLTensor *outputs[] = {&y.view, &z.view, &positive};
        ASSERT_EQ(kiln_run(sessions[s], inputs, 1, outputs, 3, nullptr), KILN_OK)
            << kiln_session_error(sessions[s]);
        Expected expected(x.values);
        EXPECT_EQ(z.values, expected.z);
        ASSERT_EQ(positive.shape[0], int64_t(expected.positive.size())) << i;
        const auto *found = static_cast<const int64_t *>(positive.data);
        EXPECT_EQ(std::vector<int64_t>(found, found + positive.shape[0]), expected.positive);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  const char *name = "", *why = "";
  EXPECT_EQ(kiln_session_get_device(sessions[1], &name, &why), KILN_OK);
  EXPECT_STREQ(name, "sim:sm_80:1");
  EXPECT_EQ(cuda::sim().findingCount(), 0u) << cuda::sim().report();
  // A device that fails takes only its own sessions along.
  session = sessions[0];
  sessions[0] = nullptr;
  inject([](auto &o) { o.sticky_launch = 1; });
  EXPECT_EQ(runOnHost(), KILN_DEVICE_FAILED);
  std::swap(session, sessions[1]);
  EXPECT_EQ(runOnHost(), KILN_OK) << reason();
  std::swap(session, sessions[2]);
  EXPECT_EQ(runOnHost(), KILN_DEVICE_FAILED);
  for (kiln_session *one : sessions)
    EXPECT_EQ(kiln_session_destroy(one), KILN_OK);
}

TEST_F(DeviceTensors, KeepABoundedNumberOfRecordedRuns) {
  start();
  // More shapes than graphs are kept, each often enough to be recorded, and back again.
  for (int round = 0; round != 2; ++round)
    for (int64_t rows = 1; rows != 24; ++rows)
      for (int i = 0; i != 3; ++i)
        if (rows != 13) // which the model refuses
          ASSERT_EQ(runOnHost(rows, uint32_t(100 * round + rows)), KILN_OK) << reason();
  cuda::Context none;
  static int destroyed;
  destroyed = 0;
  none.driver.cuGraphExecDestroy = [](cuda::CUgraphExec) {
    ++destroyed;
    return cuda::CUDA_SUCCESS;
  };
  cuda::GraphTable table;
  constexpr uint64_t more = 3;
  for (uint64_t key = 0; key != cuda::GraphTable::kCapacity + more; ++key) {
    cuda::GraphTable::Entry *entry = table.find(none, &key, 1);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->graph, nullptr) << "of another key";
    entry->graph = reinterpret_cast<cuda::CUgraphExec>(key + 1);
  }
  EXPECT_EQ(destroyed, int(more)) << "the oldest ones";
  uint64_t latest = cuda::GraphTable::kCapacity + more - 1;
  EXPECT_NE(table.find(none, &latest, 1)->graph, nullptr);
  table.clear(none);
  EXPECT_EQ(destroyed, int(more + cuda::GraphTable::kCapacity));
}

TEST_F(DeviceTensors, AreTimedOnTheDevice) {
  open(kiln_generated_module);
  ASSERT_EQ(create(kDevice, KILN_SESSION_PROFILE), KILN_OK) << modelReason();
  uint64_t start = rt::nanoseconds();
  for (int i = 0; i != 3; ++i)
    ASSERT_EQ(runOnHost(), KILN_OK) << reason();
  uint64_t end = rt::nanoseconds();
  kiln_profile_row rows[3];
  uint32_t count = 0;
  ASSERT_EQ(kiln_session_profile(session, rows, 3, &count), KILN_OK) << reason();
  ASSERT_EQ(count, 3u);
  EXPECT_STREQ(rows[0].kernel, "matmul");
  EXPECT_STREQ(rows[0].nodes, "MatMul_0,Add_1");
  EXPECT_EQ(rows[0].launches, 3u);
  EXPECT_EQ(rows[2].launches, 9u) << "its row has three launches a run";
  for (const kiln_profile_row &row : rows) {
    EXPECT_GT(row.total_ns, 0u);
    EXPECT_GE(row.longest_ns, row.shortest_ns);
  }
  kiln_trace_event events[64];
  ASSERT_EQ(kiln_session_trace(session, events, 64, &count), KILN_OK);
  ASSERT_EQ(count, 15u);
  for (uint32_t i = 0; i != count; ++i) {
    EXPECT_GE(events[i].start_ns, start) << i;
    EXPECT_LE(events[i].start_ns + events[i].duration_ns, end) << i;
    if (i)
      EXPECT_GE(events[i].start_ns + 1000, events[i - 1].start_ns) << i;
  }
}

} // namespace
