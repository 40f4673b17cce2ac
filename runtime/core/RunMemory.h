//===- RunMemory.h - Memory that a run asks for while it goes - -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_CORE_RUNMEMORY_H
#define KILN_RUNTIME_CORE_RUNMEMORY_H

#include "Support.h"

namespace kiln::rt {

/// Blocks whose size only the run knows. What was not given back by its end is
/// freed then. One thread at a time.
class RunMemory {
public:
  RunMemory() = default;
  RunMemory(const RunMemory &) = delete;
  RunMemory &operator=(const RunMemory &) = delete;
  ~RunMemory() { clear(); }

  /// Null when there is none.
  void *allocate(uint64_t bytes);
  void release(void *memory);
  void clear();
  /// The newest block; null when there is none.
  void *mark() const { return first; }
  /// Releases what is newer than a mark but not among `kept`.
  void releaseSince(void *mark, void *const *kept, uint32_t count);

private:
  /// Before every block, as long as its alignment.
  struct alignas(kAlignment) Header {
    Header *previous;
    Header *next;
  };
  Header *first = nullptr;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_CORE_RUNMEMORY_H
