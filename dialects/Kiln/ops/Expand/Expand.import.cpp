//===- Expand.import.cpp - Repeated elements, import ----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Expand/Expand.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

/// The shape operand broadcasts against x both ways: it may hold 1 or have a
/// lower rank where x decides.
static FailureOr<SmallVector<Value>> importExpand(NodeImporter &n) {
  auto asked = n.exprs(1);
  if (failed(asked))
    return failure();
  Shape from = shapeOf(n.input(0));
  for (const Expr &dim : *asked) {
    if (dim.constant().value_or(0) < 0)
      return n.invalid("shape has the negative size " + dim.str());
    n.requireAtMost(0, dim, "sizes of Expand are not negative");
  }
  auto shape = broadcastShapes(from, *asked);
  if (failed(shape))
    return n.invalid("the input's shape does not broadcast to the one asked for");
  for (auto [have, want] : llvm::zip(llvm::reverse(from), llvm::reverse(*asked)))
    n.require(have, want, "Expand's sizes are equal or 1", Relation::Broadcast);
  return SmallVector<Value>{n.broadcastTo(n.input(0), *shape)};
}

static FailureOr<SmallVector<Value>> importTile(NodeImporter &n) {
  auto repeats = n.exprs(1);
  if (failed(repeats))
    return failure();
  if (static_cast<int64_t>(repeats->size()) != rankOf(n.input(0)))
    return n.invalid("repeats has " + Twine(repeats->size()) + " elements for rank " +
                     Twine(rankOf(n.input(0))));
  for (const Expr &count : *repeats)
    n.requireAtMost(0, count, "Tile's repeats are not negative");
  return SmallVector<Value>{n.create<TileOp>({n.input(0)}, {n.exprsNamed("repeats", *repeats)})};
}

namespace kiln {
void registerExpandImporters(ImportTable &table);
} // namespace kiln

void kiln::registerExpandImporters(ImportTable &table) {
  table.add("Expand", 8, importExpand);
  table.add("Tile", 6, importTile);
}
