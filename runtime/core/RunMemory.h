//===- RunMemory.h - A session's memory, out of a pool ------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_CORE_RUNMEMORY_H
#define KILN_RUNTIME_CORE_RUNMEMORY_H

#include "Support.h"
#include "kiln-c/Memory.h"

namespace kiln::rt {

/// A static block that grows, and whose contents do not survive that.
class Block {
public:
  Block() = default;
  Block(const Block &) = delete;
  Block &operator=(const Block &) = delete;
  ~Block() { reset(); }

  /// Where its memory comes from; before anything else.
  void setPool(kiln_pool *from) { pool = from; }

  /// False: out of memory, and the block is empty.
  bool reserve(uint64_t bytes) { return bytes <= capacity && memory ? true : grow(bytes); }
  /// Gives it back when less would do.
  void shrinkTo(uint64_t bytes) {
    if (bytes < capacity)
      reset();
  }
  void reset();
  uint8_t *get() const { return memory; }
  uint64_t size() const { return capacity; }

private:
  bool grow(uint64_t bytes);

  kiln_pool *pool = nullptr;
  uint8_t *memory = nullptr;
  uint64_t capacity = 0;
};

/// Blocks whose size only the run knows. What was not given back by its end is
/// given back then; of a device all is, since others could write to it while the
/// device still works for this run. One thread at a time.
class RunMemory {
public:
  RunMemory() = default;
  RunMemory(const RunMemory &) = delete;
  RunMemory &operator=(const RunMemory &) = delete;
  ~RunMemory() { destroy(); }

  /// Before anything else; false when there is no memory.
  bool create(kiln_pool *pool, bool keepsReleased = false);
  /// Gives everything back; nothing can be allocated any more.
  void destroy();

  /// Null when there is none.
  void *allocate(uint64_t bytes);
  void release(void *memory);
  void clear() {
    if (!isEmpty()) [[unlikely]]
      clearAll();
  }

  bool isEmpty() const { return !count && !numReleased; }
  /// The newest block; null when there is none.
  void *mark() const { return count ? live[count - 1].memory : nullptr; }
  /// Releases what is newer than a mark but not among `kept`.
  void releaseSince(void *mark, void *const *kept, uint32_t numKept);

  kiln_pool_cache *poolCache() const { return cache; }

private:
  struct Live {
    void *memory;
    uint64_t bytes;
  };
  /// Room for one more; false when there is no memory.
  static bool makeRoom(Live *&list, uint32_t count, uint32_t &capacity);
  void *takeReleased(uint64_t bytes);
  void clearAll();

  kiln_pool_cache *cache = nullptr;
  /// What the run has, the latest last: most are given back in that order.
  Live *live = nullptr;
  uint32_t count = 0;
  uint32_t capacity = 0;
  /// What it has given back, and may have again.
  bool keepsReleased = false;
  Live *released = nullptr;
  uint32_t numReleased = 0;
  uint32_t releasedCapacity = 0;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_CORE_RUNMEMORY_H
