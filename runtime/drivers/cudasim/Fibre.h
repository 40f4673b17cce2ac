//===- Fibre.h - One stack for each thread of a block -----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_DRIVERS_CUDASIM_FIBRE_H
#define KILN_RUNTIME_DRIVERS_CUDASIM_FIBRE_H

#include <cstddef>
#include <cstdint>

/// Saves the callee-saved registers on the current stack and that stack's pointer
/// in `from`, then goes on where `to` was saved.
extern "C" void kilnSimSwitch(void **from, void *to);

namespace kiln::cudasim {

/// A host thread's fibre stacks, with a page without access below each.
class FibreStacks {
public:
  explicit FibreStacks(unsigned count);
  ~FibreStacks();
  FibreStacks(const FibreStacks &) = delete;
  FibreStacks &operator=(const FibreStacks &) = delete;

  bool isValid() const { return base != 0; }
  bool contains(uintptr_t address) const { return address - base < bytes; }
  /// A stack on which the first switch calls `entry`, which must not return.
  void *start(unsigned index, void (*entry)()) const;

private:
  uintptr_t base = 0;
  size_t bytes = 0;
};

} // namespace kiln::cudasim

#endif // KILN_RUNTIME_DRIVERS_CUDASIM_FIBRE_H
