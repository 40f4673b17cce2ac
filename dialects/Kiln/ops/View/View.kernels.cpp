//===- View.kernels.cpp - Ops that only rename elements, kernels ----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/View/View.h"
#include "kiln/Codegen/KernelTable.h"

using namespace mlir;
using namespace kiln;

static Value reshape(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  Value x = op->getOperand(0);
  SmallVector<Value> from, to;
  for (const Expr &dim : shapeOf(op->getResult(0)))
    to.push_back(e.size(dim));
  for (const Expr &dim : shapeOf(x))
    from.push_back(e.size(dim));
  return e.element(x, e.delinearize(e.linearize(index, to), from));
}

namespace kiln {
void registerViewKernels(KernelTable &table);
} // namespace kiln

void kiln::registerViewKernels(KernelTable &table) { table.addElement<ReshapeOp>(reshape); }
