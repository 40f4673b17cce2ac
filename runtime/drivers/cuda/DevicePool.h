//===- DevicePool.h - A pool of a device's memory ------------ -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_DRIVERS_CUDA_DEVICEPOOL_H
#define KILN_RUNTIME_DRIVERS_CUDA_DEVICEPOOL_H

#include "Context.h"
#include "kiln-c/Memory.h"

#include <algorithm>

namespace kiln::cuda {

/// kiln_pool over cuMemAlloc, with the context that its memory is of: tensors that
/// were given away keep both. The host may not write to its blocks, so all that
/// is known of them lies beside, unlike in the host's pool: a list of blocks,
/// used and free, of which a request takes the smallest that fits and wastes at
/// most an eighth. Any thread.
class DevicePool : public kiln_pool {
public:
  /// Of blocks: what vector accesses and CUDA's own allocator keep to.
  static constexpr uint64_t kAlignment = 256;

  DevicePool();
  ~DevicePool();

  /// Opened by the one who makes the pool.
  Context context;

  /// One owner at first; it goes with the last one.
  void retain() { owners.fetch_add(1, std::memory_order_relaxed); }
  void drop() {
    if (owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
      rt::destroyObject(this);
  }

  /// Static blocks are those of sessions, the others a run's or given away.
  void *allocate(uint64_t bytes, bool isStatic = false);
  void release(void *memory);
  /// Frees unused blocks until `keep` bytes of them are left.
  void trim(uint64_t keep);
  void fillStats(kiln_pool_stats &stats);

private:
  struct Block {
    uint64_t address, bytes;
    bool used, isStatic;
  };
  /// Bytes in use of one kind, and the most there ever were.
  struct Amount {
    uint64_t now = 0, peak = 0;
    void add(uint64_t bytes) { peak = std::max(peak, now += bytes); }
  };
  static const kiln_pool_api table;
  static DevicePool &of(kiln_pool *pool) { return *static_cast<DevicePool *>(pool); }

  Block *findLocked(uint64_t bytes);
  void trimLocked(uint64_t keep);
  uint64_t inUse() const { return ofRuns.now + ofSessions.now; }

  std::atomic<uint32_t> owners{1};
  rt::PatientLock lock;
  Block *blocks = nullptr;
  uint32_t count = 0, capacity = 0;
  Amount reserved, ofRuns, ofSessions;
  uint64_t staticBlocks = 0, staticAllocations = 0, releases = 0, requested = 0, given = 0;
  uint64_t hits = 0, misses = 0, failures = 0, trims = 0, trimmed = 0;
  struct Cache : kiln_pool_cache {
    DevicePool *pool;
  };
  static DevicePool &cacheOwner(kiln_pool_cache *cache) {
    return *static_cast<Cache *>(cache)->pool;
  }
  Cache cache;
};

} // namespace kiln::cuda

#endif // KILN_RUNTIME_DRIVERS_CUDA_DEVICEPOOL_H
