//===- Concat.reference.cpp - Joined tensors, reference -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Concat/Concat.h"
#include "kiln/Reference/MoveElements.h"
#include "kiln/Reference/ReferenceTable.h"

using namespace mlir;
using namespace kiln;

static LogicalResult concat(Operation *op, ArrayRef<TensorData> operands,
                            MutableArrayRef<TensorData> results) {
  auto axis = static_cast<size_t>(::cast<ConcatOp>(op).getAxis());
  TensorData &y = results[0];
  int64_t offset = 0;
  for (const TensorData &x : operands) {
    forEachIndex(x.shape(), [&](ArrayRef<int64_t> index, int64_t from) {
      IntIndex at(index);
      at[axis] += offset;
      copyElement(y, positionOf(at, y.shape()), x, from);
    });
    offset += x.shape()[axis];
  }
  return success();
}

namespace kiln {
void registerConcatReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerConcatReferences(ReferenceTable &table) { table.add<ConcatOp>(concat); }
