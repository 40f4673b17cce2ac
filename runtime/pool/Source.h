//===- Source.h - Where a pool's memory comes from ----------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_POOL_SOURCE_H
#define KILN_RUNTIME_POOL_SOURCE_H

#include "Support.h"
#include "kiln-c/Memory.h"

namespace kiln::rt {

/// The system, malloc or the caller's functions, behind one interface, with the
/// limits and counts that concern all memory of a pool. One thread at a time.
///
/// The system gives addresses and memory apart: memory comes to pages when they are
/// used, and can be taken from them again. Addresses count for nothing.
class Source {
public:
  /// The reason of a refusal is in `error`.
  kiln_status_t configure(const kiln_pool_options &options, ErrorText &error);

  /// Null: no memory, or it would pass the hard limit.
  void *allocate(uint64_t bytes);
  void release(void *memory, uint64_t bytes);

  bool hasAddresses() const { return addressesApart; }
  /// Without memory; null when there are none.
  void *reserveAddresses(uint64_t bytes);
  /// `held` of the bytes have memory.
  void releaseAddresses(void *memory, uint64_t bytes, uint64_t held);
  /// Memory for whole pages, of which `missing` bytes have none. False: it would pass
  /// the hard limit.
  bool obtain(void *memory, uint64_t bytes, uint64_t missing);
  /// Takes it from them, `held` bytes in all.
  void drop(void *memory, uint64_t bytes, uint64_t held);

  /// Whether so many bytes more would pass the soft limit.
  bool isPastSoftLimit(uint64_t bytes) const { return softLimit && reserved + bytes > softLimit; }
  /// What may still be got.
  uint64_t room() const { return hardLimit ? hardLimit - reserved : kMaxBytes; }

  uint64_t reserved = 0;
  uint64_t peak = 0;
  uint64_t calls = 0;
  uint64_t softLimit = 0;
  uint64_t hardLimit = 0;

private:
  void count(uint64_t bytes);
  bool prepare(void *memory, uint64_t bytes) const;

  kiln_memory_source functions = {};
  uint32_t flags = 0;
  bool addressesApart = false;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_POOL_SOURCE_H
