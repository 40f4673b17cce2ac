//===- Slice.kernels.cpp - Parts of tensors, kernels ----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Slice/Slice.h"
#include "kiln/Codegen/KernelTable.h"

using namespace mlir;
using namespace kiln;

static Value slice(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  auto slice = ::cast<SliceOp>(op);
  Index at(index);
  for (auto [i, start, step] :
       llvm::zip_equal(at, exprsOf(slice.getStarts()), exprsOf(slice.getSteps()))) {
    if (!step.isConstant(1))
      i = e.mul(e.isConsecutive(i) ? e.scattered(i) : i, e.size(step));
    i = e.add(i, e.size(start));
  }
  return e.element(slice.getX(), at);
}

namespace kiln {
void registerSliceKernels(KernelTable &table);
} // namespace kiln

void kiln::registerSliceKernels(KernelTable &table) { table.addElement<SliceOp>(slice); }
