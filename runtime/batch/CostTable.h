//===- CostTable.h - What a batch of so many rows costs ------ -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_BATCH_COSTTABLE_H
#define KILN_RUNTIME_BATCH_COSTTABLE_H

#include "kiln-c/Batcher.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace kiln::rt {

/// Nanoseconds of batches, by powers of two of their rows; learnt from runs.
class CostTable {
public:
  void clear() { *this = CostTable(); }
  bool known() const { return mean[0] != 0 || anyAbove(0); }

  void note(uint32_t rows, uint64_t nanoseconds) {
    unsigned i = std::bit_width(rows) - 1;
    // Between two powers, as if it were the one below, at the same cost a row.
    uint64_t cost = std::max<uint64_t>(nanoseconds * (uint64_t(1) << i) / rows, 1);
    if (!mean[i])
      mean[i] = cost;
    else if (cost < mean[i])
      mean[i] -= (mean[i] - cost) / 4 + 1;
    else
      // One run that was interrupted must not count for much.
      mean[i] += std::min(cost - mean[i], mean[i]) / 8;
  }

  /// 0: nothing is known.
  uint64_t predict(uint32_t rows) const {
    unsigned i = std::bit_width(rows) - 1;
    uint64_t low = at(i), high = at(i + 1);
    uint64_t first = uint64_t(1) << i;
    return low + (high > low ? (high - low) * (rows - first) / first : 0);
  }

  /// The most rows, up to `limit`, that stay within `nanoseconds`; at least 1.
  uint32_t rowsWithin(uint64_t nanoseconds, uint32_t limit) const {
    if (predict(limit) <= nanoseconds)
      return limit;
    uint32_t low = 1, high = limit;
    while (high - low > 1) {
      uint32_t middle = low + (high - low) / 2;
      (predict(middle) <= nanoseconds ? low : high) = middle;
    }
    return low;
  }

private:
  static constexpr unsigned kSizes = KILN_BATCHER_SIZES + 1;

  bool anyAbove(unsigned i) const {
    return std::any_of(mean + i, mean + kSizes, [](uint64_t cost) { return cost != 0; });
  }
  /// From the nearest known size below, as if every row cost the same; else
  /// that of the nearest above.
  uint64_t at(unsigned i) const {
    i = std::min(i, kSizes - 1);
    for (unsigned j = i + 1; j-- > 0;)
      if (mean[j])
        return mean[j] << (i - j);
    for (unsigned j = i + 1; j < kSizes; ++j)
      if (mean[j])
        return mean[j];
    return 0;
  }

  uint64_t mean[kSizes] = {};
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_BATCH_COSTTABLE_H
