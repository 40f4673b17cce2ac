//===- DriverTest.cpp - The driver's promises: streams, memory, errors ----===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SimTest.h"

#include <atomic>
#include <cstring>
#include <thread>

using namespace kiln::cuda;

namespace {

struct ScaleParams {
  float factor;
  double unused;
  int count;
};

class DriverTest : public SimTest {
protected:
  const DriverTable &cu = sim().driver;
  /// y = factor * x + y on 128 floats.
  CUresult scale(CUdeviceptr y, CUdeviceptr x, float factor, CUstream on) {
    stream = on;
    return launch("scale", {1}, {128}, 0, y, x, ScaleParams{factor, 0, 128});
  }
  CUdeviceptr ones() { return upload(std::vector<float>(128, 1.0f)); }
};

TEST_F(DriverTest, deviceFactsAreThoseOfTheArchitecture) {
  struct {
    const char *architecture;
    int major, minor, optin, threads;
  } cases[] = {{"sm_75", 7, 5, 64 << 10, 1024},
               {"sm_80", 8, 0, 163 << 10, 2048},
               {"sm_89", 8, 9, 99 << 10, 1536},
               {"sm_90a", 9, 0, 227 << 10, 2048},
               {"sm_120", 12, 0, 99 << 10, 1536}};
  for (const auto &c : cases) {
    kiln_sim_options options = {};
    options.architecture = c.architecture;
    start(options);
    auto attribute = [&](CUdevice_attribute a) {
      int value = -1;
      EXPECT_EQ(cu.cuDeviceGetAttribute(&value, a, 0), CUDA_SUCCESS);
      return value;
    };
    EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), c.major);
    EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), c.minor);
    EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), c.optin);
    EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR), c.threads);
    EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE), 32);
  }
  kiln_sim_options wrong = {};
  wrong.struct_size = sizeof wrong;
  wrong.architecture = "sm_10";
  EXPECT_EQ(sim().configure(&wrong), -1);
}

