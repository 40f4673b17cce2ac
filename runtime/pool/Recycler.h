//===- Recycler.h - Blocks just freed, by class -------------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A line of slots for each size class, in which any thread may leave a block or
// take one. A queue would hand out the oldest block, have to be searched for a
// size, and leave everybody waiting behind a thread that was preempted between
// two of its steps; here no step waits: at most eight attempts, then the answer
// is no. A slot holds an address and nothing else, and whoever swaps it out
// owns it, so a block that came back meanwhile is as good (no ABA problem).
//
// What a tensor's element type is does not matter to memory: equal bytes, equal
// class. Memory of another device is another pool.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_POOL_RECYCLER_H
#define KILN_RUNTIME_POOL_RECYCLER_H

#include "SizeClass.h"

namespace kiln::rt {

class Recycler {
public:
  /// False: all slots are taken, the block is still the caller's.
  bool put(uint32_t sizeClass, void *block) {
    // What lies here is of use to one size only: less of it the larger it is.
    uint64_t worth = kMostBytes / classBytes(sizeClass);
    for (uint64_t i = 0; i < worth && i != kSlots; ++i) {
      std::atomic<void *> &slot = lines[sizeClass].slots[i];
      void *expected = nullptr;
      if (!slot.load(std::memory_order_relaxed) &&
          slot.compare_exchange_strong(expected, block, std::memory_order_release,
                                       std::memory_order_relaxed))
        return true;
    }
    return false;
  }

  /// Null: none of this class.
  void *take(uint32_t sizeClass) {
    for (std::atomic<void *> &slot : lines[sizeClass].slots) {
      void *block = slot.load(std::memory_order_relaxed);
      if (block && slot.compare_exchange_strong(block, nullptr, std::memory_order_acquire,
                                                std::memory_order_relaxed))
        return block;
    }
    return nullptr;
  }

  /// Bytes that lie in slots.
  uint64_t bytes() const {
    uint64_t sum = 0;
    for (uint32_t i = 0; i != kNumClasses; ++i)
      for (const std::atomic<void *> &slot : lines[i].slots)
        sum += slot.load(std::memory_order_relaxed) ? classBytes(i) : 0;
    return sum;
  }

private:
  static constexpr uint32_t kSlots = 8;
  /// Of one class.
  static constexpr uint64_t kMostBytes = uint64_t(1) << 20;

  struct alignas(64) Line {
    std::atomic<void *> slots[kSlots] = {};
  };
  Line lines[kNumClasses];
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_POOL_RECYCLER_H
