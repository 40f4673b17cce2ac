//===- View.reference.cpp - Ops that only rename elements, reference ------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/View/View.h"
#include "kiln/Reference/ReferenceTable.h"
#include "llvm/Support/MathExtras.h"

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
  int64_t known = 1;
  SmallVector<int64_t> inferred;
  bool isBad = false, overflows = false;
  for (int64_t i = 0; i < resolved.size(); ++i) {
    int64_t size = operands[0].getInt(i);
    if (size == 0 && !resolve.getAllowZero()) {
      if (i < static_cast<int64_t>(from.size())) {
        if (!from[i].constant())
          return failure();
        size = *from[i].constant();
      } else {
        isBad = true;
      }
    }
    isBad |= size < -1;
    if (size == -1)
      inferred.push_back(i);
    else
      overflows |= llvm::MulOverflow(known, size, known);
    resolved.setInt(i, size);
  }
  isBad |= inferred.size() > 1 || overflows ||
           (resolve.getAllowZero() && known == 0 && !inferred.empty());
  if (isBad) {
    for (int64_t i = 0; i < resolved.size(); ++i)
      resolved.setInt(i, -1);
    return success();
  }
  if (inferred.empty())
    return success();
  if (!total)
    return failure();
  resolved.setInt(inferred.front(), known == 0 ? 0 : *total / known);
  return success();
}

namespace kiln {
void registerViewReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerViewReferences(ReferenceTable &table) {
  table.add<ReshapeOp>(reshape);
  table.add<ResolveShapeOp>(resolveShape);
}
