//===- PoolCache.cpp - One owner's free blocks ----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Pool.h"

#include <algorithm>

namespace kiln::rt {

PoolCache::PoolCache(Pool &pool)
    : pool(pool), largestTaken(pool.debug() ? 0 : kLargestClass),
      largestGiven(pool.debug() ? 0 : kLargestCached), seenTrims(pool.trimCount()) {
  api = pool.api;
  for (uint32_t i = 0; i != kNumClasses; ++i)
    bins[i].size = classBytes(i);
  pool.retain();
  Pool::Lock guard(pool);
  next = pool.caches;
  pool.caches = this;
}

PoolCache::~PoolCache() {
  flush();
  {
    Pool::Lock guard(pool);
    // In a child, it may not be there any more.
    for (PoolCache **at = &pool.caches; *at; at = &(*at)->next)
      if (*at == this) {
        *at = next;
        break;
      }
    pool.goneRequested += requested.get();
    pool.goneReleases += releases.get();
    pool.goneUsed += used.get();
    pool.gonePeak = std::max(pool.gonePeak, peak.get());
    pool.goneMisses += misses.get();
    for (uint32_t i = 0; i != kNumClasses; ++i)
      pool.goneAllocations[i] += bins[i].allocations.get();
  }
  pool.drop();
}

void PoolCache::flushBlock(uint32_t sizeClass, const Pool::Lock &) {
  Bin &bin = bins[sizeClass];
  held -= bin.size;
  pool.heap.release(bin.blocks[--counts[sizeClass]]);
}

void PoolCache::flush() {
  Pool::Lock guard(pool);
  for (uint32_t sizeClass = 0; sizeClass != kNumClasses; ++sizeClass)
    while (counts[sizeClass])
      flushBlock(sizeClass, guard);
}

void PoolCache::shrink() {
  // The largest first: they are few, and whoever takes one of that size has more
  // to do with it than to find it. A few at a time, so that no call takes long.
  constexpr uint32_t most = 8;
  budget = std::clamp(peak.get() / 4 * 5, kLeastBudget, kMostBudget);
  if (cached() <= budget)
    return;
  Pool::Lock guard(pool);
  uint32_t sizeClass = classOf(kLargestCached);
  for (uint32_t count = 0; count != most && cached() > budget / 8 * 7; ++count) {
    while (!counts[sizeClass])
      --sizeClass;
    flushBlock(sizeClass, guard);
  }
}

void *PoolCache::findBlock(uint32_t sizeClass) {
  if (counts[sizeClass])
    return bins[sizeClass].blocks[--counts[sizeClass]];
  misses.add(1);
  void *block = findElsewhere(sizeClass);
  held += block ? bins[sizeClass].size : 0;
  return block;
}

void *PoolCache::findElsewhere(uint32_t sizeClass) {
  if (void *block = pool.recycler.take(sizeClass)) {
    pool.ringHits.fetch_add(1, std::memory_order_relaxed);
    return block;
  }
  if (uint64_t trims = pool.trimCount(); trims != seenTrims) {
    seenTrims = trims;
    flush();
  }
  void *block = nullptr;
  {
    Pool::Lock guard(pool);
    block = pool.fromHeap(sizeClass, guard);
  }
  if (block || !cached())
    return block;
  flush();
  Pool::Lock guard(pool);
  return pool.fromHeap(sizeClass, guard);
}

void *PoolCache::allocateSlowly(uint64_t bytes) {
  uint64_t wanted = pool.padded(bytes);
  if (wanted > kLargestClass) {
    void *block = nullptr;
    if (bytes <= kMaxBytes) {
      if (cached())
        flush();
      Pool::Lock guard(pool);
      block = pool.hugeFromHeap(wanted, guard);
    }
    if (!block) {
      pool.noteFailure(bytes);
      return nullptr;
    }
    uint64_t size = alignUp(wanted, 4096);
    pool.countShared(bytes, size);
    return pool.give(block, size, bytes);
  }
  uint32_t sizeClass = classOf(wanted);
  void *block = findBlock(sizeClass);
  if (!block) {
    misses.add(uint64_t(-1));
    pool.noteFailure(bytes);
    return nullptr;
  }
  count(sizeClass, bytes);
  return pool.give(block, bins[sizeClass].size, bytes);
}

void PoolCache::releaseSlowly(void *memory, uint64_t bytes) {
  uint64_t wanted = pool.padded(bytes);
  if (wanted > kLargestClass)
    return pool.releaseShared(memory, bytes);
  uint32_t sizeClass = classOf(wanted);
  uint64_t size = bins[sizeClass].size;
  bool intact;
  void *block = pool.receive(memory, size, intact);
  if (!block)
    return;
  if (size <= kLargestCached && counts[sizeClass] != kBinBlocks)
    return push(sizeClass, block);
  releases.add(1);
  used.add(-size);
  held -= size;
  Pool::Lock guard(pool);
  pool.heap.release(block);
}

} // namespace kiln::rt
