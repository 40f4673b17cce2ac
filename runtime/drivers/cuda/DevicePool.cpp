//===- DevicePool.cpp - A pool of a device's memory -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DevicePool.h"

#include <algorithm>
#include <cstring>

namespace kiln::cuda {

DevicePool::DevicePool(const Context &context) : context(context) {
  api = &table;
  cache.api = &table;
  cache.pool = this;
}

DevicePool::~DevicePool() {
  trimLocked(0);
  std::free(blocks);
}

void *DevicePool::allocate(uint64_t bytes) {
  bytes = rt::alignUp(std::max<uint64_t>(bytes, 1), kAlignment);
  rt::PatientLock::Hold hold(lock);
  void *memory = bytes <= rt::kMaxBytes ? allocateLocked(bytes) : nullptr;
  if (!memory)
    ++failures;
  return memory;
}

void *DevicePool::allocateLocked(uint64_t bytes) {
  Block *best = nullptr;
  for (Block *block = blocks; block != blocks + count; ++block)
    if (!block->used && block->bytes >= bytes && block->bytes - bytes <= bytes / 8 &&
        (!best || block->bytes < best->bytes))
      best = block;
  if (best) {
    ++hits;
  } else {
    if (count == capacity) {
      uint32_t larger = std::max(2 * capacity, 64u);
      auto *grown = static_cast<Block *>(std::realloc(blocks, larger * sizeof(Block)));
      if (!grown)
        return nullptr;
      blocks = grown;
      capacity = larger;
    }
    Context::Use use(context);
    CUdeviceptr address = 0;
    CUresult result = context.driver.cuMemAlloc(&address, bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      // What is kept for later may be what is missing now.
      trimLocked(0);
      result = context.driver.cuMemAlloc(&address, bytes);
    }
    if (result != CUDA_SUCCESS)
      return nullptr;
    ++misses;
    best = &blocks[count++];
    *best = {address, bytes, false};
    reserved += bytes;
    peakReserved = std::max(peakReserved, reserved);
  }
  best->used = true;
  used += best->bytes;
  peakUsed = std::max(peakUsed, used);
  return reinterpret_cast<void *>(best->address);
}

void DevicePool::release(void *memory) {
  rt::PatientLock::Hold hold(lock);
  for (Block *block = blocks; block != blocks + count; ++block)
    if (block->address == reinterpret_cast<uint64_t>(memory) && block->used) {
      block->used = false;
      used -= block->bytes;
      return;
    }
}

void DevicePool::trim(uint64_t keep) {
  rt::PatientLock::Hold hold(lock);
  ++trims;
  trimLocked(keep);
}

void DevicePool::trimLocked(uint64_t keep) {
  Context::Use use(context);
  for (uint32_t i = count; i-- > 0 && reserved - used > keep;) {
    if (blocks[i].used)
      continue;
    context.driver.cuMemFree(blocks[i].address);
    reserved -= blocks[i].bytes;
    blocks[i] = blocks[--count];
  }
}

void DevicePool::fillStats(kiln_pool_stats &out) {
  rt::PatientLock::Hold hold(lock);
  kiln_pool_stats stats = {};
  stats.struct_size = std::min(out.struct_size, sizeof stats);
  stats.reserved = reserved;
  stats.peak_reserved = peakReserved;
  stats.free_bytes = reserved - used;
  stats.used = used;
  stats.peak_used = peakUsed;
  stats.slab_hits = hits;
  stats.source_calls = misses;
  stats.failures = failures;
  stats.trims = trims;
  std::memcpy(&out, &stats, stats.struct_size);
}

// One cache for all: there is nothing that a block could be kept in.
constinit const kiln_pool_api DevicePool::table = {
    sizeof(kiln_pool_api),
    KILN_ABI_VERSION,
    [](kiln_pool *pool, uint64_t bytes, void **memory) {
      *memory = of(pool).allocate(bytes);
      return *memory ? KILN_OK : KILN_OUT_OF_MEMORY;
    },
    [](kiln_pool *pool, void *memory) {
      of(pool).release(memory);
      return KILN_OK;
    },
    [](kiln_pool *pool, kiln_pool_stats *stats) { of(pool).fillStats(*stats); },
    [](kiln_pool *pool, uint64_t keep) {
      of(pool).trim(keep);
      return KILN_OK;
    },
    // The model's, with which it goes.
    [](kiln_pool *) { return KILN_BUSY; },
    [](kiln_pool *) {},
    [](kiln_pool *) {},
    [](kiln_pool *pool, uint64_t bytes) { return of(pool).allocate(bytes); },
    [](kiln_pool *pool, void *memory, uint64_t) { of(pool).release(memory); },
    [](const kiln_pool *pool) { return static_cast<const DevicePool *>(pool)->trims; },
    [](kiln_pool *pool) -> kiln_pool_cache * { return &of(pool).cache; },
    [](kiln_pool_cache *) {},
    [](kiln_pool_cache *cache, uint64_t bytes) { return cacheOwner(cache).allocate(bytes); },
    [](kiln_pool_cache *cache, void *memory, uint64_t) { cacheOwner(cache).release(memory); },
    [](kiln_pool *pool, void *memory, uint64_t) { of(pool).release(memory); },
};

} // namespace kiln::cuda
