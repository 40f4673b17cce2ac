//===- ForkGuard.cpp - Noticing that the process was forked ---------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ForkGuard.h"

#include <new>
#include <sys/mman.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

namespace kiln::rt {

static constexpr size_t kGuardBytes = 4096;

ForkGuard::~ForkGuard() {
  if (page)
    munmap(page, kGuardBytes);
}

bool ForkGuard::create() {
  void *memory =
      mmap(nullptr, kGuardBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  // A kernel before 4.14 refuses: then a fork goes unnoticed, and the child of
  // a process that ran with threads must not run.
  madvise(memory, kGuardBytes, MADV_WIPEONFORK);
  page = new (memory) std::atomic<uint64_t>(1);
  return true;
}

uint64_t ForkGuard::renew() {
  uint64_t next = latest.load(std::memory_order_acquire) + 1;
  uint64_t expected = 0;
  if (page->compare_exchange_strong(expected, next, std::memory_order_acq_rel))
    latest.store(next, std::memory_order_release);
  return page->load(std::memory_order_acquire);
}

} // namespace kiln::rt
