//===- SimTest.h - A device, memory and modules for tests -------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_UNITTESTS_CUDASIM_SIMTEST_H
#define KILN_UNITTESTS_CUDASIM_SIMTEST_H

#include "runtime/drivers/cuda/DriverAPI.h"
#include "runtime/drivers/cudasim/KilnSim.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace kiln::cuda {

struct SimApi {
  DriverTable driver;
  decltype(&kilnSimConfigure) configure;
  decltype(&kilnSimReset) reset;
  decltype(&kilnSimFindingCount) findingCount;
  decltype(&kilnSimFinding) finding;
  decltype(&kilnSimCounts) counts;
  decltype(&kilnSimSiteCount) siteCount;
  decltype(&kilnSimSite) site;
  decltype(&kilnSimReport) report;
  decltype(&kilnSimPoison) poison;
  decltype(&kilnSimExpectWritten) expectWritten;
};

/// The simulator, loaded once.
const SimApi &sim();

std::vector<char> readModule(const std::string &name, const std::string &flavour);

struct Dim {
  unsigned x = 1, y = 1, z = 1;
};

/// A context on device 0, and all that a test makes in it.
class SimTest : public ::testing::Test {
protected:
  void SetUp() override { start({}); }
  void TearDown() override { stop(); }

  /// Begins afresh with these options.
  void start(kiln_sim_options options);
  void stop();

  CUmodule load(const std::string &name, const std::string &flavour = "checked");
  CUfunction function(const std::string &name);

  template <class T> CUdeviceptr upload(const std::vector<T> &values) {
    CUdeviceptr p = allocate(values.size() * sizeof(T));
    EXPECT_EQ(sim().driver.cuMemcpyHtoD(p, values.data(), values.size() * sizeof(T)), CUDA_SUCCESS);
    return p;
  }
  template <class T> std::vector<T> download(CUdeviceptr p, size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(sim().driver.cuMemcpyDtoH(values.data(), p, count * sizeof(T)), CUDA_SUCCESS);
    return values;
  }
  CUdeviceptr allocate(size_t bytes);

  template <class... A>
  CUresult launch(const std::string &kernel, Dim grid, Dim block, unsigned shared, A... arguments) {
    void *parameters[] = {static_cast<void *>(&arguments)..., nullptr};
    return sim().driver.cuLaunchKernel(function(kernel), grid.x, grid.y, grid.z, block.x, block.y,
                                       block.z, shared, stream, parameters, nullptr);
  }
  CUresult synchronize() { return sim().driver.cuCtxSynchronize(); }
  std::vector<kiln_sim_finding> findings();
  kiln_sim_counts counts(const char *kernel = nullptr);

  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUstream stream = nullptr;
};

} // namespace kiln::cuda

#endif // KILN_UNITTESTS_CUDASIM_SIMTEST_H
