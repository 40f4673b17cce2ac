//===- PoolCache.cpp - One owner's free blocks ----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Pool.h"

#include <algorithm>

namespace kiln::rt {

PoolCache::PoolCache(Pool &pool) : pool(pool), seenTrims(pool.trimCount()) {
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

uint64_t PoolCache::flushBin(Bin &bin, uint64_t most, const Pool::Lock &) {
  uint64_t count = 0;
  for (; bin.blocks && count != most; ++count) {
    FreeBlock *block = bin.blocks;
    bin.blocks = block->next;
    cached -= bin.size;
    pool.heap.release(block);
  }
  return count;
}

void PoolCache::flush() {
  Pool::Lock guard(pool);
  for (Bin &bin : bins)
    flushBin(bin, UINT64_MAX, guard);
}

void PoolCache::shrink() {
  // Round and round, so that sizes of the past go; a few blocks at a time, so
  // that no call takes long.
  constexpr uint64_t most = 8;
  budget = std::clamp(peak.get() / 2, kLeastBudget, kMostBudget);
  if (cached <= budget)
    return;
  Pool::Lock guard(pool);
  for (uint64_t count = 0; count < most && cached > budget / 4 * 3;) {
    hand = (hand + 1) % kNumClasses;
    count += flushBin(bins[hand], most - count, guard);
  }
}

void *PoolCache::findBlock(uint32_t sizeClass) {
  Bin &bin = bins[sizeClass];
  if (FreeBlock *block = bin.blocks) {
    bin.blocks = block->next;
    cached -= bin.size;
    return block;
  }
  misses.add(1);
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
  if (block || !cached)
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
      if (cached)
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
  Bin &bin = bins[classOf(wanted)];
  void *block = findBlock(classOf(wanted));
  if (!block) {
    misses.add(uint64_t(-1));
    pool.noteFailure(bytes);
    return nullptr;
  }
  count(bin, bytes);
  return pool.give(block, bin.size, bytes);
}

void PoolCache::releaseSlowly(void *memory, uint64_t bytes) {
  uint64_t wanted = pool.padded(bytes);
  if (wanted > kLargestClass)
    return pool.releaseShared(memory, bytes);
  Bin &bin = bins[classOf(wanted)];
  bool intact;
  void *block = pool.receive(memory, bin.size, intact);
  if (!block)
    return;
  if (bin.size <= kLargestCached)
    return push(bin, block);
  releases.add(1);
  used.add(-bin.size);
  Pool::Lock guard(pool);
  pool.heap.release(block);
}

} // namespace kiln::rt