TEST_F(DriverTest, errorsHaveNames) {
  const char *text = nullptr;
  EXPECT_EQ(cu.cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(cu.cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(cu.cuGetErrorName(CUresult(12345), &text), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverTest, badArgumentsAreStatuses) {
  load("BasicKernels");
  CUdeviceptr y = ones();
  CUfunction f = function("scale");
  int value;
  EXPECT_EQ(cu.cuModuleGetFunction(&f, module, "absent"), CUDA_ERROR_NOT_FOUND);
  f = function("scale");
  const ScaleParams p = {1, 0, 128};
  void *parameters[] = {&y, &y, const_cast<ScaleParams *>(&p)};
  auto launchOf = [&](CUfunction g, unsigned grid, unsigned block, unsigned shared, CUstream s) {
    return cu.cuLaunchKernel(g, grid, 1, 1, block, 1, 1, shared, s, parameters, nullptr);
  };
  EXPECT_EQ(launchOf(f, 0, 128, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launchOf(f, 1, 1025, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launchOf(f, 1, 128, 49 << 10, nullptr), CUDA_ERROR_INVALID_VALUE); // No opt-in.
  EXPECT_EQ(cu.cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10),
            CUDA_SUCCESS);
  EXPECT_EQ(launchOf(f, 1, 128, 100 << 10, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 164 << 10),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launchOf(reinterpret_cast<CUfunction>(&value), 1, 128, 0, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launchOf(f, 1, 128, 0, reinterpret_cast<CUstream>(&value)), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu.cuMemAlloc(&y, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu.cuMemFree(y + 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu.cuMemcpyDtoH(&value, y + 510, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu.cuMemcpyHtoD(y, nullptr, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu.cuDeviceGet(&value, 1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cu.cuStreamSynchronize(reinterpret_cast<CUstream>(&value)), CUDA_ERROR_INVALID_HANDLE);
  const char junk[64] = "not a module";
  CUmodule m;
  EXPECT_EQ(cu.cuModuleLoadData(&m, junk), CUDA_ERROR_INVALID_IMAGE);
  std::vector<char> cubin = readModule("BasicKernels", "plain");
  cubin[18] = char(190); // EM_CUDA
  EXPECT_EQ(cu.cuModuleLoadData(&m, cubin.data()), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(cu.cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuMemAlloc(&y, 4), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cu.cuCtxSetCurrent(context), CUDA_SUCCESS);
}

TEST_F(DriverTest, parametersInOneBuffer) {
  load("BasicKernels");
  CUdeviceptr y = ones(), x = ones();
  struct {
    CUdeviceptr y, x;
    ScaleParams p;
  } packed = {y, x, {3, 0, 128}};
  size_t bytes = sizeof packed;
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  EXPECT_EQ(cu.cuLaunchKernel(function("scale"), 1, 1, 1, 128, 1, 1, 0, nullptr, nullptr, extra),
            CUDA_SUCCESS);
  EXPECT_EQ(download<float>(y, 1)[0], 4.0f);
  bytes = 8;
  EXPECT_EQ(cu.cuLaunchKernel(function("scale"), 1, 1, 1, 128, 1, 1, 0, nullptr, nullptr, extra),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverTest, memoryIsLimitedAndGivenBack) {
  kiln_sim_options options = {};
  options.memory_bytes = 1 << 20;
  start(options);
  size_t free = 0, total = 0;
  EXPECT_EQ(cu.cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  EXPECT_EQ(total, 1u << 20);
  EXPECT_EQ(free, total);
  CUdeviceptr a = allocate(700 << 10), b = 0;
  EXPECT_EQ(cu.cuMemAlloc(&b, 400 << 10), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cu.cuMemFree(a), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuMemFree(a), CUDA_ERROR_INVALID_VALUE);
  // Address space is used again when it has to be.
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(cu.cuMemAlloc(&a, 400 << 10), CUDA_SUCCESS) << i;
    ASSERT_EQ(cu.cuMemFree(a), CUDA_SUCCESS);
  }
  EXPECT_EQ(cu.cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  EXPECT_EQ(free, total);
}

TEST_F(DriverTest, asyncMemoryLivesInStreamOrder) {
  load("BasicKernels");
  CUstream s;
  ASSERT_EQ(cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  CUdeviceptr p;
  ASSERT_EQ(cu.cuMemAllocAsync(&p, 512, s), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuMemsetD32Async(p, 0x3f800000, 128, s), CUDA_SUCCESS);
  ASSERT_EQ(scale(p, p, 1, s), CUDA_SUCCESS);
  float result[128];
  ASSERT_EQ(cu.cuMemcpyDtoHAsync(result, p, 512, s), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuMemFreeAsync(p, s), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(result[127], 2.0f);
  CUmemoryPool pool;
  uint64_t used = 1, high = 0;
  ASSERT_EQ(cu.cuDeviceGetDefaultMemPool(&pool, 0), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &high), CUDA_SUCCESS);
  EXPECT_EQ(used, 0u);
  EXPECT_GE(high, 512u);
}

TEST_F(DriverTest, resultIsThereOnlyAfterTheWait) {
  load("BasicKernels");
  CUstream s;
  ASSERT_EQ(cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  CUdeviceptr y = ones(), x = ones();
  void *pinned;
  ASSERT_EQ(cu.cuMemHostAlloc(&pinned, 512, 0), CUDA_SUCCESS);
  memset(pinned, 0, 512);
  ASSERT_EQ(scale(y, x, 1, s), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuMemcpyDtoHAsync(pinned, y, 512, s), CUDA_SUCCESS);
  EXPECT_EQ(static_cast<float *>(pinned)[0], 0.0f); // What a program without a wait would see.
  ASSERT_EQ(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(static_cast<float *>(pinned)[0], 2.0f);
  EXPECT_EQ(cu.cuMemFreeHost(pinned), CUDA_SUCCESS);
}

TEST_F(DriverTest, pinnedSourceIsReadLatePageableAtOnce) {
  CUstream s;
  ASSERT_EQ(cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  CUdeviceptr a = allocate(4), b = allocate(4);
  int pageable = 1, *pinned;
  ASSERT_EQ(cu.cuMemHostAlloc(reinterpret_cast<void **>(&pinned), 4, 0), CUDA_SUCCESS);
  *pinned = 1;
  ASSERT_EQ(cu.cuMemcpyHtoDAsync(a, &pageable, 4, s), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuMemcpyHtoDAsync(b, pinned, 4, s), CUDA_SUCCESS);
  pageable = *pinned = 2; // Too early for the pinned one.
  ASSERT_EQ(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(download<int>(a, 1)[0], 1);
  EXPECT_EQ(download<int>(b, 1)[0], 2);
}

/// Streams without an event between them run in either order, with one in its order.
TEST_F(DriverTest, eventsOrderStreams) {
  for (bool ordered : {false, true}) {
    std::vector<float> results;
    for (uint64_t seed = 1; seed <= 16; ++seed) {
      kiln_sim_options options = {};
      options.seed = seed;
      start(options);
      load("BasicKernels");
      CUstream s, t;
      CUevent e;
      ASSERT_EQ(cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
      ASSERT_EQ(cu.cuStreamCreate(&t, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
      ASSERT_EQ(cu.cuEventCreate(&e, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
      CUdeviceptr y = ones(), x = ones();
      ASSERT_EQ(cu.cuMemsetD32Async(y, 0, 128, s), CUDA_SUCCESS);
      ASSERT_EQ(cu.cuEventRecord(e, s), CUDA_SUCCESS);
      if (ordered)
        ASSERT_EQ(cu.cuStreamWaitEvent(t, e, 0), CUDA_SUCCESS);
      ASSERT_EQ(scale(y, x, 5, t), CUDA_SUCCESS);
      ASSERT_EQ(synchronize(), CUDA_SUCCESS);
      results.push_back(download<float>(y, 1)[0]);
    }
    const size_t right = size_t(std::count(results.begin(), results.end(), 5.0f));
    EXPECT_EQ(right == results.size(), ordered);
    EXPECT_GT(right, 0u);
  }
}

TEST_F(DriverTest, defaultStreamWaitsForBlockingOnes) {
  load("BasicKernels");
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    kiln_sim_options options = {};
    options.seed = seed;
    start(options);
    load("BasicKernels");
    CUstream s;
    ASSERT_EQ(cu.cuStreamCreate(&s, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    CUdeviceptr y = ones(), x = ones();
    ASSERT_EQ(cu.cuMemsetD32Async(y, 0, 128, s), CUDA_SUCCESS);
    ASSERT_EQ(scale(y, x, 5, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(cu.cuMemsetD32Async(x, 0, 128, s), CUDA_SUCCESS);
    ASSERT_EQ(synchronize(), CUDA_SUCCESS);
    EXPECT_EQ(download<float>(y, 1)[0], 5.0f);
  }
}

TEST_F(DriverTest, queriesPoll) {
  load("BasicKernels");
  CUstream s;
  CUevent begin, end;
  ASSERT_EQ(cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuEventCreate(&begin, 0), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuEventCreate(&end, 0), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuEventQuery(end), CUDA_SUCCESS); // Never recorded.
  ASSERT_EQ(cu.cuEventRecord(begin, s), CUDA_SUCCESS);
  ASSERT_EQ(scale(ones(), ones(), 1, s), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuEventRecord(end, s), CUDA_SUCCESS);
  float ms = -1;
  EXPECT_EQ(cu.cuEventElapsedTime(&ms, begin, end), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cu.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
  int polls = 0;
  while (cu.cuEventQuery(end) == CUDA_ERROR_NOT_READY)
    ASSERT_LT(++polls, 100);
  EXPECT_EQ(cu.cuStreamQuery(s), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuEventElapsedTime(&ms, begin, end), CUDA_SUCCESS);
  EXPECT_GE(ms, 0.0f);
}

TEST_F(DriverTest, hostFunctionsRunInOrderAndMayWaitForOthers) {
  CUstream s;
  ASSERT_EQ(cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  struct State {
    const DriverTable *cu;
    std::atomic<bool> ran = false;
  } state{&cu};
  ASSERT_EQ(cu.cuLaunchHostFunc(
                s,
                [](void *data) {
                  // Another thread calls the driver meanwhile.
                  std::thread other([&] {
                    int count = 0;
                    static_cast<State *>(data)->cu->cuDeviceGetCount(&count);
                    static_cast<State *>(data)->ran = count == 1;
                  });
                  other.join();
                },
                &state),
            CUDA_SUCCESS);
  EXPECT_FALSE(state.ran);
  ASSERT_EQ(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_TRUE(state.ran);
}

TEST_F(DriverTest, pointersKnowWhereTheyAre) {
  CUdeviceptr p = allocate(100), base = 0;
  size_t size = 0;
  EXPECT_EQ(cu.cuMemGetAddressRange(&base, &size, p + 40), CUDA_SUCCESS);
  EXPECT_EQ(base, p);
  EXPECT_EQ(size, 100u);
  unsigned type = 0;
  int ordinal = -1;
  EXPECT_EQ(cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p), CUDA_SUCCESS);
  EXPECT_EQ(type, unsigned(CU_MEMORYTYPE_DEVICE));
  EXPECT_EQ(cu.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p),
            CUDA_SUCCESS);
  EXPECT_EQ(ordinal, 0);
  EXPECT_EQ(cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                     reinterpret_cast<uintptr_t>(&type)),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverTest, severalDevices) {
  kiln_sim_options options = {};
  options.device_count = 2;
  options.memory_bytes = 1 << 20;
  start(options);
  CUcontext second;
  ASSERT_EQ(cu.cuDevicePrimaryCtxRetain(&second, 1), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuCtxPushCurrent(second), CUDA_SUCCESS);
  CUdeviceptr there = allocate(900 << 10);
  int ordinal = -1;
  EXPECT_EQ(cu.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, there),
            CUDA_SUCCESS);
  EXPECT_EQ(ordinal, 1);
  CUstream foreign;
  ASSERT_EQ(cu.cuStreamCreate(&foreign, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuCtxPopCurrent(nullptr), CUDA_SUCCESS);
  allocate(900 << 10); // The first device's memory is its own.
  CUcontext owner = nullptr;
  EXPECT_EQ(cu.cuStreamGetCtx(foreign, &owner), CUDA_SUCCESS);
  EXPECT_EQ(owner, second);
  EXPECT_EQ(cu.cuMemsetD8Async(there, 0, 4, foreign), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_EQ(cu.cuDevicePrimaryCtxRelease(1), CUDA_SUCCESS);
}

TEST_F(DriverTest, occupancyFollowsTheLimits) {
  load("BasicKernels"); // 16 bytes of static shared memory.
  CUfunction f = function("scale");
  int blocks = 0;
  EXPECT_EQ(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 128, 0), CUDA_SUCCESS);
  EXPECT_EQ(blocks, 16); // 2048 threads
  EXPECT_EQ(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 32, 0), CUDA_SUCCESS);
  EXPECT_EQ(blocks, 32); // blocks
  EXPECT_EQ(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 128, 40 << 10),
            CUDA_SUCCESS);
  EXPECT_EQ(blocks, 3); // 164 KiB / (40 KiB + 16 + 1 KiB)
}

TEST_F(DriverTest, modulesUnloadAndComeBack) {
  for (int i = 0; i < 50; ++i) {
    load("BasicKernels", i % 2 ? "plain" : "checked");
    CUdeviceptr y = ones();
    ASSERT_EQ(scale(y, ones(), 1, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(download<float>(y, 1)[0], 2.0f);
    CUfunction f = function("scale");
    ASSERT_EQ(cu.cuModuleUnload(module), CUDA_SUCCESS);
    int value;
    EXPECT_EQ(cu.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, f),
              CUDA_ERROR_INVALID_HANDLE);
  }
}

} // namespace
