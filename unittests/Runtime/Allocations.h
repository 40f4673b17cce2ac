//===- Allocations.h - Counting and failing heap allocations - -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The test program is linked with --wrap for malloc, calloc and aligned_alloc:
// what it calls goes through here, what the C library calls itself does not.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_UNITTESTS_RUNTIME_ALLOCATIONS_H
#define KILN_UNITTESTS_RUNTIME_ALLOCATIONS_H

#include <atomic>
#include <cstdint>

namespace kiln::test {

extern std::atomic<uint64_t> allocations;

/// Allocations of this thread that still succeed; negative: all do.
extern thread_local int64_t allocationsLeft;

} // namespace kiln::test

#endif // KILN_UNITTESTS_RUNTIME_ALLOCATIONS_H
