//===- LoadControl.h - Smaller batches under stress ---------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_BATCH_LOADCONTROL_H
#define KILN_RUNTIME_BATCH_LOADCONTROL_H

#include <algorithm>
#include <bit>
#include <cstdint>

namespace kiln::rt {

/// Each level halves the batch limit. Full memory adds one, latency above its
/// target all; a cool-down without either takes one away.
class LoadControl {
public:
  void configure(uint32_t maximum, uint64_t target, uint64_t cooldown) {
    maxBatch = maximum;
    targetTime = target;
    pause = cooldown;
  }

  void setSensors(double memoryInUse, double throttleBy) {
    memory = memoryInUse;
    throttle = throttleBy;
  }

  void noteRequest(uint64_t nanoseconds) {
    ++seen;
    above += targetTime && nanoseconds > targetTime;
  }

  /// After each batch.
  void evaluate(uint64_t now) {
    constexpr uint32_t window = 200;
    bool late = above * 100 > std::max(seen, window);
    bool full = memory > 0.9;
    if (seen >= window || late)
      seen = above = 0;
    if (late || full) {
      uint32_t lowest = std::bit_width(maxBatch) - 1;
      uint32_t wanted = std::min(late ? lowest : steps + 1, lowest);
      if (now >= nextStep && wanted > steps) {
        steps = wanted;
        ++degradations;
      }
      if (late || now >= nextStep)
        nextStep = now + pause;
    } else if (steps && now >= nextStep) {
      --steps;
      ++recoveries;
      nextStep = now + pause;
    }
  }

  uint32_t limit() const {
    auto rows = uint32_t(double(maxBatch >> steps) * (1 - throttle));
    return std::max<uint32_t>(rows, 1);
  }
  uint32_t level() const { return steps; }

  uint64_t degradations = 0, recoveries = 0;

private:
  uint32_t maxBatch = 1;
  uint64_t targetTime = 0, pause = 0;
  double memory = 0, throttle = 0;
  uint32_t seen = 0, above = 0, steps = 0;
  uint64_t nextStep = 0;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_BATCH_LOADCONTROL_H
