//===- Simulator.h - The state of the simulated machine ---------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One in a process, behind the driver's lock.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_DRIVERS_CUDASIM_SIMULATOR_H
#define KILN_RUNTIME_DRIVERS_CUDASIM_SIMULATOR_H

#include "DeviceMemory.h"
#include "KilnSim.h"
#include "Launch.h"
#include "Machine.h"
#include "Report.h"

#include <memory>
#include <mutex>
#include <string>

namespace kiln::cudasim {

struct Simulator {
  Simulator();

  kiln_sim_options options; // Complete: defaults and environment are in it.
  kiln_sim_device device;
  DeviceMemory memory;
  Report report;
  // Since the options were set: what was asked for, and launches that ran.
  uint64_t allocations = 0, launchCalls = 0, enqueuedLaunches = 0, launches = 0, calls = 0;
  /// A module without checks ran: nobody knows what it wrote.
  bool writesUnseen = false;

  /// The status of the context's stream after the launch.
  int run(const Launch &launch);
  /// Reserves device memory, at the first use.
  bool prepare();
  /// Bytes of address space: twice the devices' memory, since what was freed is not
  /// used again at once.
  static uint64_t reservationFor(const kiln_sim_options &options) {
    return 2 * options.memory_bytes * options.device_count;
  }

private:
  LaunchResult runOnce(const Launch &launch, uint64_t seed, uintptr_t watched = 0);
  void replay(const Launch &launch, LaunchResult &result);
  std::vector<std::unique_ptr<Machine>> machines;
};

Simulator &simulator();

/// Completes options by environment and defaults; false where they are not valid.
bool completeOptions(kiln_sim_options &options, kiln_sim_device &device);

/// Loads `image` as one more copy. Null on success, else what is wrong with it.
const char *loadCopy(LoadedModule &module);
void unloadCopies(LoadedModule &module);
/// The image's size by its own headers; 0 where it is no shared object for this machine.
size_t imageSize(const void *image);

} // namespace kiln::cudasim

#endif // KILN_RUNTIME_DRIVERS_CUDASIM_SIMULATOR_H
