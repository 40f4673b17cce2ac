//===- ArgReduce.reference.cpp - Where the extreme element is, reference --===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ArgReduce/ArgReduce.h"
#include "kiln/Reference/ReferenceTable.h"
#include "kiln/Reference/Walk.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

/// Whether element a must be preferred to element b.
static bool isBetter(const TensorData &x, int64_t a, int64_t b, bool largest) {
  Type type = x.elementType();
  if (!isa<FloatType>(type)) {
    if (type.isUnsignedInteger()) {
      auto ua = static_cast<uint64_t>(x.getInt(a)), ub = static_cast<uint64_t>(x.getInt(b));
      return largest ? ua > ub : ua < ub;
    }
    return largest ? x.getInt(a) > x.getInt(b) : x.getInt(a) < x.getInt(b);
  }
  double va = x.getFloat(a), vb = x.getFloat(b);
  if (std::isnan(va) || std::isnan(vb))
    return std::isnan(va) && !std::isnan(vb);
  return largest ? va > vb : va < vb;
}

static int64_t best(const TensorData &x, const Line &line, bool largest, bool last) {
  int64_t found = 0;
  for (int64_t i = 1; i < line.length; ++i) {
    int64_t here = line.at(i), there = line.at(found);
    if (last ? !isBetter(x, there, here, largest) : isBetter(x, here, there, largest))
      found = i;
  }
  return found;
}

template <typename OpTy, bool largest>
static LogicalResult arg(Operation *op, ArrayRef<TensorData> operands,
                         MutableArrayRef<TensorData> results) {
  auto node = cast<OpTy>(op);
  int64_t next = 0;
  forEachLine(operands[0].shape(), static_cast<int64_t>(node.getAxis()), [&](const Line &line) {
    results[0].setInt(next++, best(operands[0], line, largest, node.getSelectLast()));
  });
  return success();
}

static LogicalResult hardmax(Operation *op, ArrayRef<TensorData> operands,
                             MutableArrayRef<TensorData> results) {
  int64_t axis = static_cast<int64_t>(cast<HardmaxOp>(op).getAxis());
  forEachLine(operands[0].shape(), axis, [&](const Line &line) {
    if (line.length)
      results[0].setFloat(line.at(best(operands[0], line, /*largest=*/true, /*last=*/false)), 1);
  });
  return success();
}

namespace kiln {
void registerArgReduceReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerArgReduceReferences(ReferenceTable &table) {
  table.add<ArgMaxOp>(arg<ArgMaxOp, true>);
  table.add<ArgMinOp>(arg<ArgMinOp, false>);
  table.add<HardmaxOp>(hardmax);
}
