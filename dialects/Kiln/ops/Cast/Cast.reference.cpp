//===- Cast.reference.cpp - Conversion of element types, reference --------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Cast/Cast.h"
#include "kiln/Reference/ReferenceTable.h"

using namespace mlir;
using namespace kiln;

static LogicalResult cast(Operation *op, ArrayRef<TensorData> operands,
                          MutableArrayRef<TensorData> results) {
  const TensorData &x = operands[0];
  TensorData &y = results[0];
  Type from = x.elementType(), to = y.elementType();
  for (int64_t i = 0; i < y.size(); ++i) {
    if (isa<FloatType>(to))
      y.setFloat(i, x.getFloat(i), llvm::cast<CastOp>(op).getSaturate());
    else if (!isa<FloatType>(from))
      y.setInt(i, x.getInt(i));
    else if (to.isInteger(1))
      y.setInt(i, x.getFloat(i) != 0);
    else
      y.setSaturated(i, x.getFloat(i));
  }
  return success();
}

namespace kiln {
void registerCastReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerCastReferences(ReferenceTable &table) { table.add<CastOp>(cast); }
