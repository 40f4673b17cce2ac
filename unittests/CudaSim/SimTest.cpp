//===- SimTest.cpp - A device, memory and modules for tests ---------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SimTest.h"

#include <dlfcn.h>
#include <fstream>
#include <iterator>

namespace kiln::cuda {

const SimApi &sim() {
  static const SimApi api = [] {
    SimApi a = {};
    const char *wrong = loadDriverTable(a.driver, KILN_CUDASIM_LIBRARY);
    EXPECT_EQ(wrong, nullptr) << wrong;
    void *library = dlopen(KILN_CUDASIM_LIBRARY, RTLD_NOW);
    auto find = [&](auto &field, const char *name) {
      field = reinterpret_cast<std::remove_reference_t<decltype(field)>>(dlsym(library, name));
      EXPECT_NE(field, nullptr) << name;
    };
    find(a.configure, "kilnSimConfigure");
    find(a.reset, "kilnSimReset");
    find(a.findingCount, "kilnSimFindingCount");
    find(a.finding, "kilnSimFinding");
    find(a.counts, "kilnSimCounts");
    find(a.siteCount, "kilnSimSiteCount");
    find(a.site, "kilnSimSite");
    find(a.report, "kilnSimReport");
    find(a.poison, "kilnSimPoison");
    find(a.expectWritten, "kilnSimExpectWritten");
    return a;
  }();
  return api;
}

std::vector<char> readModule(const std::string &name, const std::string &flavour) {
  std::ifstream file(std::string(KILN_SIM_MODULES) + "/" + name + "." + flavour + ".so",
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void SimTest::start(kiln_sim_options options) {
  stop();
  options.struct_size = sizeof options;
  ASSERT_EQ(sim().configure(&options), 0);
  ASSERT_EQ(sim().driver.cuInit(0), CUDA_SUCCESS);
  ASSERT_EQ(sim().driver.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(sim().driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
  module = nullptr;
  stream = nullptr;
}

void SimTest::stop() {
  if (context) {
    // A lost device cannot be released otherwise.
    kiln_sim_options none = {};
    none.struct_size = sizeof none;
    sim().configure(&none);
    EXPECT_EQ(sim().driver.cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
    sim().driver.cuCtxSetCurrent(nullptr);
  }
  context = nullptr;
}

CUmodule SimTest::load(const std::string &name, const std::string &flavour) {
  const std::vector<char> image = readModule(name, flavour);
  EXPECT_FALSE(image.empty()) << name;
  EXPECT_EQ(sim().driver.cuModuleLoadData(&module, image.data()), CUDA_SUCCESS);
  return module;
}

CUfunction SimTest::function(const std::string &name) {
  CUfunction f = nullptr;
  EXPECT_EQ(sim().driver.cuModuleGetFunction(&f, module, name.c_str()), CUDA_SUCCESS) << name;
  return f;
}

CUdeviceptr SimTest::allocate(size_t bytes) {
  CUdeviceptr p = 0;
  EXPECT_EQ(sim().driver.cuMemAlloc(&p, bytes), CUDA_SUCCESS);
  return p;
}

std::vector<kiln_sim_finding> SimTest::findings() {
  std::vector<kiln_sim_finding> all(sim().findingCount());
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(sim().finding(i, &all[i]), 0);
  return all;
}

kiln_sim_counts SimTest::counts(const char *kernel) {
  kiln_sim_counts c = {};
  EXPECT_EQ(sim().counts(kernel, &c), 0);
  return c;
}

} // namespace kiln::cuda
