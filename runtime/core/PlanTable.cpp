//===- PlanTable.cpp - What a session knows about shapes it has seen ------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PlanTable.h"

namespace kiln::rt {

uint64_t PlanTable::hashOf(const int64_t *symbols) const {
  uint64_t hash = 0x9e3779b97f4a7c15u;
  for (uint32_t i = 0; i != numKey; ++i) {
    hash ^= uint64_t(symbols[i]);
    hash *= 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash;
}

Plan *PlanTable::search(const int64_t *symbols) {
  uint64_t hash = hashOf(symbols);
  for (Plan &plan : plans) {
    if (plan.hash != hash || !plan.valid || !matches(plan, symbols))
      continue;
    plan.lastUse = ++clock;
    return latest = &plan;
  }
  return nullptr;
}

Plan *PlanTable::claim() {
  Plan *oldest = &plans[0];
  for (Plan &plan : plans) {
    if (!plan.valid) {
      oldest = &plan;
      break;
    }
    if (plan.lastUse < oldest->lastUse)
      oldest = &plan;
  }
  oldest->valid = false;
  latest = nullptr;
  oldest->history = {};
  if (!oldest->symbols) {
    auto *memory = static_cast<int64_t *>(std::calloc(
        size_t(numSymbols) + numBuffers + numOutputDims + numOutputs + 1, sizeof(int64_t)));
    if (!memory)
      return nullptr;
    oldest->symbols = memory;
    oldest->offsets = reinterpret_cast<uint64_t *>(memory + numSymbols);
    oldest->outputDims = memory + numSymbols + numBuffers;
    oldest->outputBytes = reinterpret_cast<uint64_t *>(oldest->outputDims + numOutputDims);
  }
  return oldest;
}

void PlanTable::publish(Plan &plan) {
  plan.hash = hashOf(plan.symbols);
  plan.lastUse = ++clock;
  plan.valid = true;
  latest = &plan;
}

} // namespace kiln::rt
