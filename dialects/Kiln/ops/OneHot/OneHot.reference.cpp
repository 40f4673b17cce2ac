//===- OneHot.reference.cpp - Indices as vectors of two values, reference ---===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/OneHot/OneHot.h"
#include "kiln/Reference/MoveElements.h"
#include "kiln/Reference/ReferenceTable.h"

using namespace mlir;
using namespace kiln;

static LogicalResult oneHot(Operation *op, ArrayRef<TensorData> operands,
                            MutableArrayRef<TensorData> results) {
  size_t axis = ::cast<OneHotOp>(op).getAxis();
  const TensorData &indices = operands[0], &values = operands[1];
  TensorData &y = results[0];
  int64_t depth = y.shape()[axis];
  forEachIndex(y.shape(), [&](ArrayRef<int64_t> index, int64_t position) {
    IntIndex at(index);
    at.erase(at.begin() + static_cast<ptrdiff_t>(axis));
    int64_t place = indices.getInt(positionOf(at, indices.shape()));
    place = place < 0 ? place + depth : place;
    copyElement(y, position, values, place == index[axis] ? 1 : 0);
  });
  return success();
}

namespace kiln {
void registerOneHotReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerOneHotReferences(ReferenceTable &table) { table.add<OneHotOp>(oneHot); }
