//===- Select.kernels.cpp - Choice between two tensors, kernels -----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Select/Select.h"
#include "kiln/Codegen/KernelTable.h"

using namespace mlir;
using namespace kiln;

static Value select(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  Shape shape = shapeOf(op->getResult(0));
  Value parts[3];
  for (auto [part, operand] : llvm::zip_equal(parts, op->getOperands()))
    part = e.broadcastElement(operand, index, shape);
  return e.select(parts[0], parts[1], parts[2]);
}

namespace kiln {
void registerSelectKernels(KernelTable &table);
} // namespace kiln

void kiln::registerSelectKernels(KernelTable &table) { table.addPointwise<SelectOp>(select); }
