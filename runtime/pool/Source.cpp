//===- Source.cpp - Where a pool's memory comes from ----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Source.h"

#include <algorithm>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace kiln::rt {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kHugePage = uint64_t(2) << 20;

/// Large enough for huge pages to pay.
bool isLarge(uint64_t bytes) { return bytes >= 2 * kHugePage; }

void *fromSystem(void *, uint64_t bytes, uint64_t alignment) {
  // The system aligns to pages: the surplus of a larger block goes back.
  uint64_t surplus = alignment > kPage ? alignment : 0;
  uint64_t wanted = alignUp(bytes, kPage);
  void *memory =
      mmap(nullptr, wanted + surplus, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return nullptr;
  if (!surplus)
    return memory;
  auto begin = reinterpret_cast<uintptr_t>(memory);
  uintptr_t aligned = alignUp(begin, alignment);
  if (aligned != begin)
    munmap(memory, aligned - begin);
  if (uint64_t after = begin + surplus - aligned)
    munmap(reinterpret_cast<void *>(aligned + wanted), after);
  memory = reinterpret_cast<void *>(aligned);
  if (isLarge(bytes))
    madvise(memory, wanted, MADV_HUGEPAGE);
  return memory;
}
void toSystem(void *, void *memory, uint64_t bytes) { munmap(memory, alignUp(bytes, kPage)); }

/// Below that, a system call and the rest of a page are too much to pay. Malloc
/// would cut large blocks from its own heap once one of them was freed, and leave
/// holes around them.
constexpr uint64_t kWorthMapping = uint64_t(256) << 10;

void *fromEither(void *user, uint64_t bytes, uint64_t alignment) {
  return bytes < kWorthMapping ? allocateAligned(bytes) : fromSystem(user, bytes, alignment);
}
void toEither(void *user, void *memory, uint64_t bytes) {
  if (bytes < kWorthMapping)
    std::free(memory);
  else
    toSystem(user, memory, bytes);
}

} // namespace

kiln_status_t Source::configure(const kiln_pool_options &options, ErrorText &error) {
  constexpr uint32_t known = KILN_POOL_MMAP | KILN_POOL_DEBUG | KILN_POOL_PREFAULT | KILN_POOL_LOCK;
  if (options.flags & ~known)
    return error.fail(KILN_INVALID_ARGUMENT, "flags: unknown bits in 0x%x", options.flags);
  if (options.reserved)
    return error.fail(KILN_INVALID_ARGUMENT, "reserved: must be 0");
  bool given = options.source.allocate;
  if (given != bool(options.source.release))
    return error.fail(KILN_INVALID_ARGUMENT, "source: it needs both allocate and release");
  if (given && (options.flags & KILN_POOL_MMAP))
    return error.fail(KILN_INVALID_ARGUMENT, "KILN_POOL_MMAP: there is a source already");
  if (options.hard_limit && options.soft_limit > options.hard_limit)
    return error.fail(KILN_INVALID_ARGUMENT, "soft_limit: %llu is above the hard limit of %llu",
                      static_cast<unsigned long long>(options.soft_limit),
                      static_cast<unsigned long long>(options.hard_limit));
  flags = options.flags;
  softLimit = options.soft_limit;
  hardLimit = options.hard_limit;
  functions = given                    ? options.source
              : flags & KILN_POOL_MMAP ? kiln_memory_source{fromSystem, toSystem, nullptr}
                                       : kiln_memory_source{fromEither, toEither, nullptr};
  // Locked pages stay.
  addressesApart = !given && !(flags & KILN_POOL_LOCK);
  if (flags & KILN_POOL_LOCK) {
    alignas(kPage) static const uint8_t probe[kPage] = {};
    if (mlock(probe, kPage) != 0)
      return error.fail(KILN_UNSUPPORTED,
                        "KILN_POOL_LOCK: this process may not lock memory (ulimit -l)");
    munlock(probe, kPage);
  }
  return KILN_OK;
}

/// Pages in, and kept in, as the options ask.
bool Source::prepare(void *memory, uint64_t bytes) const {
  auto begin = uintptr_t(memory) & ~(kPage - 1);
  uint64_t size = alignUp(uintptr_t(memory) + bytes, kPage) - begin;
  if ((flags & KILN_POOL_LOCK) && mlock(reinterpret_cast<void *>(begin), size) != 0)
    return false;
  if ((flags & KILN_POOL_PREFAULT) &&
      madvise(reinterpret_cast<void *>(begin), size, MADV_POPULATE_WRITE) != 0)
    for (uint64_t at = 0; at < bytes; at += kPage) // a kernel before 5.14
      static_cast<volatile uint8_t *>(memory)[at] = 0;
  return true;
}

void *Source::allocate(uint64_t bytes) {
  if (bytes > kMaxBytes || bytes > room())
    return nullptr;
  uint64_t alignment = isLarge(bytes) ? kHugePage : kAlignment;
  ++calls;
  void *memory = functions.allocate(functions.user, bytes, alignment);
  // A caller's function that breaks its promise is no memory either.
  if (memory && uintptr_t(memory) % kAlignment) {
    functions.release(functions.user, memory, bytes);
    memory = nullptr;
  }
  if (!memory)
    return nullptr;
  if (!prepare(memory, bytes)) {
    functions.release(functions.user, memory, bytes);
    return nullptr;
  }
  count(bytes);
  return memory;
}

void Source::count(uint64_t bytes) {
  reserved += bytes;
  peak = std::max(peak, reserved);
}

void Source::release(void *memory, uint64_t bytes) {
  if (flags & KILN_POOL_LOCK) {
    auto begin = uintptr_t(memory) & ~(kPage - 1);
    munlock(reinterpret_cast<void *>(begin), alignUp(uintptr_t(memory) + bytes, kPage) - begin);
  }
  reserved -= bytes;
  functions.release(functions.user, memory, bytes);
}

void *Source::reserveAddresses(uint64_t bytes) {
  // A huge page has memory where none was asked for, which a limit does not bear.
  constexpr uint64_t worthHugePages = uint64_t(32) << 20;
  bool huge = bytes >= worthHugePages && !hardLimit;
  ++calls;
  return fromSystem(nullptr, bytes, huge ? kHugePage : kPage);
}

void Source::releaseAddresses(void *memory, uint64_t bytes, uint64_t held) {
  reserved -= held;
  toSystem(nullptr, memory, bytes);
}

bool Source::obtain(void *memory, uint64_t bytes, uint64_t missing) {
  if (missing > room())
    return false;
  count(missing);
  return prepare(memory, bytes);
}

void Source::drop(void *memory, uint64_t bytes, uint64_t held) {
  reserved -= held;
  madvise(memory, bytes, MADV_DONTNEED);
}

} // namespace kiln::rt
