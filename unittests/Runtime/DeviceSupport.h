//===- DeviceSupport.h - TestModel on simulated devices ------ -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_UNITTESTS_RUNTIME_DEVICESUPPORT_H
#define KILN_UNITTESTS_RUNTIME_DEVICESUPPORT_H

#include "Model.h"
#include "TestSupport.h"
#include "unittests/CudaSim/SimTest.h"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>

extern "C" const kiln_api *kiln_model_query(uint32_t abi);
// DeviceModel.c.
extern "C" const kiln_module kiln_generated_module, kiln_test_dense, kiln_test_foreign;

namespace kiln::test {

constexpr DLDevice kFirst = {kDLCUDA, 0}, kSecond = {kDLCUDA, 1}, kPinned = {kDLCUDAHost, 0};

/// A tensor whose memory the test gets from the simulated driver.
struct DeviceTensor {
  DeviceTensor(DLDevice where, std::vector<int64_t> dims, uint64_t offset = 0) : tensor(dims) {
    bytes = tensor.values.size() * sizeof(float);
    const cuda::DriverTable &driver = cuda::sim().driver;
    if (where.device_type == kDLCUDAHost) {
      EXPECT_EQ(driver.cuMemHostAlloc(&pinned, bytes + offset, 0), cuda::CUDA_SUCCESS);
      tensor.view.data = pinned;
    } else {
      EXPECT_EQ(driver.cuMemAlloc(&address, bytes + offset), cuda::CUDA_SUCCESS);
      tensor.view.data = reinterpret_cast<void *>(address);
    }
    tensor.view.byte_offset = offset;
    tensor.view.device = where;
  }
  DeviceTensor(const DeviceTensor &) = delete;
  ~DeviceTensor() {
    if (pinned)
      cuda::sim().driver.cuMemFreeHost(pinned);
    if (address)
      cuda::sim().driver.cuMemFree(address);
  }
  cuda::CUdeviceptr place() const {
    return cuda::CUdeviceptr(reinterpret_cast<uintptr_t>(tensor.view.data)) +
           tensor.view.byte_offset;
  }
  void upload() {
    EXPECT_EQ(cuda::sim().driver.cuMemcpyHtoD(place(), tensor.values.data(), bytes),
              cuda::CUDA_SUCCESS);
  }
  const std::vector<float> &download() {
    EXPECT_EQ(cuda::sim().driver.cuMemcpyDtoH(tensor.values.data(), place(), bytes),
              cuda::CUDA_SUCCESS);
    return tensor.values;
  }

  Tensor tensor;
  size_t bytes = 0;
  void *pinned = nullptr;
  cuda::CUdeviceptr address = 0;
};

/// A model on the simulator. Devices are sm_80, eight at most.
class DeviceTest : public testing::Test {
protected:
  static constexpr char kDevice[] = "sim:sm_80";

  void SetUp() override {
    setenv("KILN_CUDASIM", KILN_CUDASIM_LIBRARY, 1);
    configure({});
    api = kiln_model_query(KILN_ABI_VERSION);
    before = api->live_objects();
  }
  void TearDown() override {
    configure({}); // A lost device cannot be released otherwise.
    EXPECT_EQ(kiln_session_destroy(session), KILN_OK);
    EXPECT_EQ(kiln_model_close(model), KILN_OK);
    EXPECT_EQ(api->live_objects(), before);
    // Nothing is left behind, whatever happened.
    EXPECT_EQ(used(0), 0u);
    if (caller)
      cuda::sim().driver.cuDevicePrimaryCtxReset(0);
    cuda::sim().driver.cuCtxSetCurrent(nullptr);
    setenv("KILN_CUDASIM", KILN_CUDASIM_LIBRARY, 1);
  }

  static void configure(kiln_sim_options options) {
    options.struct_size = sizeof options;
    if (!options.device_count)
      options.device_count = 2;
    // What a test of lacks wants to say in few bytes.
    if (!options.memory_bytes)
      options.memory_bytes = uint64_t(64) << 20;
    ASSERT_EQ(cuda::sim().configure(&options), 0);
  }
  /// Faults by the number of an event from now on.
  template <typename Set> static void inject(Set set) {
    kiln_sim_options options = {};
    set(options);
    configure(options);
  }

