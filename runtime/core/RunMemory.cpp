//===- RunMemory.cpp - A session's memory, out of a pool ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RunMemory.h"

#include <algorithm>

namespace kiln::rt {

void Block::reset() {
  // Forgotten first, so that a child forked meanwhile sees an empty block.
  uint8_t *old = memory;
  uint64_t bytes = capacity;
  memory = nullptr;
  capacity = 0;
  if (old)
    pool->api->release_static(pool, old, bytes);
}

bool Block::grow(uint64_t bytes) {
  // Given back first: a growing arena must not be held twice.
  reset();
  memory = static_cast<uint8_t *>(pool->api->allocate_static(pool, bytes));
  capacity = memory ? bytes : 0;
  return memory;
}

void RunMemory::destroy() {
  clear();
  std::free(live);
  live = nullptr;
  capacity = 0;
  if (cache)
    cache->api->cache_destroy(cache);
  cache = nullptr;
}

bool RunMemory::create(kiln_pool *pool) {
  cache = pool->api->cache_create(pool);
  return cache;
}

void *RunMemory::allocate(uint64_t bytes) {
  if (count == capacity) {
    uint32_t wanted = std::max(2 * capacity, 16u);
    auto *grown = static_cast<Live *>(std::calloc(wanted, sizeof(Live)));
    if (!grown)
      return nullptr;
    std::copy(live, live + count, grown);
    std::free(live);
    live = grown;
    capacity = wanted;
  }
  void *memory = cache->api->cache_allocate(cache, bytes);
  if (memory)
    live[count++] = {memory, bytes};
  return memory;
}

void RunMemory::release(void *memory) {
  for (uint32_t i = count; i-- > 0;) {
    if (live[i].memory != memory)
      continue;
    cache->api->cache_release(cache, memory, live[i].bytes);
    std::copy(live + i + 1, live + count, live + i);
    --count;
    return;
  }
}

void RunMemory::releaseSince(void *mark, void *const *kept, uint32_t numKept) {
  for (uint32_t i = count; i-- > 0 && live[i].memory != mark;)
    if (std::find(kept, kept + numKept, live[i].memory) == kept + numKept)
      release(live[i].memory);
}

} // namespace kiln::rt
