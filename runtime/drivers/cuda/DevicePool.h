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

namespace kiln::cuda {

/// kiln_pool over cuMemAlloc. The host may not write to its blocks, so all that
/// is known of them lies beside, unlike in the host's pool: a list of blocks,
/// used and free, of which a request takes the smallest that fits and wastes at
/// most an eighth. Any thread.
class DevicePool : public kiln_pool {
public:
  /// Of blocks: what vector accesses and CUDA's own allocator keep to.
  static constexpr uint64_t kAlignment = 256;

  explicit DevicePool(const Context &context);
  ~DevicePool();

  void *allocate(uint64_t bytes);
  void release(void *memory);
  /// Frees unused blocks until `keep` bytes of them are left.
  void trim(uint64_t keep);
  void fillStats(kiln_pool_stats &stats);

private:
  struct Block {
    uint64_t address, bytes;
    bool used;
  };
  static const kiln_pool_api table;
  static DevicePool &of(kiln_pool *pool) { return *static_cast<DevicePool *>(pool); }

  void *allocateLocked(uint64_t bytes);
  void trimLocked(uint64_t keep);

  const Context &context;
  rt::PatientLock lock;
  Block *blocks = nullptr;
  uint32_t count = 0, capacity = 0;
  uint64_t reserved = 0, used = 0, peakReserved = 0, peakUsed = 0;
  uint64_t hits = 0, misses = 0, failures = 0, trims = 0;
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
