//===- ReverseSequence.reference.cpp - Reversed beginnings, reference -----===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ReverseSequence/ReverseSequence.h"
#include "kiln/Reference/MoveElements.h"
#include "kiln/Reference/ReferenceTable.h"

using namespace mlir;
using namespace kiln;

static LogicalResult reverseSequence(Operation *op, ArrayRef<TensorData> operands,
                                     MutableArrayRef<TensorData> results) {
  auto reverse = ::cast<ReverseSequenceOp>(op);
  size_t batch = reverse.getBatchAxis(), time = reverse.getTimeAxis();
  const TensorData &x = operands[0], &lengths = operands[1];
  for (int64_t i = 0; i < lengths.size(); ++i)
    if (lengths.getInt(i) < 0 || lengths.getInt(i) > x.shape()[time])
      return op->emitError("length ")
             << lengths.getInt(i) << " is out of range for " << x.shape()[time] << " elements";
  moveElements(x, results[0], [&](ArrayRef<int64_t> index) {
    IntIndex at(index);
    int64_t length = lengths.getInt(index[batch]);
    if (at[time] < length)
      at[time] = length - 1 - at[time];
    return at;
  });
  return success();
}

namespace kiln {
void registerReverseSequenceReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerReverseSequenceReferences(ReferenceTable &table) {
  table.add<ReverseSequenceOp>(reverseSequence);
}
