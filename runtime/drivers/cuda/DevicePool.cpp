//===- DevicePool.cpp - A pool of a device's memory -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DevicePool.h"

#include <cstring>

namespace kiln::cuda {

DevicePool::DevicePool() {
  api = &table;
  cache.api = &table;
  cache.pool = this;
}

DevicePool::~DevicePool() {
  trimLocked(0);
  std::free(blocks);
}

void *DevicePool::allocate(uint64_t bytes, bool isStatic) {
  uint64_t wanted = rt::alignUp(std::max<uint64_t>(bytes, 1), kAlignment);
  rt::PatientLock::Hold hold(lock);
  Block *block = bytes <= rt::kMaxBytes ? findLocked(wanted) : nullptr;
  if (!block) {
    ++failures;
    return nullptr;
  }
  block->used = true;
  block->isStatic = isStatic;
  (isStatic ? ofSessions : ofRuns).add(block->bytes);
  staticBlocks += isStatic;
  staticAllocations += isStatic;
  requested += bytes;
  given += block->bytes;
  return reinterpret_cast<void *>(block->address);
}

DevicePool::Block *DevicePool::findLocked(uint64_t bytes) {
  Block *best = nullptr;
  for (Block *block = blocks; block != blocks + count; ++block)
    if (!block->used && block->bytes >= bytes && block->bytes - bytes <= bytes / 8 &&
        (!best || block->bytes < best->bytes))
      best = block;
  if (best) {
    ++hits;
    return best;
  }
  if (count == capacity) {
    uint32_t larger = std::max(2 * capacity, 64u);
    auto *grown = static_cast<Block *>(std::realloc(blocks, larger * sizeof(Block)));
    if (!grown)
      return nullptr;
    blocks = grown;
    capacity = larger;
  }
  if (context.isForked())
    return nullptr;
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
  reserved.add(bytes);
  blocks[count] = {address, bytes, false, false};
  return &blocks[count++];
}

void DevicePool::release(void *memory) {
  rt::PatientLock::Hold hold(lock);
  for (Block *block = blocks; block != blocks + count; ++block)
    if (block->address == reinterpret_cast<uint64_t>(memory) && block->used) {
      block->used = false;
      (block->isStatic ? ofSessions : ofRuns).now -= block->bytes;
      staticBlocks -= block->isStatic;
      releases += !block->isStatic;
      return;
    }
}

void DevicePool::trim(uint64_t keep) {
  rt::PatientLock::Hold hold(lock);
  ++trims;
  trimLocked(keep);
}

void DevicePool::trimLocked(uint64_t keep) {
  if (!count || context.isForked())
    return;
  Context::Use use(context);
  for (uint32_t i = count; i-- > 0 && reserved.now - inUse() > keep;) {
    if (blocks[i].used)
      continue;
    context.driver.cuMemFree(blocks[i].address);
    reserved.now -= blocks[i].bytes;
    trimmed += blocks[i].bytes;
    blocks[i] = blocks[--count];
  }
}

void DevicePool::fillStats(kiln_pool_stats &out) {
  rt::PatientLock::Hold hold(lock);
  kiln_pool_stats stats = {};
  stats.struct_size = std::min(out.struct_size, sizeof stats);
  stats.reserved = reserved.now;
  stats.peak_reserved = reserved.peak;
  stats.free_bytes = reserved.now - inUse();
  for (Block *block = blocks; block != blocks + count; ++block)
    if (!block->used)
      stats.largest_free = std::max(stats.largest_free, block->bytes);
  stats.static_used = ofSessions.now;
  stats.static_peak = ofSessions.peak;
  stats.static_blocks = staticBlocks;
  stats.static_allocations = staticAllocations;
  stats.used = ofRuns.now;
  stats.peak_used = ofRuns.peak;
  stats.slab_hits = hits;
  stats.releases = releases;
  stats.requested_total = requested;
  stats.given_total = given;
  stats.source_calls = misses;
  stats.failures = failures;
  stats.trims = trims;
  stats.trimmed = trimmed;
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
    [](kiln_pool *pool) { of(pool).retain(); },
    [](kiln_pool *pool) { of(pool).drop(); },
    [](kiln_pool *pool, uint64_t bytes) { return of(pool).allocate(bytes, true); },
    [](kiln_pool *pool, void *memory, uint64_t) { of(pool).release(memory); },
    [](const kiln_pool *pool) { return static_cast<const DevicePool *>(pool)->trims; },
    [](kiln_pool *pool) -> kiln_pool_cache * { return &of(pool).cache; },
    [](kiln_pool_cache *) {},
    [](kiln_pool_cache *cache, uint64_t bytes) { return cacheOwner(cache).allocate(bytes); },
    [](kiln_pool_cache *cache, void *memory, uint64_t) { cacheOwner(cache).release(memory); },
    [](kiln_pool *pool, void *memory, uint64_t) { of(pool).release(memory); },
};

} // namespace kiln::cuda
