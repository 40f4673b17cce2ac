//===- Softmax.reference.cpp - Softmax and its logarithm, reference -------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Softmax/Softmax.h"
#include "kiln/Reference/ReferenceTable.h"
#include "kiln/Reference/Walk.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace kiln;

template <typename OpTy>
static LogicalResult softmax(Operation *op, ArrayRef<TensorData> operands,
                             MutableArrayRef<TensorData> results) {
  const TensorData &x = operands[0];
  TensorData &y = results[0];
  int64_t axis = static_cast<int64_t>(cast<OpTy>(op).getAxis());
  forEachLine(x.shape(), axis, [&](const Line &line) {
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t i = 0; i < line.length; ++i)
      most = std::max(most, x.getFloat(line.at(i)));
    for (int64_t i = 0; i < line.length; ++i)
      sum += std::exp(x.getFloat(line.at(i)) - most);
    for (int64_t i = 0; i < line.length; ++i) {
      double shifted = x.getFloat(line.at(i)) - most;
      y.setFloat(line.at(i), std::is_same_v<OpTy, SoftmaxOp> ? std::exp(shifted) / sum
                                                             : shifted - std::log(sum));
    }
  });
  return success();
}

namespace kiln {
void registerSoftmaxReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerSoftmaxReferences(ReferenceTable &table) {
  table.add<SoftmaxOp>(softmax<SoftmaxOp>);
  table.add<LogSoftmaxOp>(softmax<LogSoftmaxOp>);
}
