//===- Expand.kernels.cpp - Repeated elements, kernels --------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Expand/Expand.h"
#include "kiln/Codegen/KernelTable.h"

using namespace mlir;
using namespace kiln;

static Value broadcastTo(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  return e.broadcastElement(op->getOperand(0), index, shapeOf(op->getResult(0)));
}

static Value tile(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  auto tile = ::cast<TileOp>(op);
  Index at(index);
  for (auto [i, size, count] :
       llvm::zip_equal(at, shapeOf(tile.getX()), exprsOf(tile.getRepeats()))) {
    if (size.isConstant(1))
      i = e.index(0);
    else if (!count.isConstant(1))
      i = e.rem(e.isConsecutive(i) ? e.scattered(i) : i, e.size(size));
  }
  return e.element(tile.getX(), at);
}

namespace kiln {
void registerExpandKernels(KernelTable &table);
} // namespace kiln

void kiln::registerExpandKernels(KernelTable &table) {
  table.addElement<BroadcastToOp>(broadcastTo, Reads::Often);
  table.addElement<TileOp>(tile, Reads::Often);
}
