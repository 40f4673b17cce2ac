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

/// What caches have counted.
struct CacheFigures {
  uint64_t requested = 0, releases = 0, misses = 0;
  uint64_t used = 0; ///< modulo 2^64: of one cache it may be below zero
  uint64_t peak = 0;
  uint64_t allocations[kNumClasses] = {};
};

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
  /// would pass the soft limit, when `asking` has given back what it has, and after
  /// a trim.
  template <typename Attempt>
  void *findMemory(uint64_t bytes, PoolCache *asking, const Lock &, Attempt attempt);
  void *fromHeap(uint32_t sizeClass, PoolCache *asking, const Lock &);
  void *hugeFromHeap(uint64_t bytes, PoolCache *asking, const Lock &);
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
  /// Of caches that are gone.
  CacheFigures gone;
};

/// One owner's blocks. One thread at a time.
class PoolCache : public kiln_pool_cache {
public:
  explicit PoolCache(Pool &pool);
  ~PoolCache();
  static PoolCache &of(kiln_pool_cache *cache) { return *static_cast<PoolCache *>(cache); }

  /// Null when there is no memory.
  void *allocate(uint64_t bytes) {
    // Not one byte is the largest number.
    uint64_t last = bytes - 1;
    if (last >= largestTaken) [[unlikely]]
      return allocateSlowly(bytes);
    Bin &bin = bins[classOfLast(last)];
    uint64_t count = bin.count.get();
    if (!count) [[unlikely]]
      return allocateSlowly(bytes);
    void *block = bin.blocks[count - 1];
    bin.count.set(count - 1);
    cached -= int64_t(bin.size);
    noteTaken(bin, bytes);
    return block;
  }

  /// `bytes` as asked for.
  void release(void *memory, uint64_t bytes) {
    uint64_t last = bytes - 1;
    if (last >= largestGiven) [[unlikely]]
      return releaseSlowly(memory, bytes);
    Bin &bin = bins[classOfLast(last)];
    if (bin.count.get() == kBinBlocks) [[unlikely]]
      return releaseSlowly(memory, bytes);
    push(bin, memory);
  }

  /// Gives all free blocks to the heap; false: there were none.
  bool flush(const Pool::Lock &);

private:
  friend class Pool;

  /// What lies in a cache is of use to one size only: so much at most.
  static constexpr int64_t kMostCached = int64_t(8) << 20;
  static constexpr uint64_t kLargestCached = uint64_t(2) << 20;
  /// What is above that goes before more memory is asked for; for a large block, all. So
  /// a cache has what a workload of changing shapes leaves there, and costs hardly any
  /// memory.
  static constexpr int64_t kWorthKeeping = int64_t(1) << 20;
  static constexpr uint64_t kLargeBlock = uint64_t(128) << 10;

  /// The addresses are kept here and not in the blocks: those are cold, and their
  /// first words would be read just to find the next. More goes to the heap.
  static constexpr uint64_t kBinBlocks = 12;
  struct alignas(64) Bin {
    uint64_t size = 0;
    Counter count;
    Counter allocations, requested;
    void *blocks[kBinBlocks];
  };

  void noteTaken(Bin &bin, uint64_t bytes) {
    bin.allocations.add(1);
    bin.requested.add(bytes);
    if (cached < cachedAtPeak) [[unlikely]]
      notePeak();
  }
  void push(Bin &bin, void *memory) {
    uint64_t count = bin.count.get();
    bin.blocks[count] = memory;
    bin.count.set(count + 1);
    cached += int64_t(bin.size);
    if (cached > kMostCached) [[unlikely]]
      shrink();
  }
  void notePeak();
  /// Came from elsewhere, or goes there.
  void hold(Bin &bin, int64_t blocks);

  [[gnu::noinline]] void *allocateSlowly(uint64_t bytes);
  [[gnu::noinline]] void releaseSlowly(void *memory, uint64_t bytes);
  [[gnu::noinline]] void shrink();
  /// A few blocks at most, so that no call takes long. The largest first: they are few,
  /// and whoever takes one of that size has more to do with it than to find it.
  void flushLargest(int64_t keep, const Pool::Lock &);
  void addTo(CacheFigures &figures) const;
  /// With an empty bin: the ring, the heap.
  void *findElsewhere(uint32_t sizeClass);
  void flushBlock(Bin &bin, const Pool::Lock &);

  Pool &pool;
  /// In debug mode no block takes the short way.
  uint64_t largestTaken, largestGiven;
  /// Bytes in bins. A block that goes to and fro changes this, its bin and nothing
  /// else: what is in use is what came from elsewhere and did not go back there, less
  /// this. Blocks of other owners may come back here: then it is below zero.
  int64_t cached = 0;
  /// With less in bins, more is in use than ever.
  int64_t cachedAtPeak = 0;
  uint64_t seenTrims;
  /// Written by the owner, read by statistics.
  Counter heldBytes, heldBlocks, peak, misses;
  /// Of Pool::caches.
  PoolCache *next = nullptr;
  Bin bins[kNumClasses];
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_POOL_POOL_H
