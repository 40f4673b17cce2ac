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

namespace kiln {
void registerViewReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerViewReferences(ReferenceTable &table) { table.add<ReshapeOp>(reshape); }
