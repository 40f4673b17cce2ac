//===- TopK.import.cpp - Largest and smallest elements, import ------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/TopK/TopK.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

/// K is an attribute before opset 10; the order is a choice since 11.
static FailureOr<SmallVector<Value>> importTopK(NodeImporter &n) {
  Value x = n.input(0);
  int64_t asked = n.intAttr("axis", -1);
  auto axis = normalizeAxis(asked, rankOf(x));
  if (!axis)
    return n.invalid("axis " + Twine(asked) + " is out of range for rank " + Twine(rankOf(x)));
  Expr k = n.intAttr("k", 0);
  if (n.sinceVersion() >= 10) {
    auto given = n.exprs(1);
    if (failed(given))
      return failure();
    if (given->size() != 1)
      return n.invalid("K is not one number");
    k = given->front();
  }
  Expr dim = shapeOf(x)[static_cast<size_t>(*axis)];
  if (k.constant() && (*k.constant() < 0 || (dim.constant() && *k.constant() > *dim.constant())))
    return n.invalid("K is " + k.str() + " for a dimension of " + dim.str());
  n.requireAtMost(0, k, "K is not negative");
  n.requireAtMost(k, dim, "K is at most the dimension");
  auto op = tryBuild<TopKOp>(n.b, n.loc, x,
                             {n.attr("axis", *axis), n.exprsNamed("k", {k}),
                              n.boolNamed("largest", n.intAttr("largest", 1) != 0)});
  if (failed(op))
    return failure();
  return SmallVector<Value>{op->getValues(), op->getIndices()};
}

namespace kiln {
void registerTopKImporters(ImportTable &table);
} // namespace kiln

void kiln::registerTopKImporters(ImportTable &table) { table.add("TopK", 1, importTopK); }
