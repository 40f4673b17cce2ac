//===- Cast.kernels.cpp - Conversion of element types, kernels ------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Cast/Cast.h"
#include "kiln/Codegen/KernelTable.h"

using namespace mlir;
using namespace kiln;

static Value cast(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  Value x = op->getOperand(0);
  return e.convert(e.element(x, index), elementTypeOf(x), elementTypeOf(op->getResult(0)),
                   llvm::cast<CastOp>(op).getSaturate());
}

namespace kiln {
void registerCastKernels(KernelTable &table);
} // namespace kiln

void kiln::registerCastKernels(KernelTable &table) { table.addPointwise<CastOp>(cast); }
