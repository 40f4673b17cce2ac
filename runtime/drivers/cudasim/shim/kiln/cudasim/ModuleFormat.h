//===- ModuleFormat.h - What a simulator module holds -----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module is a shared object that exports one symbol, `kilnSimModule`. It has
// no undefined symbol of the simulator: every call of one goes through a slot of
// its `hooks`, which the simulator fills when it loads the module. So neither
// the link nor the scope in which the simulator was loaded matters.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CUDASIM_MODULEFORMAT_H
#define KILN_CUDASIM_MODULEFORMAT_H

#include <cstdint>

namespace kiln::cudasim {

constexpr uint32_t kModuleVersion = 1;

struct ModuleKernel {
  const char *name;
  /// Calls the kernel for the current thread; `parameters` as cuLaunchKernel takes them.
  void (*invoke)(void *const *parameters);
  const uint32_t *parameterBytes;
  uint32_t parameterCount;
};

struct ModuleHook {
  void *target;
  const char *name;
};

struct Module {
  uint32_t version; // kModuleVersion
  uint32_t checked; // 1: accesses are instrumented
  const ModuleKernel *kernels, *kernelsEnd;
  ModuleHook *hooks, *hooksEnd;
  char *shared, *sharedEnd; // The kernels' static shared memory.
};

} // namespace kiln::cudasim

#endif // KILN_CUDASIM_MODULEFORMAT_H
