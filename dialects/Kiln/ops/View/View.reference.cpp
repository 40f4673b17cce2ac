//===- View.reference.cpp - Ops that only rename elements, reference ------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/View/View.h"
#include "kiln/Reference/ReferenceTable.h"

using namespace mlir;
using namespace kiln;

static LogicalResult reshape(Operation *, ArrayRef<TensorData> operands,
                             MutableArrayRef<TensorData> results) {
  results[0] = operands[0].reshaped(results[0].type());
  return success();
}

static LogicalResult resolveShape(Operation *op, ArrayRef<TensorData> operands,
                                  MutableArrayRef<TensorData> results) {
  auto resolve = cast<ResolveShapeOp>(op);
  Shape from = exprsOf(resolve.getFrom());
  auto total = elementCount(from).constant();
  TensorData &resolved = results[0];
  int64_t known = 1, inferred = -1;
  for (int64_t i = 0; i < resolved.size(); ++i) {
    int64_t size = operands[0].getInt(i);
    if (size == 0 && !resolve.getAllowZero()) {
      if (i >= static_cast<int64_t>(from.size()) || !from[i].constant())
        return failure();
      size = *from[i].constant();
    }
    if (size == -1)
      inferred = i;
    else
      known *= size;
    resolved.setInt(i, size);
  }
  if (inferred < 0)
    return success();
  if (!total)
    return failure();
  resolved.setInt(inferred, known == 0 ? 0 : *total / known);
  return success();
}

namespace kiln {
void registerViewReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerViewReferences(ReferenceTable &table) {
  table.add<ReshapeOp>(reshape);
  table.add<ResolveShapeOp>(resolveShape);
}
