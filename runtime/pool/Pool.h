//===- Pool.h - Memory of tensors ---------------------------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   PoolCache   one owner's free blocks, class by class: no atomic operation
//   Recycler    blocks that other threads freed: one compare-and-swap
//   SpanHeap    slabs and spans behind a lock
//   Source      malloc, mmap or the caller's functions, with the limits
//
// A block goes down this list when it is freed, and is looked for in this order.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_POOL_POOL_H
#define KILN_RUNTIME_POOL_POOL_H

#include "ForkGuard.h"
#include "Guards.h"
#include "Recycler.h"
#include "SpanHeap.h"

namespace kiln::rt {

class PoolCache;

class Pool : public kiln_pool {
public:
  /// On failure, the reason goes where the options say.
  static kiln_status_t create(const kiln_pool_options *options, kiln_pool **pool);
  static Pool &of(kiln_pool *pool) { return *static_cast<Pool *>(pool); }

  Pool(const kiln_pool_options &options);
  ~Pool();

  kiln_status_t allocate(uint64_t bytes, void **memory);
  kiln_status_t release(void *memory);
  void fillStats(kiln_pool_stats &stats);
  kiln_status_t trim(uint64_t keep);
  kiln_status_t destroy();
  void retain() { users.fetch_add(1, std::memory_order_relaxed); }
  void drop();
  void *allocateStatic(uint64_t bytes);
  void releaseStatic(void *memory, uint64_t bytes);
  void releaseShared(void *memory, uint64_t bytes);
  uint64_t trimCount() const { return trims.load(std::memory_order_relaxed); }

private:
  friend class PoolCache;
  static const kiln_pool_api table;

  /// Holds the heap. A child that was forked while another thread held it finds
  /// a heap in the middle of a change, and begins a new one.
  class Lock {
  public:
    explicit Lock(Pool &pool);
    ~Lock();

  private:
    Pool &pool;
  };

  bool debug() const { return flags & KILN_POOL_DEBUG; }
  /// What a request is for the heap.
  uint64_t padded(uint64_t bytes) const { return debug() ? bytes + Guards::kBytes : bytes; }
  /// Calls `attempt(mayGrow)` until it gives memory: without growing when that
  /// would pass the soft limit, after a trim, and at last once more.
  template <typename Attempt> void *findMemory(uint64_t bytes, const Lock &, Attempt attempt);
  void *fromHeap(uint32_t sizeClass, const Lock &);
  void *hugeFromHeap(uint64_t bytes, const Lock &);
  uint64_t trimLocked(uint64_t keep, const Lock &);
  /// What the user of `block` gets for `bytes`.
  void *give(void *block, uint64_t size, uint64_t bytes);
  /// The block behind what a user has; `intact` is false when it was damaged.
  /// Null: it was given back before.
  void *receive(void *memory, uint64_t size, bool &intact);
  void countShared(uint64_t bytes, uint64_t size);
  void notify(kiln_event_kind kind, kiln_status_t status, const char *text, uint64_t value);
  void noteFailure(uint64_t bytes);

  const uint32_t flags;
  kiln_event_fn onEvent;
  void *onEventUser;
  ForkGuard guard;
  std::atomic<uint64_t> users{1};
  std::atomic<uint64_t> heldBlocks{0};
  std::atomic<uint64_t> trims{0};
  std::atomic<uint64_t> failures{0};
  std::atomic<uint64_t> damaged{0};
  std::atomic<uint64_t> invalidReleases{0};
  bool toldSoftLimit = false;

  // Of blocks that went past the caches.
  std::atomic<uint64_t> sharedRequested{0};
  std::atomic<uint64_t> sharedGiven{0};
  std::atomic<uint64_t> sharedReturned{0};
  std::atomic<uint64_t> sharedReleases{0};
  std::atomic<uint64_t> sharedPeak{0};
  std::atomic<uint64_t> sharedSizes[KILN_POOL_SIZE_BUCKETS] = {};
  std::atomic<uint64_t> ringHits{0};

  Recycler recycler;

