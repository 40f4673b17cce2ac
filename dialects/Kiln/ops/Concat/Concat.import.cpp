//===- Concat.import.cpp - Joined tensors, import -------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Concat/Concat.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

static FailureOr<SmallVector<Value>> importConcat(NodeImporter &n) {
  SmallVector<Value> xs;
  for (unsigned i = 0; i < n.numInputs(); ++i)
    xs.push_back(n.input(i));
  int64_t rank = rankOf(xs[0]), asked = n.intAttr("axis", 1);
  auto axis = normalizeAxis(asked, rank);
  if (!axis)
    return n.invalid("axis " + Twine(asked) + " is out of range for rank " + Twine(rank));
  Shape first = shapeOf(xs[0]);
  for (Value x : ArrayRef(xs).drop_front()) {
    if (rankOf(x) != rank)
      return n.invalid("inputs of rank " + Twine(rank) + " and " + Twine(rankOf(x)));
    for (auto [i, dim] : llvm::enumerate(shapeOf(x)))
      if (static_cast<int64_t>(i) != *axis)
        n.require(first[i], dim, "inputs of Concat agree in dimension " + Twine(i));
  }
  return SmallVector<Value>{xs.size() == 1 ? xs[0]
                                           : n.create<ConcatOp>(xs, {n.attr("axis", *axis)})};
}

namespace kiln {
void registerConcatImporters(ImportTable &table);
} // namespace kiln

void kiln::registerConcatImporters(ImportTable &table) { table.add("Concat", 1, importConcat); }
