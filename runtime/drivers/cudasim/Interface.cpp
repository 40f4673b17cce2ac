//===- Interface.cpp - The simulator's own interface ----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace kiln::cudasim;

#define KILN_SIM_API extern "C" __attribute__((visibility("default")))

static void forget(Simulator &s) {
  s.report.clear();
  s.allocations = s.launchCalls = s.launches = s.enqueuedLaunches = s.calls = 0;
  s.writesUnseen = false;
}

KILN_SIM_API int kilnSimConfigure(const kiln_sim_options *options) {
  kiln_sim_options complete = {};
  if (options) {
    if (options->struct_size < sizeof options->struct_size ||
        options->struct_size > sizeof complete)
      return -1;
    memcpy(&complete, options, options->struct_size);
  }
  kiln_sim_device device;
  if (!completeOptions(complete, device))
    return -1;
  DriverState &d = driver();
  std::lock_guard<std::mutex> lock(d.mutex);
  Simulator &s = simulator();
  // Memory that is in use stays where it is; it can be another size only when all is free.
  if (s.memory.isReserved() && d.allocations.empty())
    s.memory.release();
  else if (s.memory.isReserved() && !s.memory.holds(Simulator::reservationFor(complete)))
    return -1;
  s.options = complete;
  s.device = device;
  d.random = complete.seed;
  forget(s);
  return !d.initialised || s.prepare() ? 0 : -1;
}

KILN_SIM_API void kilnSimReset() {
  std::lock_guard<std::mutex> lock(driver().mutex);
  forget(simulator());
}

KILN_SIM_API size_t kilnSimFindingCount() {
  std::lock_guard<std::mutex> lock(driver().mutex);
  return simulator().report.findings().size();
}

KILN_SIM_API int kilnSimFinding(size_t index, kiln_sim_finding *finding) {
  std::lock_guard<std::mutex> lock(driver().mutex);
  const auto &all = simulator().report.findings();
  if (index >= all.size())
    return -1;
  *finding = all[index];
  return 0;
}

KILN_SIM_API int kilnSimCounts(const char *kernel, kiln_sim_counts *counts) {
  std::lock_guard<std::mutex> lock(driver().mutex);
  return simulator().report.counts(kernel, *counts) ? 0 : -1;
}

KILN_SIM_API size_t kilnSimSiteCount() {
  std::lock_guard<std::mutex> lock(driver().mutex);
  return simulator().report.sites().size();
}

KILN_SIM_API int kilnSimSite(size_t index, kiln_sim_site *site) {
  std::lock_guard<std::mutex> lock(driver().mutex);
  const auto &all = simulator().report.sites();
  if (index >= all.size())
    return -1;
  *site = all[index];
  return 0;
}

KILN_SIM_API const char *kilnSimReport() {
  std::lock_guard<std::mutex> lock(driver().mutex);
  return simulator().report.text();
}

KILN_SIM_API int kilnSimPoison(uint64_t address, size_t bytes) {
  std::lock_guard<std::mutex> lock(driver().mutex);
  DeviceMemory &memory = simulator().memory;
  if (!memory.isReserved() || !memory.isLive(address, bytes))
    return -1;
  memory.poison(address, bytes);
  return 0;
}

KILN_SIM_API size_t kilnSimExpectWritten(uint64_t address, size_t bytes) {
  std::lock_guard<std::mutex> lock(driver().mutex);
  Simulator &s = simulator();
  if (!s.memory.isReserved() || !s.memory.isLive(address, bytes) || s.writesUnseen)
    return 0;
  uintptr_t first = 0;
  const size_t n = s.memory.unwritten(address, bytes, first);
  if (n)
    s.report.addUnwritten(s.memory.owner(address).lastWriter, address, n, first);
  return n;
}
