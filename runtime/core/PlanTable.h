//===- PlanTable.h - What a session knows about shapes it has seen - -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_CORE_PLANTABLE_H
#define KILN_RUNTIME_CORE_PLANTABLE_H

#include "Support.h"
#include "kiln-c/Executor.h"
#include "kiln-c/ModuleABI.h"

namespace kiln::rt {

/// One tuple of sizes, and all that follows from it.
struct Plan {
  bool valid = false;
  uint64_t hash = 0;
  uint64_t lastUse = 0;
  uint64_t arenaBytes = 0;
  /// Of one slot; slots follow the arena.
  uint64_t scratchStride = 0;
  /// Of arena and all scratch slots.
  uint64_t totalBytes = 0;
  /// num_symbols; the bound ones are the key, run() writes the late ones.
  int64_t *symbols = nullptr;
  /// num_buffers.
  uint64_t *offsets = nullptr;
  /// Of all outputs, one after the other; -1 where late.
  int64_t *outputDims = nullptr;
  /// Of each output; 0 where late.
  uint64_t *outputBytes = nullptr;
  kiln_executor_history history = {};

  Plan() = default;
  Plan(const Plan &) = delete;
  Plan &operator=(const Plan &) = delete;
  ~Plan() { std::free(symbols); }
};

/// A bounded table, compared by equality, the plan used last first. When it is
/// full, the plan that was not used for longest goes.
class PlanTable {
public:
  static constexpr uint32_t kCapacity = 32;

  void configure(uint32_t keySymbols, uint32_t numSymbols, uint32_t numBuffers,
                 uint32_t numOutputDims, uint32_t numOutputs) {
    numKey = keySymbols;
    this->numSymbols = numSymbols;
    this->numBuffers = numBuffers;
    this->numOutputDims = numOutputDims;
    this->numOutputs = numOutputs;
  }

  /// The plan for these symbols (the first `keySymbols` count), or null.
  Plan *find(const int64_t *symbols) {
    if (latest && matches(*latest, symbols))
      return latest;
    return search(symbols);
  }

  /// A plan with room for everything, not valid yet: fill it, symbols included,
  /// and then publish it. Null when there is no memory.
  Plan *claim();
  /// The plan found or published last; null when there is none.
  const Plan *latestPlan() const { return latest; }
  void publish(Plan &plan);

private:
  bool matches(const Plan &plan, const int64_t *symbols) const {
    for (uint32_t i = 0; i != numKey; ++i)
      if (plan.symbols[i] != symbols[i])
        return false;
    return plan.valid;
  }
  uint64_t hashOf(const int64_t *symbols) const;
  Plan *search(const int64_t *symbols);

  Plan plans[kCapacity];
  Plan *latest = nullptr;
  uint64_t clock = 0;
  uint32_t numKey = 0;
  uint32_t numSymbols = 0;
  uint32_t numBuffers = 0;
  uint32_t numOutputDims = 0;
  uint32_t numOutputs = 0;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_CORE_PLANTABLE_H
