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

template <typename OpTy> static FailureOr<SmallVector<Value>> importCumulative(NodeImporter &n) {
  auto given = n.constantInts(n.input(1));
  if (!given)
    return n.refuse("axis is computed at run time", "a constant axis");
  if (given->size() != 1)
    return n.invalid("axis has " + Twine(given->size()) + " elements, expected one");
  int64_t rank = rankOf(n.input(0));
  auto axis = normalizeAxis(given->front(), rank);
  if (!axis)
    return n.invalid("axis " + Twine(given->front()) + " is out of range for rank " + Twine(rank));
  return SmallVector<Value>{
      n.create<OpTy>({n.input(0)}, {n.attr("axis", *axis),
                                    n.boolNamed("exclusive", n.intAttr("exclusive", 0) != 0),
                                    n.boolNamed("reverse", n.intAttr("reverse", 0) != 0)})};
}

namespace kiln {
void registerCumulativeImporters(ImportTable &table);
} // namespace kiln

void kiln::registerCumulativeImporters(ImportTable &table) {
  table.add("CumSum", 11, importCumulative<CumSumOp>);
  table.add("CumProd", 26, importCumulative<CumProdOp>);
}
