//===- Trilu.kernels.cpp - Triangles of matrices, kernels -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Trilu/Trilu.h"
#include "kiln/Codegen/KernelTable.h"

using namespace mlir;
using namespace kiln;

static Value trilu(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  auto trilu = ::cast<TriluOp>(op);
  Value x = trilu.getX(), row = index[index.size() - 2], column = index.back();
  row = e.isConsecutive(row) ? e.scattered(row) : row;
  Value diagonal = e.sub(e.isConsecutive(column) ? e.scattered(column) : column, row);
  Value kept = e.compare(trilu.getUpper() ? arith::CmpIPredicate::sge : arith::CmpIPredicate::sle,
                         diagonal, e.size(exprsOf(trilu.getK())[0]));
  return e.select(kept, e.element(x, index), e.constant(elementTypeOf(x), 0));
}

namespace kiln {
void registerTriluKernels(KernelTable &table);
} // namespace kiln

void kiln::registerTriluKernels(KernelTable &table) { table.addElement<TriluOp>(trilu); }