  /// generation << 1 | taken, as in Executor.
  alignas(64) std::atomic<uint64_t> lock{0};
  // Under the lock.
  uint64_t contended = 0;
  uint64_t waits[KILN_POOL_WAIT_BUCKETS] = {};
  Source source;
  SpanHeap heap;
  PoolCache *caches = nullptr;
  uint64_t slabHits = 0;
  uint64_t hugeAllocations = 0;
  uint64_t staticUsed = 0;
  uint64_t staticPeak = 0;
  uint64_t staticBlocks = 0;
  uint64_t staticAllocations = 0;
  uint64_t trimmed = 0;
  // What caches that are gone had counted.
  uint64_t goneRequested = 0;
  uint64_t goneReleases = 0;
  uint64_t goneUsed = 0;
  uint64_t gonePeak = 0;
  uint64_t goneAllocations[kNumClasses] = {};
  uint64_t goneMisses = 0;
};

/// One owner's blocks. One thread at a time.
class PoolCache : public kiln_pool_cache {
public:
  explicit PoolCache(Pool &pool);
  ~PoolCache();
  static PoolCache &of(kiln_pool_cache *cache) { return *static_cast<PoolCache *>(cache); }

  /// Null when there is no memory.
  void *allocate(uint64_t bytes) {
    if (bytes > largestTaken) [[unlikely]]
      return allocateSlowly(bytes);
    uint32_t sizeClass = classOf(bytes);
    if (!counts[sizeClass]) [[unlikely]]
      return allocateSlowly(bytes);
    count(sizeClass, bytes);
    return bins[sizeClass].blocks[--counts[sizeClass]];
  }

  /// `bytes` as asked for.
  void release(void *memory, uint64_t bytes) {
    if (bytes > largestGiven) [[unlikely]]
      return releaseSlowly(memory, bytes);
    uint32_t sizeClass = classOf(bytes);
    if (counts[sizeClass] == kBinBlocks) [[unlikely]]
      return releaseSlowly(memory, bytes);
    push(sizeClass, memory);
  }

  /// Gives all free blocks to the heap.
  void flush();

private:
  friend class Pool;

  /// A cache holds 5/4 of what its owner had in use at most, within these bounds:
  /// memory that lies in a cache is of use to one size only.
  static constexpr uint64_t kLeastBudget = uint64_t(512) << 10;
  static constexpr uint64_t kMostBudget = uint64_t(8) << 20;
  static constexpr uint64_t kLargestCached = kMostBudget / 4;

  /// The addresses are kept here and not in the blocks: those are cold, and their
  /// first words would be read just to find the next. More goes to the heap.
  static constexpr uint32_t kBinBlocks = 14;
  struct alignas(64) Bin {
    uint64_t size = 0;
    Counter allocations;
    void *blocks[kBinBlocks];
  };

  void count(uint32_t sizeClass, uint64_t bytes) {
    Bin &bin = bins[sizeClass];
    bin.allocations.add(1);
    requested.add(bytes);
    used.add(bin.size);
    // Blocks of other owners may come back here: then it is below zero.
    if (int64_t(used.get()) > int64_t(peak.get()))
      peak.raiseTo(used.get());
  }
  void push(uint32_t sizeClass, void *memory) {
    Bin &bin = bins[sizeClass];
    bin.blocks[counts[sizeClass]++] = memory;
    releases.add(1);
    used.add(-bin.size);
    if (int64_t(cached()) > int64_t(budget)) [[unlikely]]
      shrink();
  }
  uint64_t cached() const { return held - used.get(); }

  [[gnu::noinline]] void *allocateSlowly(uint64_t bytes);
  [[gnu::noinline]] void releaseSlowly(void *memory, uint64_t bytes);
  [[gnu::noinline]] void shrink();
  void *findBlock(uint32_t sizeClass);
  /// With an empty bin: the ring, the heap.
  void *findElsewhere(uint32_t sizeClass);
  void flushBlock(uint32_t sizeClass, const Pool::Lock &);

  Pool &pool;
  /// Written by the owner, read by statistics.
  Counter requested, releases, used, peak, misses;
  /// What came from elsewhere and did not go back there: in use or in a bin. So a
  /// block that goes to and fro changes one number.
  uint64_t held = 0;
  uint64_t budget = kLeastBudget;
  /// In debug mode no block takes the short way.
  uint64_t largestTaken, largestGiven;
  uint64_t seenTrims;
  /// Of Pool::caches.
  PoolCache *next = nullptr;
  /// Blocks in each bin.
  alignas(64) uint8_t counts[kNumClasses] = {};
  Bin bins[kNumClasses];
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_POOL_POOL_H
