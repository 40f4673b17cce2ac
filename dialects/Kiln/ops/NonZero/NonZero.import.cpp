//===- NonZero.import.cpp - Places of elements other than zero, import ----===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/NonZero/NonZero.h"
#include "dialects/Kiln/ops/Gather/Gather.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

/// How many there are is known for constants, else counted by the run.
static FailureOr<Value> makeNonZero(NodeImporter &n, Value x) {
  Expr count = 0;
  if (auto known = n.constantFloats(x)) {
    count = static_cast<int64_t>(llvm::count_if(*known, [](double value) { return value != 0; }));
  } else {
    Value counted = n.create<CountNonZeroOp>({x});
    if (!counted)
      return failure();
    count = n.bindSizes(counted, "nonzero", "number of elements other than 0").front();
  }
  return n.create<NonZeroOp>({x}, {n.exprsNamed("count", {count})});
}

static FailureOr<SmallVector<Value>> importNonZero(NodeImporter &n) {
  auto y = makeNonZero(n, n.input(0));
  if (failed(y))
    return failure();
  return SmallVector<Value>{*y};
}

/// Gathers at the places where the condition holds.
static FailureOr<SmallVector<Value>> importCompress(NodeImporter &n) {
  Value x = n.input(0), condition = n.input(1);
  if (rankOf(condition) != 1)
    return n.invalid("condition has rank " + Twine(rankOf(condition)) + ", not 1");
  auto axis = normalizeAxis(n.intAttr("axis", 0), std::max<int64_t>(rankOf(x), 1));
  if (!axis)
    return n.invalid("axis " + Twine(n.intAttr("axis", 0)) + " is out of range for rank " +
                     Twine(rankOf(x)));
  if (!n.intAttr("axis"))
    x = n.reshape(x, {elementCount(shapeOf(x))});
  // What lies beyond the shorter of the two is left out.
  Expr length = Expr::min(shapeOf(condition)[0], shapeOf(x)[static_cast<size_t>(*axis)]);
  auto places = makeNonZero(n, n.slice(condition, {0}, {length}));
  if (failed(places) || !*places)
    return failure();
  Value indices = n.reshape(*places, {shapeOf(*places)[1]});
  return SmallVector<Value>{n.create<GatherOp>({x, indices}, {n.attr("axis", *axis)})};
}

namespace kiln {
void registerNonZeroImporters(ImportTable &table);
} // namespace kiln

void kiln::registerNonZeroImporters(ImportTable &table) {
  table.add("NonZero", 9, importNonZero);
  table.add("Compress", 9, importCompress);
}
