//===- ElementwiseUnary.reference.cpp - Ops on one element, reference -----===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ElementwiseUnary/ElementwiseUnary.h"
#include "kiln/Reference/ReferenceTable.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

/// Applies `fn` in double; the result rounds to the element type.
static LogicalResult mapFloat(ArrayRef<TensorData> operands, MutableArrayRef<TensorData> results,
                              double (*fn)(double)) {
  for (int64_t i = 0; i < results[0].size(); ++i)
    results[0].setFloat(i, fn(operands[0].getFloat(i)));
  return success();
}

static LogicalResult relu(Operation *, ArrayRef<TensorData> operands,
                          MutableArrayRef<TensorData> results) {
  if (isa<FloatType>(results[0].elementType()))
    return mapFloat(operands, results, [](double x) { return x < 0 ? 0.0 : x; });
  for (int64_t i = 0; i < results[0].size(); ++i)
    results[0].setInt(i, std::max<int64_t>(operands[0].getInt(i), 0));
  return success();
}

namespace kiln {
void registerElementwiseUnaryReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerElementwiseUnaryReferences(ReferenceTable &table) {
  table.add<ReluOp>(relu);
  table.add<SigmoidOp>(
      [](Operation *, ArrayRef<TensorData> operands, MutableArrayRef<TensorData> results) {
        return mapFloat(operands, results, [](double x) { return 1 / (1 + std::exp(-x)); });
      });
}
