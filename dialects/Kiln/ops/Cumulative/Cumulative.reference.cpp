//===- Cumulative.reference.cpp - Running sums and products, reference ----===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Cumulative/Cumulative.h"
#include "kiln/Reference/ReferenceTable.h"
#include "kiln/Reference/Walk.h"

using namespace mlir;
using namespace kiln;

template <typename OpTy>
static LogicalResult cumulate(Operation *op, ArrayRef<TensorData> operands,
                              MutableArrayRef<TensorData> results) {
  constexpr bool isSum = std::is_same_v<OpTy, CumSumOp>;
  auto node = cast<OpTy>(op);
  const TensorData &x = operands[0];
  TensorData &y = results[0];
  bool isFloat = isa<FloatType>(x.elementType());
  forEachLine(x.shape(), static_cast<int64_t>(node.getAxis()), [&](const Line &line) {
    double real = isSum ? 0 : 1;
    uint64_t integer = isSum ? 0 : 1;
    for (int64_t i = 0; i < line.length; ++i) {
      int64_t at = line.at(node.getReverse() ? line.length - 1 - i : i);
      auto store = [&] { isFloat ? y.setFloat(at, real) : y.setInt(at, int64_t(integer)); };
      if (node.getExclusive())
        store();
      if (isFloat)
        real = isSum ? real + x.getFloat(at) : real * x.getFloat(at);
      else
        integer = isSum ? integer + uint64_t(x.getInt(at)) : integer * uint64_t(x.getInt(at));
      if (!node.getExclusive())
        store();
    }
  });
  return success();
}

namespace kiln {
void registerCumulativeReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerCumulativeReferences(ReferenceTable &table) {
  table.add<CumSumOp>(cumulate<CumSumOp>);
  table.add<CumProdOp>(cumulate<CumProdOp>);
}
