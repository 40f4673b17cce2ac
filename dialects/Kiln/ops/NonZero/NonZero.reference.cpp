//===- NonZero.reference.cpp - Places of elements other than zero, reference ---===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/NonZero/NonZero.h"
#include "kiln/Reference/MoveElements.h"
#include "kiln/Reference/ReferenceTable.h"

using namespace mlir;
using namespace kiln;

static bool isNonZero(const TensorData &x, int64_t i) {
  return isa<FloatType>(x.elementType()) ? x.getFloat(i) != 0 : x.getInt(i) != 0;
}

static LogicalResult countNonZero(Operation *, ArrayRef<TensorData> operands,
                                  MutableArrayRef<TensorData> results) {
  int64_t count = 0;
  for (int64_t i = 0; i < operands[0].size(); ++i)
    count += isNonZero(operands[0], i);
  results[0].setInt(0, count);
  return success();
}

static LogicalResult nonZero(Operation *op, ArrayRef<TensorData> operands,
                             MutableArrayRef<TensorData> results) {
  TensorData &y = results[0];
  int64_t count = y.shape()[1], next = 0;
  forEachIndex(operands[0].shape(), [&](ArrayRef<int64_t> index, int64_t i) {
    if (!isNonZero(operands[0], i))
      return;
    for (auto [axis, at] : llvm::enumerate(index))
      if (next < count)
        y.setInt(static_cast<int64_t>(axis) * count + next, at);
    ++next;
  });
  if (y.rank() && y.shape()[0] && next != count)
    return op->emitError("count is ") << count << " for " << next << " elements";
  return success();
}

namespace kiln {
void registerNonZeroReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerNonZeroReferences(ReferenceTable &table) {
  table.add<CountNonZeroOp>(countNonZero);
  table.add<NonZeroOp>(nonZero);
}
