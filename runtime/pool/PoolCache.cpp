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
  {
    Pool::Lock guard(pool);
    flush(guard);
    // In a child, it may not be there any more.
    for (PoolCache **at = &pool.caches; *at; at = &(*at)->next)
      if (*at == this) {
        *at = next;
        break;
      }
    uint64_t peakBefore = pool.gone.peak;
    addTo(pool.gone);
    pool.gone.peak = std::max(peakBefore, peak.get());
  }
  pool.drop();
}

void PoolCache::addTo(CacheFigures &figures) const {
  uint64_t inBins = 0, bytesInBins = 0, allocations = 0;
  for (uint32_t i = 0; i != kNumClasses; ++i) {
    const Bin &bin = bins[i];
    inBins += bin.count.get();
    bytesInBins += bin.count.get() * bin.size;
    allocations += bin.allocations.get();
    figures.allocations[i] += bin.allocations.get();
    figures.requested += bin.requested.get();
  }
  // What was taken and is not in use was given back.
  figures.releases += allocations - (heldBlocks.get() - inBins);
  figures.misses += misses.get();
  figures.used += heldBytes.get() - bytesInBins;
  figures.peak += peak.get();
}

void PoolCache::notePeak() {
  peak.raiseTo(heldBytes.get() - uint64_t(cached));
  cachedAtPeak = cached;
}

void PoolCache::hold(Bin &bin, int64_t blocks) {
  heldBlocks.add(uint64_t(blocks));
  heldBytes.add(uint64_t(blocks) * bin.size);
  cachedAtPeak = int64_t(heldBytes.get() - peak.get());
}

void PoolCache::flushBlock(Bin &bin, const Pool::Lock &) {
  uint64_t count = bin.count.get() - 1;
  bin.count.set(count);
  cached -= int64_t(bin.size);
  hold(bin, -1);
  pool.heap.release(bin.blocks[count]);
}

bool PoolCache::flush(const Pool::Lock &lock) {
  if (!cached)
    return false;
  for (Bin &bin : bins)
    while (bin.count.get())
      flushBlock(bin, lock);
  return true;
}

void PoolCache::shrink() {
  Pool::Lock guard(pool);
  flushLargest(kMostCached / 8 * 7, guard);
}

void PoolCache::flushLargest(int64_t keep, const Pool::Lock &lock) {
  constexpr uint32_t most = 8;
  Bin *bin = &bins[classOf(kLargestCached)];
  for (uint32_t count = 0; count != most && cached > keep; ++count) {
    while (!bin->count.get())
      --bin;
    flushBlock(*bin, lock);
  }
}

void *PoolCache::findElsewhere(uint32_t sizeClass) {
  if (void *block = pool.recycler.take(sizeClass)) {
    pool.ringHits.fetch_add(1, std::memory_order_relaxed);
    return block;
  }
  Pool::Lock guard(pool);
  if (uint64_t trims = pool.trimCount(); trims != seenTrims) {
    seenTrims = trims;
    flush(guard);
  }
  for (int64_t keep = classBytes(sizeClass) < kLargeBlock ? kWorthKeeping : 0; cached > keep;) {
    if (void *block = pool.heap.allocate(sizeClass, /*mayGrow=*/false)) {
      ++pool.slabHits;
      return block;
    }
    flushLargest(keep, guard);
  }
  return pool.fromHeap(sizeClass, this, guard);
}

void *PoolCache::allocateSlowly(uint64_t bytes) {
  uint64_t wanted = pool.padded(bytes);
  if (wanted > kLargestClass) {
    void *block = nullptr;
    if (bytes <= kMaxBytes) {
      Pool::Lock guard(pool);
      block = pool.hugeFromHeap(wanted, this, guard);
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
  Bin &bin = bins[sizeClass];
  void *block;
  if (uint64_t count = bin.count.get()) {
    block = bin.blocks[count - 1];
    bin.count.set(count - 1);
    cached -= int64_t(bin.size);
  } else {
    block = findElsewhere(sizeClass);
    if (!block) {
      pool.noteFailure(bytes);
      return nullptr;
    }
    misses.add(1);
    hold(bin, 1);
  }
  noteTaken(bin, bytes);
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
  if (bin.size <= kLargestCached && bin.count.get() != kBinBlocks)
    return push(bin, block);
  hold(bin, -1);
  Pool::Lock guard(pool);
  pool.heap.release(block);
}

} // namespace kiln::rt
