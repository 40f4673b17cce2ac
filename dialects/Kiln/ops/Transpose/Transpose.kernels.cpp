//===- Transpose.kernels.cpp - Permutation of axes, kernels ---------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Transpose/Transpose.h"
#include "kiln/Codegen/KernelTable.h"

using namespace mlir;
using namespace kiln;

static Value transpose(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  Index source(index.size());
  for (auto [i, axis] : llvm::enumerate(::cast<TransposeOp>(op).getPermutation()))
    source[axis] = index[i];
  return e.element(op->getOperand(0), source);
}

namespace kiln {
void registerTransposeKernels(KernelTable &table);
} // namespace kiln

void kiln::registerTransposeKernels(KernelTable &table) {
  table.addElement<TransposeOp>(transpose);
}
