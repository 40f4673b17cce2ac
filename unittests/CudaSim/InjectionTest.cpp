//===- InjectionTest.cpp - Faults of a device, on request -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SimTest.h"

#include <chrono>
#include <fstream>
#include <iterator>

using namespace kiln::cuda;

namespace {

struct ScaleParams {
  float factor;
  double unused;
  int count;
};

class InjectionTest : public SimTest {
protected:
  const DriverTable &cu = sim().driver;
  CUresult scale(CUdeviceptr y, CUdeviceptr x) {
    return launch("scale", {1}, {128}, 0, y, x, ScaleParams{1, 0, 128});
  }
  CUdeviceptr ones() { return upload(std::vector<float>(128, 1.0f)); }
};

TEST_F(InjectionTest, allocation) {
  kiln_sim_options options = {};
  options.fail_allocation = 3;
  start(options);
  CUdeviceptr p;
  void *host;
  EXPECT_EQ(cu.cuMemAlloc(&p, 4), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuMemAllocAsync(&p, 4, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuMemHostAlloc(&host, 4, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cu.cuMemAlloc(&p, 4), CUDA_SUCCESS); // Only that one.
}

TEST_F(InjectionTest, refusedLaunchChangesNothing) {
  kiln_sim_options options = {};
  options.fail_launch = 2;
  start(options);
  load("BasicKernels");
  CUdeviceptr y = ones(), x = ones();
  EXPECT_EQ(scale(y, x), CUDA_SUCCESS);
  EXPECT_EQ(scale(y, x), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(scale(y, x), CUDA_SUCCESS);
  EXPECT_EQ(download<float>(y, 1)[0], 3.0f);
}

TEST_F(InjectionTest, stickyErrorStaysUntilTheContextGoes) {
  kiln_sim_options options = {};
  options.sticky_launch = 1;
  start(options);
  load("BasicKernels");
  CUdeviceptr y = ones(), x = ones();
  EXPECT_EQ(scale(y, x), CUDA_SUCCESS); // Asynchronous: not known yet.
  EXPECT_EQ(synchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  float v;
  EXPECT_EQ(cu.cuMemcpyDtoH(&v, y, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cu.cuMemAlloc(&y, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cu.cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuMemAlloc(&y, 4), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  ASSERT_EQ(cu.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuCtxSetCurrent(context), CUDA_SUCCESS);
  size_t free = 0, total = 0;
  EXPECT_EQ(cu.cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  EXPECT_EQ(free, total); // The reset gave back what the context held.
  load("BasicKernels");
  y = ones();
  EXPECT_EQ(scale(y, ones()), CUDA_SUCCESS);
  EXPECT_EQ(download<float>(y, 1)[0], 2.0f);
}

TEST_F(InjectionTest, lostDeviceAnswersNoCall) {
  kiln_sim_options options = {};
  options.lose_device = 8;
  start(options); // Two calls: a context, made current.
  CUdeviceptr p;
  int calls = 0;
  CUresult last = CUDA_SUCCESS;
  while (calls < 20 && (last = cu.cuMemAlloc(&p, 4)) == CUDA_SUCCESS)
    ++calls;
  EXPECT_EQ(last, CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(calls, 5);
  EXPECT_EQ(synchronize(), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(cu.cuDevicePrimaryCtxReset(0), CUDA_ERROR_UNKNOWN);
}

TEST_F(InjectionTest, flippedBit) {
  CUdeviceptr first = ones();
  kiln_sim_options options = {};
  options.struct_size = sizeof options;
  options.flip_launch = 2;
  options.flip_address = first + 4 * 5 + 3; // Sign and exponent of the sixth float.
  options.flip_bit = 7;
  ASSERT_EQ(sim().configure(&options), 0);
  load("BasicKernels");
  CUdeviceptr y = ones();
  EXPECT_EQ(scale(y, first), CUDA_SUCCESS);
  EXPECT_EQ(download<float>(y, 6)[5], 2.0f);
  EXPECT_EQ(scale(y, first), CUDA_SUCCESS);
  const std::vector<float> got = download<float>(y, 6);
  EXPECT_EQ(got[5], 1.0f); // 2 + -1
  EXPECT_EQ(got[4], 3.0f);
}

TEST_F(InjectionTest, stalledStream) {
  kiln_sim_options options = {};
  options.stall_launch = 1;
  options.stall_milliseconds = 60;
  start(options);
  load("BasicKernels");
  CUdeviceptr y = ones(), x = ones();
  CUstream s, t;
  ASSERT_EQ(cu.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cu.cuStreamCreate(&t, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  const auto begin = std::chrono::steady_clock::now();
  stream = s;
  EXPECT_EQ(scale(y, x), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuMemsetD8Async(x, 0, 4, t), CUDA_SUCCESS);
  EXPECT_EQ(cu.cuStreamSynchronize(t), CUDA_SUCCESS); // Others go on.
  // Polling does not help, and waiting waits.
  int polls = 0;
  while (cu.cuStreamQuery(s) == CUDA_ERROR_NOT_READY && polls < 3)
    ++polls;
  EXPECT_EQ(cu.cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(60));
}

TEST_F(InjectionTest, environmentSetsDefaults) {
  setenv("KILN_SIM_MEMORY_BYTES", "65536", 1);
  setenv("KILN_SIM_ARCHITECTURE", "sm_75", 1);
  start({});
  size_t total = 0;
  EXPECT_EQ(cu.cuDeviceTotalMem(&total, 0), CUDA_SUCCESS);
  EXPECT_EQ(total, 65536u);
  int major = 0;
  EXPECT_EQ(cu.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(major, 7);
  setenv("KILN_SIM_SEED", "one", 1);
  kiln_sim_options options = {};
  options.struct_size = sizeof options;
  EXPECT_EQ(sim().configure(&options), -1);
  unsetenv("KILN_SIM_MEMORY_BYTES");
  unsetenv("KILN_SIM_ARCHITECTURE");
  unsetenv("KILN_SIM_SEED");
}

TEST_F(InjectionTest, reportIsWrittenWhenTheProgramEnds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string path = ::testing::TempDir() + "kiln-sim-report.txt";
  setenv("KILN_SIM_REPORT", path.c_str(), 1); // Before the child loads the simulator.
  EXPECT_EXIT(
      {
        load("BasicKernels");
        scale(ones(), allocate(512));
        synchronize();
        exit(0);
      },
      ::testing::ExitedWithCode(0), "");
  unsetenv("KILN_SIM_REPORT");
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("FOUND UNWRITTEN_READ"), std::string::npos) << text;
  EXPECT_NE(text.find("kernel scale at BasicKernels.cu:"), std::string::npos) << text;
  remove(path.c_str());
}

} // namespace
