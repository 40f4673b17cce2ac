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

#if defined(__SANITIZE_ADDRESS__)
#define KILN_SIM_TELLS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KILN_SIM_TELLS_ASAN 1
#endif
#endif

namespace kiln::cudasim {

/// A stack as AddressSanitizer knows it, which must hear of each switch. In other
/// builds there is nothing to it.
struct WatchedStack {
#ifdef KILN_SIM_TELLS_ASAN
  /// Its frames that live elsewhere, while it is left.
  void *frames = nullptr;
  const void *bottom = nullptr;
  size_t bytes = 0;

  /// The calling thread's own.
  void setToThread();
  /// One of a fibre that begins afresh: what was on it is forgotten.
  void setTo(uintptr_t begin, size_t size);
  void leaveFor(const WatchedStack &other);
  void arrive();
#else
  void setToThread() {}
  void setTo(uintptr_t, size_t) {}
  void leaveFor(const WatchedStack &) {}
  void arrive() {}
#endif
};

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
  void *start(unsigned index, void (*entry)(), WatchedStack &watched) const;

private:
  uintptr_t base = 0;
  size_t bytes = 0;
};

} // namespace kiln::cudasim

#endif // KILN_RUNTIME_DRIVERS_CUDASIM_FIBRE_H
