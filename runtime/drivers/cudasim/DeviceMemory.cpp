//===- DeviceMemory.cpp - Memory of the simulated devices -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DeviceMemory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <sys/mman.h>

namespace kiln::cudasim {
namespace {

constexpr unsigned char kPoison = 0xff; // NaN as any float, -1 as any integer.

void *map(size_t bytes) {
  void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

} // namespace

size_t ByteBits::missing(uintptr_t at, size_t count, uintptr_t &first) const {
  size_t total = 0;
  for (uintptr_t end = at + count; at != end;) {
    const unsigned shift = at & 63;
    const size_t n = std::min<size_t>(64 - shift, end - at);
    const uint64_t mask = (n == 64 ? ~uint64_t(0) : (uint64_t(1) << n) - 1) << shift;
    if (const uint64_t absent = ~bits[at >> 6] & mask) {
      if (!total)
        first = (at & ~uintptr_t(63)) + std::countr_zero(absent);
      total += std::popcount(absent);
    }
    at += n;
  }
  return total;
}

bool DeviceMemory::reserve(size_t bytes) {
  bytes = (bytes + kPage - 1) / kPage * kPage;
  void *memory = map(bytes), *owners = map(bytes / kPage * 4), *launches = map(bytes / kPage * 4);
  void *ofBlocks = map(bytes / 4 * sizeof(BlockCell)), *bits[3];
  bool failed = !memory || !owners || !launches || !ofBlocks;
  for (void *&b : bits)
    failed |= !(b = map(bytes / 8));
  size = bytes;
  base = top = reinterpret_cast<uintptr_t>(memory);
  pageOwner = static_cast<uint32_t *>(owners);
  pageLaunch = static_cast<uint32_t *>(launches);
  cells = static_cast<BlockCell *>(ofBlocks);
  read.attach(static_cast<uint64_t *>(bits[0]));
  written.attach(static_cast<uint64_t *>(bits[1]));
  initialised.attach(static_cast<uint64_t *>(bits[2]));
  if (failed) {
    release();
    return false;
  }
  allocations.assign(1, Allocation());
  ranges.clear();
  touched.clear();
  launch = 0;
  return true;
}

void DeviceMemory::release() {
  auto unmap = [](void *p, size_t bytes) {
    if (p)
      munmap(p, bytes);
  };
  unmap(reinterpret_cast<void *>(base), size);
  unmap(pageOwner, size / kPage * 4);
  unmap(pageLaunch, size / kPage * 4);
  unmap(cells, size / 4 * sizeof(BlockCell));
  for (ByteBits *b : {&read, &written, &initialised})
    unmap(b->word(0), size / 8);
  base = size = 0;
}

uintptr_t DeviceMemory::allocate(size_t bytes, int device) {
  const size_t span = (bytes + kPage - 1) / kPage * kPage + kPage; // With the gap behind it.
  uintptr_t begin = 0;
  if (span <= base + size - top) {
    begin = top;
    top += span;
  } else {
    // First fit among runs of freed neighbours.
    for (auto run = ranges.begin(); run != ranges.end() && !begin;) {
      auto end = run;
      while (end != ranges.end() && allocations[end->second].freed)
        ++end;
      const uintptr_t limit = end == ranges.end() ? base + size : end->first;
      if (end != run && limit - run->first >= span) {
        begin = run->first;
        ranges.erase(run, ranges.lower_bound(begin + span));
        for (uintptr_t page = begin; page < begin + span; page += kPage)
          pageOwner[(page - base) / kPage] = 0;
        break;
      }
      run = end == ranges.end() ? end : std::next(end);
    }
    if (!begin)
      return 0;
  }
  const uint32_t index = allocations.size();
  allocations.push_back({begin, begin + bytes, device, false, nullptr});
  ranges[begin] = index;
  for (uintptr_t page = begin; page < begin + bytes; page += kPage)
    pageOwner[(page - base) / kPage] = index;
  poison(begin, bytes);
  return begin;
}

bool DeviceMemory::free(uintptr_t address) {
  Allocation &a = owner(address);
  if (a.freed || a.begin != address)
    return false;
  a.freed = true;
  madvise(reinterpret_cast<void *>(a.begin), a.end - a.begin, MADV_DONTNEED);
  return true;
}

void DeviceMemory::poison(uintptr_t address, size_t bytes) {
  memset(reinterpret_cast<void *>(address), kPoison, bytes);
  initialised.clear(address - base, bytes);
}

void DeviceMemory::copyWritten(uintptr_t to, uintptr_t from, size_t bytes) {
  uintptr_t first = 0;
  if (!initialised.missing(from - base, bytes, first)) {
    initialised.set(to - base, bytes);
    return;
  }
  for (size_t i = 0; i < bytes; ++i)
    if (initialised.all(from - base + i, 1))
      initialised.set(to - base + i, 1);
    else
      initialised.clear(to - base + i, 1);
}

size_t DeviceMemory::unwritten(uintptr_t address, size_t bytes, uintptr_t &first) const {
  const size_t n = initialised.missing(address - base, bytes, first);
  first += base;
  return n;
}

void DeviceMemory::beginLaunch() {
  touched.clear();
  if (++launch == 0) { // After 2^32 launches: no page's number may look current.
    memset(pageLaunch, 0, size / kPage * 4);
    launch = 1;
  }
}

void DeviceMemory::touchPage(size_t page) {
  std::lock_guard<std::mutex> lock(touchMutex);
  if (pageLaunch[page] == launch)
    return;
  memset(read.word(page * kPage), 0, kPage / 8);
  memset(written.word(page * kPage), 0, kPage / 8);
  memset(static_cast<void *>(cells + page * (kPage / 4)), 0, kPage / 4 * sizeof(BlockCell));
  touched.push_back(page);
  std::atomic_ref<uint32_t>(pageLaunch[page]).store(launch, std::memory_order_release);
}

void DeviceMemory::countUnique(uint64_t &readBytes, uint64_t &writtenBytes) const {
  for (size_t page : touched)
    for (size_t w = 0; w < kPage / 64; ++w) {
      readBytes += std::popcount(read.word(page * kPage)[w]);
      writtenBytes += std::popcount(written.word(page * kPage)[w]);
    }
}

void DeviceMemory::nameWriter(const char *kernel) {
  for (size_t page : touched) {
    Allocation &a = allocations[pageOwner[page]];
    if (a.lastWriter == kernel)
      continue;
    const uint64_t *words = written.word(page * kPage);
    if (std::any_of(words, words + kPage / 64, [](uint64_t w) { return w != 0; }))
      a.lastWriter = kernel;
  }
}

} // namespace kiln::cudasim
