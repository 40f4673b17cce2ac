//===- Cpu.h - Processors: waiting, counting, instruction sets - -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_CORE_CPU_H
#define KILN_RUNTIME_CORE_CPU_H

#include <cstddef>
#include <cstdint>

namespace kiln::rt {

/// Tells the core that this is a waiting loop.
inline void pauseCpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

/// CPUs that the process may use: affinity mask, cut by the CPU quota of its
/// control group. At least 1.
uint32_t countUsableCpus();

/// Writes the first of the comma separated `features` (as /proc/cpuinfo spells
/// them) that this CPU or kernel lacks; false when all are there.
bool findMissingFeature(const char *features, char *missing, size_t size);

} // namespace kiln::rt

#endif // KILN_RUNTIME_CORE_CPU_H
