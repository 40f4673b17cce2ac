//===- Symbol.reference.cpp - Ops that make and use symbols, reference ----===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Symbol/Symbol.h"
#include "kiln/Reference/ReferenceTable.h"

using namespace mlir;
using namespace kiln;

/// Both fold only when every value is a known number.
static LogicalResult fillKnown(ArrayRef<Expr> values, TensorData &y) {
  for (int64_t i = 0; i < y.size(); ++i) {
    auto value = values[static_cast<size_t>(i)].constant();
    if (!value)
      return failure();
    y.setInt(i, *value);
  }
  return success();
}

static LogicalResult farthest(Operation *op, ArrayRef<TensorData> operands,
                              MutableArrayRef<TensorData> results) {
  auto low = exprsOf(::cast<FarthestOp>(op).getLow())[0].constant();
  if (!low)
    return failure();
  uint64_t most = 0, base = static_cast<uint64_t>(*low);
  for (int64_t i = 0; i < operands[0].size(); ++i)
    most = std::max(most, static_cast<uint64_t>(operands[0].getInt(i)) - base);
  results[0].setInt(0, static_cast<int64_t>(most + base));
  return success();
}

namespace kiln {
void registerSymbolReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerSymbolReferences(ReferenceTable &table) {
  table.add<ShapeOp>([](Operation *op, ArrayRef<TensorData>, MutableArrayRef<TensorData> results) {
    Shape dims = shapeOf(op->getOperand(0));
    return fillKnown(ArrayRef(dims).drop_front(::cast<ShapeOp>(op).getStart()), results[0]);
  });
  table.add<ExprsOp>([](Operation *op, ArrayRef<TensorData>, MutableArrayRef<TensorData> results) {
    return fillKnown(exprsOf(::cast<ExprsOp>(op).getValues()), results[0]);
  });
  table.add<FarthestOp>(farthest);
}
