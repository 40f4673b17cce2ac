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
}
