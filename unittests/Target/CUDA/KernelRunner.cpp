//===- KernelRunner.cpp - Runs instances of templates in tests -----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"
#include "runtime/drivers/cuda/DriverAPI.h"
#include "runtime/drivers/cudasim/KilnSim.h"
#include <dlfcn.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

using namespace kiln::cuda;
using namespace kiln::cuda::test;

namespace {

/// The simulator, loaded once for the program.
struct Simulator {
  DriverTable driver;
  decltype(&kilnSimConfigure) configure;
  decltype(&kilnSimReset) reset;
  decltype(&kilnSimFindingCount) findingCount;
  decltype(&kilnSimFinding) finding;
  decltype(&kilnSimCounts) counts;
  decltype(&kilnSimReport) report;

  static const Simulator &get() {
    static const Simulator simulator;
    return simulator;
  }

private:
  Simulator() {
    if (const char *wrong = loadDriverTable(driver, KILN_CUDASIM_LIBRARY))
      fail(wrong);
    void *library = dlopen(KILN_CUDASIM_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    find(library, configure, "kilnSimConfigure");
    find(library, reset, "kilnSimReset");
    find(library, findingCount, "kilnSimFindingCount");
    find(library, finding, "kilnSimFinding");
    find(library, counts, "kilnSimCounts");
    find(library, report, "kilnSimReport");
  }
  template <class F> static void find(void *library, F &function, const char *name) {
    function = reinterpret_cast<F>(dlsym(library, name));
    if (!function)
      fail(name);
  }
  [[noreturn]] static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", KILN_CUDASIM_LIBRARY, what);
    exit(1);
  }
};

void check(CUresult result, const char *call) {
  if (result != CUDA_SUCCESS) {
    const char *text = "";
    Simulator::get().driver.cuGetErrorString(result, &text);
    ADD_FAILURE() << call << ": " << text << "\n" << Simulator::get().report();
  }
}
#define CHECK(call) check(Simulator::get().driver.call, #call)

} // namespace

struct KernelRunner::State {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  std::vector<CUdeviceptr> buffers;
};

KernelRunner::KernelRunner(const char *module) : state(std::make_unique<State>()) {
  setSeed(1);
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&state->context, 0));
  CHECK(cuCtxSetCurrent(state->context));
  std::ifstream file(std::string(KILN_SIM_MODULES "/") + module + ".checked.so", std::ios::binary);
  std::vector<char> image{std::istreambuf_iterator<char>(file), {}};
  EXPECT_FALSE(image.empty()) << module;
  CHECK(cuModuleLoadData(&state->module, image.data()));
}

KernelRunner::~KernelRunner() {
  for (CUdeviceptr buffer : state->buffers)
    CHECK(cuMemFree(buffer));
  if (state->module)
    CHECK(cuModuleUnload(state->module));
  CHECK(cuDevicePrimaryCtxRelease(0));
}

void KernelRunner::setSeed(unsigned seed) {
  kiln_sim_options options = {};
  options.struct_size = sizeof(options);
  options.seed = seed;
  ASSERT_EQ(Simulator::get().configure(&options), 0);
}

void *KernelRunner::allocateBytes(size_t bytes) {
  CUdeviceptr pointer = 0;
  // The driver refuses nothing; a kernel gets a pointer all the same.
  CHECK(cuMemAlloc(&pointer, bytes ? bytes : 1));
  state->buffers.push_back(pointer);
  return reinterpret_cast<void *>(pointer);
}

void KernelRunner::uploadBytes(void *to, const void *from, size_t bytes) {
  if (bytes)
    CHECK(cuMemcpyHtoD(reinterpret_cast<CUdeviceptr>(to), from, bytes));
}

void KernelRunner::downloadBytes(void *to, const void *from, size_t bytes) {
  if (bytes)
    CHECK(cuMemcpyDtoH(to, reinterpret_cast<CUdeviceptr>(from), bytes));
}

Launched KernelRunner::launchPointers(const char *kernel, const LaunchShape &shape,
                                      void **pointers) {
  const Simulator &simulator = Simulator::get();
  simulator.reset();
  CUfunction function = nullptr;
  CHECK(cuModuleGetFunction(&function, state->module, kernel));
  // More than 48 KiB have to be asked for, as on a card.
  if (shape.sharedBytes > 48 << 10)
    CHECK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                             shape.sharedBytes));
  CHECK(cuLaunchKernel(function, static_cast<unsigned>(shape.blocks[0]),
                       static_cast<unsigned>(shape.blocks[1]),
                       static_cast<unsigned>(shape.blocks[2]), static_cast<unsigned>(shape.threads),
                       1, 1, static_cast<unsigned>(shape.sharedBytes), nullptr, pointers, nullptr));
  Launched launched;
  CUresult result = simulator.driver.cuCtxSynchronize();
  for (size_t i = 0; i < simulator.findingCount(); ++i) {
    kiln_sim_finding finding;
    simulator.finding(i, &finding);
    launched.findings += std::string(finding.name) + ": " + finding.text + "\n";
  }
  if (result != CUDA_SUCCESS && launched.findings.empty())
    launched.findings = "the launch failed with error " + std::to_string(result);
  kiln_sim_counts counts = {};
  simulator.counts(nullptr, &counts);
  launched.counts = {counts.global_read_bytes, counts.global_write_bytes,
                     counts.unique_read_bytes, counts.unique_written_bytes,
                     counts.sectors,           counts.ideal_sectors,
                     counts.shared_wavefronts, counts.ideal_shared_wavefronts};
  return launched;
}