  void open(const kiln_module &module = kiln_test_dense,
            const kiln_integrity_options *integrity = nullptr) {
    kiln_model_options options = {};
    options.struct_size = sizeof options;
    options.integrity = integrity;
    options.on_event = [](void *user, const kiln_event *event) {
      auto &self = *static_cast<DeviceTest *>(user);
      self.events.push_back({event->kind, event->status, event->name, event->text});
    };
    options.on_event_user = this;
    ASSERT_EQ(rt::Model::open(*api, module, &options, &model), KILN_OK);
  }
  kiln_status_t create(const char *device = kDevice, uint32_t flags = 0, void *stream = nullptr) {
    kiln_session_options options = {};
    options.struct_size = sizeof options;
    options.device = device;
    options.flags = flags;
    options.stream = stream;
    options.threads = 1;
    options.trace_events = flags & KILN_SESSION_PROFILE ? 64 : 0;
    return kiln_session_create(model, &options, &session);
  }
  /// Makes device `ordinal` the calling thread's, as a program with CUDA of its own.
  void beCaller(int ordinal = 0) {
    const cuda::DriverTable &driver = cuda::sim().driver;
    ASSERT_EQ(driver.cuInit(0), cuda::CUDA_SUCCESS);
    ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&caller, ordinal), cuda::CUDA_SUCCESS);
    ASSERT_EQ(driver.cuCtxSetCurrent(caller), cuda::CUDA_SUCCESS);
  }

  kiln_status_t run(const DLTensor &x, DLTensor &y, DLTensor &z, uint32_t flags = 0,
                    void *stream = nullptr) {
    kiln_run_options options = {};
    options.struct_size = sizeof options;
    options.flags = flags;
    options.stream = stream;
    const DLTensor *inputs[] = {&x};
    DLTensor *outputs[] = {&y, &z, &late};
    kiln_model_info info = {};
    info.struct_size = sizeof info;
    kiln_model_get_info(model, &info);
    late = {};
    return kiln_run(session, inputs, 1, outputs, info.num_outputs, &options);
  }
  /// On the host's memory, compared with what is right.
  kiln_status_t runOnHost(int64_t rows = 5, uint32_t seed = 1) {
    Tensor x({rows, 8}), y({rows, 4}), z({2 * rows, 4});
    x.fill(seed);
    kiln_status_t status = run(x.view, y.view, z.view);
    if (status == KILN_OK) {
      Expected expected(x.values);
      EXPECT_EQ(y.values, expected.y);
      EXPECT_EQ(z.values, expected.z);
    }
    return status;
  }

  std::string reason() const { return kiln_session_error(session); }
  std::string modelReason() {
    char text[512] = "";
    kiln_model_error(model, text, sizeof text);
    return text;
  }
  std::string device(bool why = false) const {
    const char *name = "", *text = "";
    EXPECT_EQ(kiln_session_get_device(session, &name, &text), KILN_OK);
    return why ? text : name;
  }
  kiln_metrics metrics() {
    kiln_metrics metrics = {};
    metrics.struct_size = sizeof metrics;
    EXPECT_EQ(kiln_model_get_metrics(model, &metrics), KILN_OK);
    return metrics;
  }
  /// Bytes of a device's memory that somebody holds.
  static uint64_t used(int ordinal) {
    const cuda::DriverTable &driver = cuda::sim().driver;
    cuda::CUmemoryPool pool;
    uint64_t bytes = 0;
    if (driver.cuDeviceGetDefaultMemPool(&pool, ordinal) == cuda::CUDA_SUCCESS)
      driver.cuMemPoolGetAttribute(pool, cuda::CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &bytes);
    return bytes;
  }
  /// In a report, or in an error.
  static bool has(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
  }

  struct Event {
    uint32_t kind;
    int32_t status;
    std::string name, text;
  };
  const kiln_api *api = nullptr;
  kiln_model *model = nullptr;
  kiln_session *session = nullptr;
  DLTensor late = {};
  cuda::CUcontext caller = nullptr;
  std::vector<Event> events;
  uint64_t before = 0;
};

} // namespace kiln::test

#endif // KILN_UNITTESTS_RUNTIME_DEVICESUPPORT_H
