//===- GraphTable.h - Runs that were recorded ----------------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_DRIVERS_CUDA_GRAPHTABLE_H
#define KILN_RUNTIME_DRIVERS_CUDA_GRAPHTABLE_H

#include "Context.h"

#include <cstring>

namespace kiln::cuda {

/// The latest runs by their keys, with the graphs of those that came again. One
/// thread at a time.
class GraphTable {
public:
  static constexpr uint32_t kCapacity = 16;

  struct Entry {
    uint64_t *key = nullptr;
    uint32_t count = 0;
    uint64_t lastUse = 0;
    /// Of its last run.
    bool onlyLaunches = false;
    CUgraphExec graph = nullptr;
  };

  /// The entry of a key; a new one takes the place of the oldest. Null when there
  /// is no memory.
  Entry *find(const Context &context, const uint64_t *key, uint32_t count) {
    Entry *oldest = entries;
    for (Entry &entry : entries) {
      if (entry.count == count && entry.key &&
          std::memcmp(entry.key, key, count * sizeof *key) == 0) {
        entry.lastUse = ++clock;
        return &entry;
      }
      if (entry.lastUse < oldest->lastUse)
        oldest = &entry;
    }
    drop(context, *oldest);
    oldest->key = static_cast<uint64_t *>(std::malloc(count * sizeof *key));
    if (!oldest->key)
      return nullptr;
    std::memcpy(oldest->key, key, count * sizeof *key);
    oldest->count = count;
    oldest->lastUse = ++clock;
    return oldest;
  }

  void drop(const Context &context, Entry &entry) {
    if (entry.graph)
      context.driver.cuGraphExecDestroy(entry.graph);
    std::free(entry.key);
    entry = {};
  }
  void clear(const Context &context) {
    for (Entry &entry : entries)
      drop(context, entry);
  }

private:
  Entry entries[kCapacity];
  uint64_t clock = 0;
};

} // namespace kiln::cuda

#endif // KILN_RUNTIME_DRIVERS_CUDA_GRAPHTABLE_H
