//===- HarnessData.h - Memory and numbers of the kernel harness -*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_UNITTESTS_TARGET_HARNESSDATA_H
#define KILN_UNITTESTS_TARGET_HARNESSDATA_H

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <utility>

namespace kiln {

/// Bytes that end at an inaccessible page; what lies before is watched.
class GuardedMemory {
public:
  explicit GuardedMemory(int64_t bytes) : bytes(bytes), room((bytes + page) / page * page) {
    base = static_cast<char *>(mmap(nullptr, static_cast<size_t>(room + page),
                                    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base + room, page, PROT_NONE);
    poison();
  }
  GuardedMemory(GuardedMemory &&other)
      : bytes(other.bytes), room(other.room), base(std::exchange(other.base, nullptr)) {}
  ~GuardedMemory() {
    if (base)
      munmap(base, static_cast<size_t>(room + page));
  }
  char *data() { return base + room - bytes; }
  void poison() { std::memset(base, 0xcd, static_cast<size_t>(room)); }
  bool intact() const {
    return std::all_of(base, base + room - bytes,
                       [](char c) { return static_cast<unsigned char>(c) == 0xcd; });
  }

private:
  static constexpr int64_t page = 4096;
  int64_t bytes, room;
  char *base;
};

/// Small, seeded, the same everywhere.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15ull + 1) {}
  uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

private:
  uint64_t state;
};

} // namespace kiln

#endif // KILN_UNITTESTS_TARGET_HARNESSDATA_H
