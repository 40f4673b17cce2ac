//===- OneHot.kernels.cpp - Indices as vectors of two values, kernels -----===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/OneHot/OneHot.h"
#include "kiln/Codegen/KernelTable.h"

using namespace mlir;
using namespace kiln;

static Value oneHot(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  auto oneHot = ::cast<OneHotOp>(op);
  Value indices = oneHot.getIndices(), values = oneHot.getValues();
  size_t axis = oneHot.getAxis();
  Index at(index);
  at.erase(at.begin() + static_cast<ptrdiff_t>(axis));
  Value place = e.toIndex(e.element(indices, at), elementTypeOf(indices));
  Value negative = e.compare(arith::CmpIPredicate::slt, place, e.index(0));
  place = e.selectIndex(negative, e.add(place, e.size(exprsOf(oneHot.getDepth())[0])), place);
  return e.select(e.compare(arith::CmpIPredicate::eq, place, index[axis]),
                  e.element(values, e.index(1)), e.element(values, e.index(0)));
}

namespace kiln {
void registerOneHotKernels(KernelTable &table);
} // namespace kiln

void kiln::registerOneHotKernels(KernelTable &table) {
  table.addElement<OneHotOp>(oneHot, Reads::Often);
}
