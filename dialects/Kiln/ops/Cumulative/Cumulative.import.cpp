//===- Cumulative.import.cpp - Running sums and products, import ----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Cumulative/Cumulative.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

/// Shape [before, along, after] with the axis in the middle, whichever it is.
static Shape aroundAxis(ArrayRef<Expr> shape, const Expr &axis) {
  Shape three{1, 0, 1};
  for (auto [i, dim] : llvm::enumerate(shape)) {
    Expr distance = axis - Expr(static_cast<int64_t>(i));
    Expr before = Expr::min(Expr::max(distance, 0), 1),
         after = Expr::min(Expr::max(Expr(0) - distance, 0), 1);
    three[0] = three[0] * (Expr(1) + before * (dim - Expr(1)));
    three[1] = three[1] + dim * (Expr(1) - before - after);
    three[2] = three[2] * (Expr(1) + after * (dim - Expr(1)));
  }
  return three;
}

template <typename OpTy> static FailureOr<SmallVector<Value>> importCumulative(NodeImporter &n) {
  auto given = n.exprs(1);
  if (failed(given))
    return failure();
  if (given->size() != 1)
    return n.invalid("axis has " + Twine(given->size()) + " elements, expected one");
  Value x = n.input(0);
  Shape shape = shapeOf(x);
  auto rank = static_cast<int64_t>(shape.size());
  Expr axis = given->front();
  auto along = [&](Value value, int64_t at) {
    return n.create<OpTy>({value}, {n.attr("axis", at),
                                    n.boolNamed("exclusive", n.intAttr("exclusive", 0) != 0),
                                    n.boolNamed("reverse", n.intAttr("reverse", 0) != 0)});
  };
  if (auto known = axis.constant()) {
    auto at = normalizeAxis(*known, rank);
    if (!at)
      return n.invalid("axis " + Twine(*known) + " is out of range for rank " + Twine(rank));
    return SmallVector<Value>{along(x, *at)};
  }
  if (rank == 0)
    return n.invalid("input has rank 0");
  n.requireAtMost(axis, rank - 1, "axis is below the rank");
  n.requireAtMost(-rank, axis, "axis is not below the negative rank");
  if (rank == 1)
    return SmallVector<Value>{along(x, 0)};
  Value three = n.reshape(x, aroundAxis(shape, Expr::mod(axis, rank)));
  return SmallVector<Value>{n.reshape(along(three, 1), shape)};
}

namespace kiln {
void registerCumulativeImporters(ImportTable &table);
} // namespace kiln

void kiln::registerCumulativeImporters(ImportTable &table) {
  table.add("CumSum", 11, importCumulative<CumSumOp>);
  table.add("CumProd", 26, importCumulative<CumProdOp>);
}
