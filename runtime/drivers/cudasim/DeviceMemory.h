//===- DeviceMemory.h - Memory of the simulated devices ---------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_DRIVERS_CUDASIM_DEVICEMEMORY_H
#define KILN_RUNTIME_DRIVERS_CUDASIM_DEVICEMEMORY_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace kiln::cudasim {

struct Allocation {
  uintptr_t begin = 0, end = 0;
  int device = 0;
  bool freed = true;
  const char *lastWriter = nullptr; // The last kernel that was launched with checks and wrote here.
};

/// One bit for each byte of the arena. Blocks on several host threads set bits of
/// one word, hence the atomics; most bits are set already.
class ByteBits {
public:
  void attach(uint64_t *words) { bits = words; }
  void set(uintptr_t at, size_t count) {
    forWords(at, count, [&](uint64_t &word, uint64_t mask) {
      if ((word & mask) != mask)
        std::atomic_ref<uint64_t>(word).fetch_or(mask, std::memory_order_relaxed);
      return true;
    });
  }
  void clear(uintptr_t at, size_t count) {
    forWords(at, count, [&](uint64_t &word, uint64_t mask) {
      word &= ~mask;
      return true;
    });
  }
  bool all(uintptr_t at, size_t count) const {
    return forWords(at, count,
                    [&](uint64_t &word, uint64_t mask) { return (word & mask) == mask; });
  }
  /// How many are not set; `first` becomes the first of them.
  size_t missing(uintptr_t at, size_t count, uintptr_t &first) const;
  uint64_t *word(uintptr_t at) const { return bits + (at >> 6); }

private:
  template <class Visit> bool forWords(uintptr_t at, size_t count, Visit visit) const {
    while (count) {
      const unsigned shift = at & 63;
      const size_t n = count < 64 - shift ? count : 64 - shift;
      const uint64_t mask = (n == 64 ? ~uint64_t(0) : (uint64_t(1) << n) - 1) << shift;
      if (!visit(bits[at >> 6], mask))
        return false;
      at += n;
      count -= n;
    }
    return true;
  }
  uint64_t *bits = nullptr;
};

/// One reservation of address space for all devices: a device pointer is a host
/// address in it. A page without owner lies between neighbours, and what is freed
/// is used again only when the reservation is used up.
class DeviceMemory {
public:
  static constexpr size_t kPage = 4096;

  bool reserve(size_t bytes);
  void release();
  bool isReserved() const { return base != 0; }
  bool holds(size_t bytes) const { return bytes <= size; }
  bool contains(uintptr_t address) const { return address - base < size; }

  /// 0 where the reservation has no such gap. New memory is poisoned.
  uintptr_t allocate(size_t bytes, int device);
  /// False unless `address` is the beginning of a live allocation.
  bool free(uintptr_t address);
  /// The allocation, live or freed, whose pages hold `address`, else the empty one.
  Allocation &owner(uintptr_t address) {
    return allocations[contains(address) ? pageOwner[(address - base) / kPage] : 0];
  }
  bool isLive(uintptr_t address, size_t bytes) {
    const Allocation &a = owner(address);
    return !a.freed && address >= a.begin && bytes <= a.end - address;
  }

  void poison(uintptr_t address, size_t bytes);
  void setWritten(uintptr_t address, size_t bytes) { initialised.set(address - base, bytes); }
  void copyWritten(uintptr_t to, uintptr_t from, size_t bytes);
  bool isWritten(uintptr_t address, size_t bytes) const {
    return initialised.all(address - base, bytes);
  }
  size_t unwritten(uintptr_t address, size_t bytes, uintptr_t &first) const;

  /// Bytes read and written since beginLaunch.
  void beginLaunch();
  void noteRead(uintptr_t address, size_t bytes) {
    touch(address, bytes);
    read.set(address - base, bytes);
  }
  void noteWrite(uintptr_t address, size_t bytes) {
    touch(address, bytes);
    written.set(address - base, bytes);
    initialised.set(address - base, bytes);
  }
  void countUnique(uint64_t &readBytes, uint64_t &writtenBytes) const;
  /// Names the kernel as writer of the allocations that it wrote since beginLaunch.
  void nameWriter(const char *kernel);

  const std::vector<Allocation> &all() const { return allocations; }

private:
  void touch(uintptr_t address, size_t bytes) {
    const size_t last = (address + bytes - 1 - base) / kPage;
    for (size_t page = (address - base) / kPage; page <= last; ++page)
      if (std::atomic_ref<uint32_t>(pageLaunch[page]).load(std::memory_order_acquire) != launch)
        touchPage(page);
  }
  void touchPage(size_t page);

  uintptr_t base = 0, top = 0;
  size_t size = 0;
  std::vector<Allocation> allocations;  // [0] is the empty one.
  std::map<uintptr_t, uint32_t> ranges; // Begin -> allocation, live and freed.
  uint32_t *pageOwner = nullptr;
  uint32_t *pageLaunch = nullptr; // The launch for which the page's bits stand.
  ByteBits read, written, initialised;
  uint32_t launch = 0;
  std::vector<size_t> touched;
  std::mutex touchMutex;
};

} // namespace kiln::cudasim

#endif // KILN_RUNTIME_DRIVERS_CUDASIM_DEVICEMEMORY_H
