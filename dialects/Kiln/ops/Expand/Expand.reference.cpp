//===- Expand.reference.cpp - Repeated elements, reference ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Expand/Expand.h"
#include "kiln/Reference/MoveElements.h"
#include "kiln/Reference/ReferenceTable.h"

using namespace mlir;
using namespace kiln;

static LogicalResult broadcastTo(Operation *, ArrayRef<TensorData> operands,
                                 MutableArrayRef<TensorData> results) {
  const TensorData &x = operands[0];
  for (int64_t i = 0; i < results[0].size(); ++i)
    copyElement(results[0], i, x, broadcastIndex(x.shape(), results[0].shape(), i));
  return success();
}

static LogicalResult tile(Operation *, ArrayRef<TensorData> operands,
                          MutableArrayRef<TensorData> results) {
  moveElements(operands[0], results[0], [&](ArrayRef<int64_t> index) {
    IntIndex at(index);
    for (auto [i, size] : llvm::zip_equal(at, operands[0].shape()))
      i %= size;
    return at;
  });
  return success();
}

namespace kiln {
void registerExpandReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerExpandReferences(ReferenceTable &table) {
  table.add<BroadcastToOp>(broadcastTo);
  table.add<TileOp>(tile);
}
