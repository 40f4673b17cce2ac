//===- Support.cpp - Memory, texts and counts of the runtime --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Support.h"

#include "Cpu.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <sys/mman.h>

/// Nothing calls it; tables of abstract classes name it, and there is no C++ library.
extern "C" [[gnu::weak, gnu::visibility("hidden")]] void __cxa_pure_virtual() { __builtin_trap(); }

namespace kiln::rt {

constinit std::atomic<uint64_t> liveObjects{0};

void *allocateAligned(uint64_t bytes) {
  constexpr uint64_t hugePage = uint64_t(2) << 20;
  if (bytes > kMaxBytes)
    return nullptr;
  bool large = bytes >= 2 * hugePage;
  uint64_t alignment = large ? hugePage : kAlignment;
  void *memory = std::aligned_alloc(alignment, std::max(alignUp(bytes, alignment), alignment));
  if (memory && large)
    madvise(memory, alignUp(bytes, hugePage), MADV_HUGEPAGE);
  return memory;
}

kiln_status_t ErrorText::fail(kiln_status_t status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return status;
}

size_t ErrorText::copyTo(char *out, size_t size) const {
  size_t length = std::strlen(text);
  if (out && size) {
    size_t copied = std::min(length, size - 1);
    std::memcpy(out, text, copied);
    out[copied] = 0;
  }
  return length;
}

void TextBuilder::append(const char *format, ...) {
  va_list args;
  va_start(args, format);
  int length = std::vsnprintf(text + used, sizeof text - used, format, args);
  va_end(args);
  if (length > 0)
    used = std::min(used + size_t(length), sizeof text - 1);
}

PatientLock::Hold::Hold(PatientLock &lock) : lock(lock) {
  constexpr uint32_t patience = 1u << 24;
  for (uint32_t i = 0; lock.taken.exchange(true, std::memory_order_acquire) && i != patience; ++i)
    pauseCpu();
}

uint64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1000000000u + uint64_t(now.tv_nsec);
}

bool readOptions(void *into, size_t size, const void *options) {
  std::memset(into, 0, size);
  if (!options) {
    std::memcpy(into, &size, sizeof size);
    return true;
  }
  size_t given;
  std::memcpy(&given, options, sizeof given);
  // A newer caller may pass more than this runtime knows, as long as it asks
  // for nothing there.
  constexpr size_t absurd = 4096;
  if (given < sizeof given || given > absurd)
    return false;
  const auto *bytes = static_cast<const uint8_t *>(options);
  for (size_t i = size; i < given; ++i)
    if (bytes[i])
      return false;
  std::memcpy(into, options, std::min(size, given));
  return true;
}

} // namespace kiln::rt
