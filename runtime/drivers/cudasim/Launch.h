//===- Launch.h - A kernel's launch and what came of it ---------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_DRIVERS_CUDASIM_LAUNCH_H
#define KILN_RUNTIME_DRIVERS_CUDASIM_LAUNCH_H

#include "KilnSim.h"
#include "kiln/cudasim/ModuleFormat.h"

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kiln::cudasim {

/// A module loaded once more: a host thread's own static shared memory.
struct ModuleCopy {
  void *handle = nullptr;
  const Module *module = nullptr;
  uintptr_t base = 0, end = 0; // The image in memory.
  int file = -1;
};

struct LoadedModule {
  std::vector<unsigned char> image;
  std::vector<ModuleCopy> copies;
  const Module &first() const { return *copies.front().module; }
};

struct Launch {
  LoadedModule *module = nullptr;
  unsigned kernel = 0; // Of the module's.
  const char *name = "";
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  size_t dynamicShared = 0;
  std::vector<unsigned char> parameters;
  std::vector<size_t> parameterAt;

  uint64_t blocks() const { return uint64_t(grid[0]) * grid[1] * grid[2]; }
  unsigned threads() const { return block[0] * block[1] * block[2]; }
};

struct LaunchOptions {
  uint64_t seed = 1;
  bool checks = true;
  bool betweenBlocks = false; // Races between blocks are looked for.
  uintptr_t watched = 0;      // A byte of device memory whose last writer is asked for.
};

struct LastWrite {
  uint32_t pc = 0;
  uint64_t block = 0;
  int thread = -1;
};

/// A finding before its place has a name. `pc` counts from the module's beginning.
struct RawFinding {
  kiln_sim_finding_kind kind;
  uint32_t pc, otherPc;
  uint64_t block, otherBlock;
  int thread, other;
  uint64_t address;
  unsigned bytes, detail;
  uint64_t count;
};

struct Site {
  char space = 0, operation = 0;
  uint64_t warpOperations = 0, lanes = 0, bytes = 0, units = 0, ideal = 0;
};

using Counts = kiln_sim_counts;

struct LaunchResult {
  std::unordered_map<uint64_t, RawFinding> findings; // By kind and place.
  std::unordered_map<uint64_t, Site> sites;          // By place, space and kind.
  Counts counts = {};
  LastWrite lastWrite;
  bool aborted = false;

  void merge(LaunchResult &&other);
};

void addSite(Site &to, const Site &from);
void addCounts(Counts &to, const Counts &from);

} // namespace kiln::cudasim

#endif // KILN_RUNTIME_DRIVERS_CUDASIM_LAUNCH_H
