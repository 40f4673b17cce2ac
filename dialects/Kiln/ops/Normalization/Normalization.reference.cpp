//===- Normalization.reference.cpp - Standardised rows, reference ---------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Normalization/Normalization.h"
#include "kiln/Reference/ReferenceTable.h"
#include "kiln/Reference/Walk.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

template <typename OpTy>
static LogicalResult rowNorm(Operation *op, ArrayRef<TensorData> operands,
                             MutableArrayRef<TensorData> results) {
  auto node = cast<OpTy>(op);
  const TensorData &x = operands[0];
  int64_t axis = static_cast<int64_t>(node.getAxis());
  double epsilon = node.getEpsilon().convertToDouble();
  auto normalize = [&](const Line &row) {
    auto count = static_cast<double>(row.length);
    double mean = 0, squares = 0;
    if (std::is_same_v<OpTy, StandardizeOp>)
      for (int64_t i = 0; i < row.length; ++i)
        mean += x.getFloat(row.at(i)) / count;
    for (int64_t i = 0; i < row.length; ++i) {
      double deviation = x.getFloat(row.at(i)) - mean;
      squares += deviation * deviation / count;
    }
    for (int64_t i = 0; i < row.length; ++i)
      results[0].setFloat(row.at(i), (x.getFloat(row.at(i)) - mean) / std::sqrt(squares + epsilon));
  };
  forEachLine(x.shape(), axis, normalize, x.rank() - axis);
  return success();
}

namespace kiln {
void registerNormalizationReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerNormalizationReferences(ReferenceTable &table) {
  table.add<StandardizeOp>(rowNorm<StandardizeOp>);
  table.add<RmsNormalizeOp>(rowNorm<RmsNormalizeOp>);
}
