//===- Range.reference.cpp - Evenly spaced numbers, reference -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Range/Range.h"
#include "kiln/Reference/ReferenceTable.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

static LogicalResult range(Operation *, ArrayRef<TensorData> operands,
                           MutableArrayRef<TensorData> results) {
  const TensorData &start = operands[0], &delta = operands[1];
  TensorData &y = results[0];
  for (int64_t i = 0; i < y.size(); ++i) {
    if (isa<FloatType>(y.elementType()))
      y.setFloat(i, start.getFloat(0) + static_cast<double>(i) * delta.getFloat(0));
    else
      y.setInt(i, static_cast<int64_t>(static_cast<uint64_t>(start.getInt(0)) +
                                       static_cast<uint64_t>(i) *
                                           static_cast<uint64_t>(delta.getInt(0))));
  }
  return success();
}

static LogicalResult rangeCount(Operation *, ArrayRef<TensorData> operands,
                                MutableArrayRef<TensorData> results) {
  int64_t count = 0;
  if (isa<FloatType>(operands[0].elementType())) {
    double delta = operands[2].getFloat(0);
    double exact = std::ceil((operands[1].getFloat(0) - operands[0].getFloat(0)) / delta);
    if (delta == 0)
      count = -1;
    else if (exact > 0 && exact < 9e18)
      count = static_cast<int64_t>(exact);
  } else {
    int64_t distance = operands[1].getInt(0) - operands[0].getInt(0), delta = operands[2].getInt(0);
    if (delta == 0)
      count = -1;
    else if ((distance < 0) == (delta < 0))
      count = (std::abs(distance) + std::abs(delta) - 1) / std::abs(delta);
  }
  results[0].setInt(0, count);
  return success();
}

namespace kiln {
void registerRangeReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerRangeReferences(ReferenceTable &table) {
  table.add<RangeOp>(range);
  table.add<RangeCountOp>(rangeCount);
}
