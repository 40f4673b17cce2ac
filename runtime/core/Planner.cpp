//===- Planner.cpp - Where each buffer lies in the arena ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Planner.h"

#include <algorithm>

namespace kiln::rt {

bool Planner::plan(const kiln_module_buffer *buffers, const uint64_t *sizes, uint32_t numBuffers,
                   uint64_t *offsets, uint64_t &arenaBytes) {
  uint32_t used = 0;
  for (uint32_t i = 0; i != numBuffers; ++i) {
    if (sizes[i] > kMaxBytes)
      return false;
    offsets[i] = 0;
    if (sizes[i])
      order[used++] = i;
  }
  // Ties by index: the same sizes always give the same plan.
  std::sort(order.begin(), order.begin() + used, [&](uint32_t a, uint32_t b) {
    return sizes[a] != sizes[b] ? sizes[a] > sizes[b] : a < b;
  });

  arenaBytes = 0;
  for (uint32_t n = 0; n != used; ++n) {
    uint32_t current = order[n];
    uint64_t size = alignUp(sizes[current], kAlignment);
    uint64_t bestGap = UINT64_MAX, best = 0;
    // End of everything seen so far that lives at the same time.
    uint64_t end = 0;
    for (uint32_t p = 0; p != n; ++p) {
      uint32_t other = placed[p];
      if (buffers[other].last < buffers[current].first ||
          buffers[other].first > buffers[current].last)
        continue;
      if (offsets[other] > end) {
        uint64_t gap = offsets[other] - end;
        if (gap >= size && gap < bestGap) {
          bestGap = gap;
          best = end;
        }
      }
      end = std::max(end, offsets[other] + alignUp(sizes[other], kAlignment));
    }
    offsets[current] = bestGap != UINT64_MAX ? best : end;
    arenaBytes = std::max(arenaBytes, offsets[current] + size);
    if (arenaBytes > kMaxBytes)
      return false;
    uint32_t *at =
        std::upper_bound(placed.begin(), placed.begin() + n, current,
                         [&](uint32_t a, uint32_t b) { return offsets[a] < offsets[b]; });
    std::move_backward(at, placed.begin() + n, placed.begin() + n + 1);
    *at = current;
  }
  return true;
}

} // namespace kiln::rt
