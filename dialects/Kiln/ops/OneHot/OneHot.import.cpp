//===- OneHot.import.cpp - Indices as vectors of two values, import -------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/OneHot/OneHot.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

/// The depth may be of any numeric type.
static FailureOr<Expr> depthOf(NodeImporter &n) {
  Value depth = n.oneElement(n.input(1), "depth");
  if (!depth)
    return failure();
  if (!isa<FloatType>(elementTypeOf(depth))) {
    auto numbers = n.exprs(1);
    if (failed(numbers))
      return failure();
    return numbers->front();
  }
  if (auto known = n.constantFloats(depth))
    return Expr(static_cast<int64_t>(known->front()));
  return n.bind(n.cast(depth, n.b.getI64Type()), "depth").front();
}

static FailureOr<SmallVector<Value>> importOneHot(NodeImporter &n) {
  auto depth = depthOf(n);
  if (failed(depth))
    return failure();
  int64_t rank = rankOf(n.input(0)) + 1, asked = n.intAttr("axis", -1);
  auto axis = normalizeAxis(asked, rank);
  if (!axis)
    return n.invalid("axis " + Twine(asked) + " is out of range for rank " + Twine(rank));
  n.requireAtMost(0, *depth, "OneHot's depth is not negative");
  Value indices = n.input(0);
  if (!elementTypeOf(indices).isSignlessInteger(32))
    indices = n.cast(indices, n.b.getI64Type());
  // A length that only the run knows is checked there.
  Value values = n.input(2);
  if (Shape length = shapeOf(values); length.size() == 1 && !length[0].constant()) {
    n.require(length[0], 2, "OneHot's values are [off, on]");
    values = n.reshape(values, {Expr(2)});
  }
  return SmallVector<Value>{n.create<OneHotOp>(
      {indices, values}, {n.exprsNamed("depth", {*depth}), n.attr("axis", *axis)})};
}

namespace kiln {
void registerOneHotImporters(ImportTable &table);
} // namespace kiln

void kiln::registerOneHotImporters(ImportTable &table) { table.add("OneHot", 9, importOneHot); }
