//===- Profile.h - Times of a session's launches ------------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_CORE_PROFILE_H
#define KILN_RUNTIME_CORE_PROFILE_H

#include "Support.h"
#include "kiln-c/Metrics.h"
#include "kiln-c/ModuleABI.h"

#include <algorithm>

namespace kiln::rt {

class Profile {
public:
  /// False when there is no memory.
  bool create(const kiln_module &module, uint32_t traceEvents) {
    if (!rows.allocate(module.num_launches) || !events.allocate(traceEvents))
      return false;
    for (uint32_t i = 0; i != module.num_launches; ++i) {
      rows[i].kernel = module.launches[i].kernel;
      rows[i].nodes = module.launches[i].nodes;
    }
    return true;
  }

  void note(uint32_t row, uint32_t chunks, uint64_t start, uint64_t end) {
    if (row >= rows.size())
      return;
    uint64_t elapsed = end - start;
    kiln_profile_row &into = rows[row];
    into.shortest_ns = into.launches ? std::min(into.shortest_ns, elapsed) : elapsed;
    into.longest_ns = std::max(into.longest_ns, elapsed);
    into.total_ns += elapsed;
    ++into.launches;
    // The latest ones, over the oldest.
    if (events.size())
      events[numEvents++ % events.size()] = {row, chunks, start, elapsed};
  }

  void reset() {
    numEvents = 0;
    for (kiln_profile_row &row : rows)
      row.launches = row.total_ns = row.shortest_ns = row.longest_ns = 0;
  }

  uint32_t numRows() const { return uint32_t(rows.size()); }
  const kiln_profile_row *firstRow() const { return rows.get(); }

  /// Copies the latest events, oldest first; how many there are.
  uint32_t copyEvents(kiln_trace_event *out, uint32_t capacity) const {
    uint64_t kept = std::min<uint64_t>(numEvents, events.size());
    uint64_t copied = std::min<uint64_t>(kept, capacity);
    for (uint64_t i = 0; out && i != copied; ++i)
      out[i] = events[(numEvents - copied + i) % events.size()];
    return uint32_t(kept);
  }

private:
  Array<kiln_profile_row> rows;
  Array<kiln_trace_event> events;
  uint64_t numEvents = 0;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_CORE_PROFILE_H
