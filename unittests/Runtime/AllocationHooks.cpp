//===- AllocationHooks.cpp - Counting and failing heap allocations --------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Allocations.h"

#include <cstddef>

using namespace kiln::test;

std::atomic<uint64_t> kiln::test::allocations{0};
thread_local int64_t kiln::test::allocationsLeft = -1;

static bool mayAllocate() {
  ++allocations;
  if (allocationsLeft < 0)
    return true;
  if (allocationsLeft == 0)
    return false;
  --allocationsLeft;
  return true;
}

extern "C" {
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size) { return mayAllocate() ? __real_malloc(size) : nullptr; }
void *__wrap_calloc(size_t count, size_t size) {
  return mayAllocate() ? __real_calloc(count, size) : nullptr;
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  return mayAllocate() ? __real_aligned_alloc(alignment, size) : nullptr;
}
}
