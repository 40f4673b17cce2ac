//===- Select.import.cpp - Choice between two tensors, import -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Select/Select.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

static FailureOr<SmallVector<Value>> importWhere(NodeImporter &n) {
  Shape shapes[] = {shapeOf(n.input(0)), shapeOf(n.input(1)), shapeOf(n.input(2))};
  for (auto [i, j] : {std::pair(0, 1), std::pair(0, 2), std::pair(1, 2)})
    for (auto [a, b] : llvm::zip(llvm::reverse(shapes[i]), llvm::reverse(shapes[j])))
      n.require(a, b, "sizes of Where's inputs are equal or 1", Relation::Broadcast);
  return SmallVector<Value>{n.create<SelectOp>({n.input(0), n.input(1), n.input(2)})};
}

namespace kiln {
void registerSelectImporters(ImportTable &table);
} // namespace kiln

void kiln::registerSelectImporters(ImportTable &table) { table.add("Where", 9, importWhere); }
