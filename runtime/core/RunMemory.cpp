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
  std::free(released);
  live = released = nullptr;
  capacity = releasedCapacity = 0;
  if (cache)
    cache->api->cache_destroy(cache);
  cache = nullptr;
}

bool RunMemory::create(kiln_pool *pool, bool keeps) {
  keepsReleased = keeps;
  cache = pool->api->cache_create(pool);
  return cache;
}

bool RunMemory::makeRoom(Live *&list, uint32_t count, uint32_t &capacity) {
  if (count != capacity)
    return true;
  uint32_t wanted = std::max(2 * capacity, 16u);
  auto *grown = static_cast<Live *>(std::calloc(wanted, sizeof(Live)));
  if (!grown)
    return false;
  std::copy(list, list + count, grown);
  std::free(list);
  list = grown;
  capacity = wanted;
  return true;
}

void *RunMemory::takeReleased(uint64_t bytes) {
  // The smallest that wastes at most half of itself.
  Live *best = nullptr;
  for (Live *block = released; block != released + numReleased; ++block)
    if (block->bytes >= bytes && block->bytes / 2 <= bytes && (!best || block->bytes < best->bytes))
      best = block;
  if (!best)
    return nullptr;
  live[count++] = *best;
  *best = released[--numReleased];
  return live[count - 1].memory;
}

void *RunMemory::allocate(uint64_t bytes) {
  if (!makeRoom(live, count, capacity))
    return nullptr;
  if (numReleased) [[unlikely]]
    if (void *memory = takeReleased(bytes))
      return memory;
  void *memory = cache->api->cache_allocate(cache, bytes);
  if (memory)
    live[count++] = {memory, bytes};
  return memory;
}

void RunMemory::release(void *memory) {
  for (uint32_t i = count; i-- > 0;) {
    if (live[i].memory != memory)
      continue;
    if (!keepsReleased) [[likely]] {
      cache->api->cache_release(cache, memory, live[i].bytes);
    } else if (makeRoom(released, numReleased, releasedCapacity)) {
      released[numReleased++] = live[i];
    } else {
      // It stays where it is until the end of the run.
      return;
    }
    std::copy(live + i + 1, live + count, live + i);
    --count;
    return;
  }
}

void RunMemory::clearAll() {
  auto giveBack = [&](Live *list, uint32_t &left) {
    for (; left; --left)
      cache->api->cache_release(cache, list[left - 1].memory, list[left - 1].bytes);
  };
  giveBack(live, count);
  giveBack(released, numReleased);
}

void RunMemory::releaseSince(void *mark, void *const *kept, uint32_t numKept) {
  for (uint32_t i = count; i-- > 0 && live[i].memory != mark;)
    if (std::find(kept, kept + numKept, live[i].memory) == kept + numKept)
      release(live[i].memory);
}

} // namespace kiln::rt
