//===- Select.reference.cpp - Choice between two tensors, reference -------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Select/Select.h"
#include "kiln/Reference/MoveElements.h"
#include "kiln/Reference/ReferenceTable.h"

using namespace mlir;
using namespace kiln;

static LogicalResult select(Operation *, ArrayRef<TensorData> operands,
                            MutableArrayRef<TensorData> results) {
  TensorData &y = results[0];
  for (int64_t i = 0; i < y.size(); ++i) {
    auto at = [&](unsigned operand) {
      return broadcastIndex(operands[operand].shape(), y.shape(), i);
    };
    unsigned chosen = operands[0].getInt(at(0)) ? 1 : 2;
    copyElement(y, i, operands[chosen], at(chosen));
  }
  return success();
}

namespace kiln {
void registerSelectReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerSelectReferences(ReferenceTable &table) { table.add<SelectOp>(select); }
