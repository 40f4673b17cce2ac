//===- Pool.cpp - Memory of tensors ---------------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Pool.h"

#include "Cpu.h"

#include <algorithm>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

namespace kiln::rt {

static uint32_t sizeBucket(uint64_t bytes) {
  return std::min<uint32_t>(uint32_t(std::bit_width(bytes)) - 1, KILN_POOL_SIZE_BUCKETS - 1);
}

//===----------------------------------------------------------------------===//
// Life
//===----------------------------------------------------------------------===//

constinit const kiln_pool_api Pool::table = {
    sizeof(kiln_pool_api),
    KILN_ABI_VERSION,
    [](kiln_pool *pool, uint64_t bytes, void **memory) {
      return Pool::of(pool).allocate(bytes, memory);
    },
    [](kiln_pool *pool, void *memory) { return Pool::of(pool).release(memory); },
    [](kiln_pool *pool, kiln_pool_stats *stats) { Pool::of(pool).fillStats(*stats); },
    [](kiln_pool *pool, uint64_t keep) { return Pool::of(pool).trim(keep); },
    [](kiln_pool *pool) { return Pool::of(pool).destroy(); },
    [](kiln_pool *pool) { Pool::of(pool).retain(); },
    [](kiln_pool *pool) { Pool::of(pool).drop(); },
    [](kiln_pool *pool, uint64_t bytes) { return Pool::of(pool).allocateStatic(bytes); },
    [](kiln_pool *pool, void *memory, uint64_t bytes) {
      Pool::of(pool).releaseStatic(memory, bytes);
    },
    [](const kiln_pool *pool) { return static_cast<const Pool *>(pool)->trimCount(); },
    [](kiln_pool *pool) -> kiln_pool_cache * { return createObject<PoolCache>(Pool::of(pool)); },
    [](kiln_pool_cache *cache) { destroyObject(&PoolCache::of(cache)); },
    [](kiln_pool_cache *cache, uint64_t bytes) { return PoolCache::of(cache).allocate(bytes); },
    [](kiln_pool_cache *cache, void *memory, uint64_t bytes) {
      PoolCache::of(cache).release(memory, bytes);
    },
    [](kiln_pool *pool, void *memory, uint64_t bytes) {
      Pool::of(pool).releaseShared(memory, bytes);
    },
};

Pool::Pool(const kiln_pool_options &options)
    : flags(options.flags), onEvent(options.on_event), onEventUser(options.on_event_user),
      heap(source, options.retain ? options.retain : UINT64_MAX) {
  api = &table;
}

Pool::~Pool() = default;

kiln_status_t Pool::create(const kiln_pool_options *given, kiln_pool **pool) {
  if (!pool)
    return KILN_INVALID_ARGUMENT;
  *pool = nullptr;
  kiln_pool_options options;
  if (!readOptions(&options, sizeof options, given))
    return KILN_INVALID_ARGUMENT;
  ErrorText error;
  kiln_status_t status = KILN_OK;
  if (auto *made = createObject<Pool>(options)) {
    status = made->source.configure(options, error);
    if (status == KILN_OK && !made->guard.create())
      status = error.fail(KILN_OUT_OF_MEMORY, "no memory for a pool");
    if (status == KILN_OK)
      *pool = made;
    else
      destroyObject(made);
  } else {
    status = error.fail(KILN_OUT_OF_MEMORY, "no memory for a pool");
  }
  error.copyTo(options.error, options.error_size);
  return status;
}

kiln_status_t Pool::destroy() {
  if (heldBlocks.load(std::memory_order_acquire))
    return KILN_BUSY;
  uint64_t alone = 1;
  if (!users.compare_exchange_strong(alone, 0, std::memory_order_acq_rel))
    return KILN_BUSY;
  destroyObject(this);
  return KILN_OK;
}

void Pool::drop() {
  if (users.fetch_sub(1, std::memory_order_acq_rel) == 1)
    destroyObject(this);
}

void Pool::notify(kiln_event_kind kind, kiln_status_t status, const char *text, uint64_t value) {
  if (!onEvent)
    return;
  kiln_event event = {sizeof event, uint32_t(kind), status, "", text, value};
  onEvent(onEventUser, &event);
}

void Pool::noteFailure(uint64_t bytes) {
  failures.fetch_add(1, std::memory_order_relaxed);
  notify(KILN_EVENT_MEMORY_EXHAUSTED, KILN_OUT_OF_MEMORY,
         "no memory within the limits, after giving back what was unused", bytes);
}

//===----------------------------------------------------------------------===//
// The lock
//===----------------------------------------------------------------------===//

Pool::Lock::Lock(Pool &pool) : pool(pool) {
  uint64_t free = pool.guard.generation() << 1;
  uint64_t seen = free;
  if (pool.lock.compare_exchange_strong(seen, free | 1, std::memory_order_acquire)) [[likely]]
    return;
  bool waited = seen == (free | 1);
  uint64_t start = waited ? nanoseconds() : 0;
  for (uint32_t tries = 0;; ++tries) {
    bool torn = seen >> 1 != free >> 1 && (seen & 1);
    if (seen != (free | 1) &&
        pool.lock.compare_exchange_strong(seen, free | 1, std::memory_order_acquire)) {
      if (torn) {
        pool.heap.abandon();
        pool.caches = nullptr;
      }
      break;
    }
    constexpr uint32_t spins = 100;
    if (tries < spins)
      pauseCpu();
    else
      syscall(SYS_sched_yield);
    seen = pool.lock.load(std::memory_order_relaxed);
  }
  if (!waited)
    return;
  ++pool.contended;
  uint64_t length = nanoseconds() - start;
  ++pool.waits[std::min<uint32_t>(uint32_t(std::bit_width(length | 1)) - 1,
                                  KILN_POOL_WAIT_BUCKETS - 1)];
}

Pool::Lock::~Lock() {
  uint64_t held = pool.lock.load(std::memory_order_relaxed);
  pool.lock.store(held & ~uint64_t(1), std::memory_order_release);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

uint64_t Pool::trimLocked(uint64_t keep, const Lock &) {
  for (uint32_t sizeClass = 0; sizeClass != kNumClasses; ++sizeClass)
    while (void *block = recycler.take(sizeClass))
      heap.release(block);
  uint64_t returned = heap.trim(keep);
  trimmed += returned;
  trims.fetch_add(1, std::memory_order_relaxed);
  return returned;
}

template <typename Attempt>
void *Pool::findMemory(uint64_t bytes, PoolCache *asking, const Lock &lock, Attempt attempt) {
  if (source.softLimit) [[unlikely]] {
    if (void *memory = attempt(false))
      return memory;
    if (source.isPastSoftLimit(bytes)) {
      trimLocked(0, lock);
      if (!toldSoftLimit && source.isPastSoftLimit(bytes))
        notify(KILN_EVENT_MEMORY_SOFT_LIMIT, KILN_OK, "the pool grows past its soft limit",
               source.reserved + bytes);
      toldSoftLimit = source.isPastSoftLimit(bytes);
    }
  }
  if (void *memory = attempt(true)) [[likely]]
    return memory;
  if (asking && asking->flush(lock))
    if (void *memory = attempt(true))
      return memory;
  trimLocked(0, lock);
  return attempt(true);
}

void *Pool::fromHeap(uint32_t sizeClass, PoolCache *asking, const Lock &lock) {
  void *block = findMemory(classBytes(sizeClass), asking, lock,
                           [&](bool mayGrow) { return heap.allocate(sizeClass, mayGrow); });
  slabHits += block != nullptr;
  return block;
}

void *Pool::hugeFromHeap(uint64_t bytes, PoolCache *asking, const Lock &lock) {
  if (bytes > kMaxBytes)
    return nullptr;
  void *block = findMemory(bytes, asking, lock, [&](bool mayGrow) -> void * {
    return mayGrow ? heap.allocateHuge(bytes) : nullptr;
  });
  hugeAllocations += block != nullptr;
  return block;
}

void *Pool::give(void *block, uint64_t size, uint64_t bytes) {
  if (!debug())
    return block;
  if (!Guards::isUntouched(block, size)) {
    damaged.fetch_add(1, std::memory_order_relaxed);
    notify(KILN_EVENT_MEMORY_DAMAGED, KILN_DAMAGED,
           "a block was written to after it was given back", uintptr_t(block) + Guards::kFront);
  }
  return Guards::dress(block, size, bytes);
}

void *Pool::receive(void *memory, uint64_t size, bool &intact) {
  intact = true;
  if (!debug())
    return memory;
  Guards::Finding finding = Guards::inspect(memory, size);
  if (finding == Guards::Finding::Intact)
    return Guards::strip(memory, size);
  intact = false;
  damaged.fetch_add(1, std::memory_order_relaxed);
  bool freed = finding == Guards::Finding::Freed;
  notify(KILN_EVENT_MEMORY_DAMAGED, KILN_DAMAGED,
         freed ? "a block was given back twice"
               : "a block was written to outside of its bounds, or is not of the size given",
         uintptr_t(memory));
  return freed ? nullptr : Guards::strip(memory, size);
}

void Pool::countShared(uint64_t bytes, uint64_t size) {
  sharedRequested.fetch_add(bytes, std::memory_order_relaxed);
  uint64_t given = sharedGiven.fetch_add(size, std::memory_order_relaxed) + size;
  sharedSizes[sizeBucket(size)].fetch_add(1, std::memory_order_relaxed);
  uint64_t used = given - sharedReturned.load(std::memory_order_relaxed);
  uint64_t peak = sharedPeak.load(std::memory_order_relaxed);
  while (int64_t(used) > int64_t(peak) &&
         !sharedPeak.compare_exchange_weak(peak, used, std::memory_order_relaxed))
    ;
}

kiln_status_t Pool::allocate(uint64_t asked, void **memory) {
  *memory = nullptr;
  uint64_t bytes = std::max<uint64_t>(asked, 1);
  if (bytes > kMaxBytes) {
    noteFailure(bytes);
    return KILN_OUT_OF_MEMORY;
  }
  uint64_t wanted = padded(bytes);
  bool isHuge = wanted > kLargestClass;
  uint64_t size;
  void *block;
  {
    Lock guard(*this);
    uint32_t sizeClass = isHuge ? 0 : classOf(wanted);
    block = isHuge ? hugeFromHeap(wanted, nullptr, guard) : recycler.take(sizeClass);
    if (block && !isHuge)
      ringHits.fetch_add(1, std::memory_order_relaxed);
    if (!block && !isHuge)
      block = fromHeap(sizeClass, nullptr, guard);
    if (block) {
      heap.markHeld(block, true);
      heap.isHeld(block, size);
    }
  }
  if (!block) {
    noteFailure(bytes);
    return KILN_OUT_OF_MEMORY;
  }
  heldBlocks.fetch_add(1, std::memory_order_relaxed);
  countShared(bytes, size);
  *memory = give(block, size, bytes);
  return KILN_OK;
}

kiln_status_t Pool::release(void *memory) {
  if (!memory)
    return KILN_OK;
  void *block = static_cast<uint8_t *>(memory) - (debug() ? Guards::kFront : 0);
  uint64_t size;
  {
    Lock guard(*this);
    if (!heap.isHeld(block, size)) {
      invalidReleases.fetch_add(1, std::memory_order_relaxed);
      return KILN_INVALID_ARGUMENT;
    }
    heap.markHeld(block, false);
  }
  bool intact;
  receive(memory, size, intact);
  sharedReturned.fetch_add(size, std::memory_order_relaxed);
  sharedReleases.fetch_add(1, std::memory_order_relaxed);
  if (size > kLargestClass || !recycler.put(classOf(size), block)) {
    Lock guard(*this);
    heap.release(block);
  }
  heldBlocks.fetch_sub(1, std::memory_order_release);
  return intact ? KILN_OK : KILN_DAMAGED;
}

void Pool::releaseShared(void *memory, uint64_t bytes) {
  uint64_t wanted = padded(bytes);
  bool isHuge = wanted > kLargestClass;
  uint64_t size = isHuge ? alignUp(wanted, 4096) : classBytes(classOf(wanted));
  bool intact;
  void *block = receive(memory, size, intact);
  if (!block)
    return;
  sharedReturned.fetch_add(size, std::memory_order_relaxed);
  sharedReleases.fetch_add(1, std::memory_order_relaxed);
  if (isHuge || !recycler.put(classOf(wanted), block)) {
    Lock guard(*this);
    heap.release(block);
  }
}

//===----------------------------------------------------------------------===//
// Static blocks
//===----------------------------------------------------------------------===//

void *Pool::allocateStatic(uint64_t bytes) {
  uint64_t size = padded(alignUp(std::max<uint64_t>(bytes, 1), kAlignment));
  void *block = nullptr;
  if (bytes <= kMaxBytes) {
    Lock guard(*this);
    block = findMemory(size, nullptr, guard, [&](bool mayGrow) -> void * {
      return mayGrow || !source.isPastSoftLimit(size) ? source.allocate(size) : nullptr;
    });
    if (block) {
      staticUsed += size;
      staticPeak = std::max(staticPeak, staticUsed);
      ++staticBlocks;
      ++staticAllocations;
    }
  }
  if (!block) {
    noteFailure(bytes);
    return nullptr;
  }
  return debug() ? Guards::dress(block, size, bytes) : block;
}

void Pool::releaseStatic(void *memory, uint64_t bytes) {
  uint64_t size = padded(alignUp(std::max<uint64_t>(bytes, 1), kAlignment));
  bool intact;
  void *block = receive(memory, size, intact);
  if (!block)
    return;
  Lock guard(*this);
  staticUsed -= size;
  --staticBlocks;
  source.release(block, size);
}

//===----------------------------------------------------------------------===//
// Figures
//===----------------------------------------------------------------------===//

kiln_status_t Pool::trim(uint64_t keep) {
  Lock guard(*this);
  trimLocked(keep, guard);
  return KILN_OK;
}

void Pool::fillStats(kiln_pool_stats &out) {
  kiln_pool_stats stats = {};
  stats.struct_size = std::min(out.struct_size, sizeof stats);
  auto read = [](const std::atomic<uint64_t> &value) {
    return value.load(std::memory_order_relaxed);
  };
  {
    Lock guard(*this);
    stats.reserved = source.reserved;
    stats.peak_reserved = source.peak;
    stats.free_bytes = heap.freeBytes() + heap.slackBytes();
    stats.largest_free = heap.largestFree();
    stats.soft_limit = source.softLimit;
    stats.hard_limit = source.hardLimit;
    stats.static_used = staticUsed;
    stats.static_peak = staticPeak;
    stats.static_blocks = staticBlocks;
    stats.static_allocations = staticAllocations;
    stats.slab_hits = slabHits;
    stats.huge_allocations = hugeAllocations;
    stats.trimmed = trimmed;
    stats.source_calls = source.calls;
    stats.contended = contended;
    std::copy(std::begin(waits), std::end(waits), stats.waits);

    CacheFigures figures = gone;
    for (const PoolCache *cache = caches; cache; cache = cache->next)
      cache->addTo(figures);
    stats.requested_total = figures.requested;
    stats.releases = figures.releases;
    stats.used = figures.used;
    stats.peak_used = figures.peak;
    uint64_t cachedAllocations = 0;
    for (uint32_t i = 0; i != kNumClasses; ++i) {
      cachedAllocations += figures.allocations[i];
      stats.given_total += figures.allocations[i] * classBytes(i);
      stats.sizes[sizeBucket(classBytes(i))] += figures.allocations[i];
    }
    stats.cache_hits = cachedAllocations - figures.misses;
  }
  stats.ring_hits = read(ringHits);
  stats.requested_total += read(sharedRequested);
  stats.given_total += read(sharedGiven);
  stats.used += read(sharedGiven) - read(sharedReturned);
  stats.peak_used += read(sharedPeak);
  stats.releases += read(sharedReleases);
  for (uint32_t i = 0; i != KILN_POOL_SIZE_BUCKETS; ++i)
    stats.sizes[i] += read(sharedSizes[i]);
  stats.failures = read(failures);
  stats.trims = read(trims);
  stats.damaged = read(damaged);
  stats.invalid_releases = read(invalidReleases);
  // What is not free, static or in use lies in caches and the ring.
  stats.cached = stats.reserved - stats.static_used - stats.free_bytes - stats.used;
  std::memcpy(&out, &stats, stats.struct_size);
}

} // namespace kiln::rt
