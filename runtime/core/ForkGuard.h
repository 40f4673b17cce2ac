//===- ForkGuard.h - Noticing that the process was forked ---- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A page that the kernel zeroes in a child: one load (0.7 ns) tells, where
// getpid() is a system call and pthread_atfork is not to be had in a library
// that can be unloaded.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_CORE_FORKGUARD_H
#define KILN_RUNTIME_CORE_FORKGUARD_H

#include <atomic>
#include <cstdint>

namespace kiln::rt {

class ForkGuard {
public:
  ForkGuard() = default;
  ForkGuard(const ForkGuard &) = delete;
  ForkGuard &operator=(const ForkGuard &) = delete;
  ~ForkGuard();

  /// False when there is no memory.
  bool create();

  /// Never 0; another number than before in a process forked since.
  uint64_t generation() {
    uint64_t seen = page->load(std::memory_order_acquire);
    return seen ? seen : renew();
  }

private:
  uint64_t renew();

  std::atomic<uint64_t> *page = nullptr;
  /// Survives the fork, unlike the page.
  std::atomic<uint64_t> latest{1};
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_CORE_FORKGUARD_H
