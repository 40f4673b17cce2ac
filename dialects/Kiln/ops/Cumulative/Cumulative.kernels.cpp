//===- Cumulative.kernels.cpp - Running sums and products, kernels --------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Cumulative/Cumulative.h"
#include "kiln/Codegen/Fold.h"
#include "kiln/Codegen/Rows.h"

using namespace mlir;
using namespace kiln;

/// One element after the other: the carried value is a double, which hides
/// that a long chain of additions cannot be reordered.
template <typename OpTy, FoldKind kind>
static LogicalResult cumulate(KernelBuilder &k, Operation *anchor) {
  auto op = cast<OpTy>(anchor);
  Type type = elementTypeOf(op.getX()), wide = isa<FloatType>(type) ? k.b.getF64Type() : type;
  SmallVector<bool> along(rankOf(op.getX()), false);
  along[op.getAxis()] = true;
  Rows rows(k, anchor, along);
  Fold fold(k, kind, wide);
  rows.forEach(/*picosecondsPerElement=*/1200, /*unroll=*/4, [&](Row &row) {
    row.scan(op.getReverse(), fold.identity(),
             [&](ElementBuilder &e, const Row::At &at, ValueRange carried) {
               Value x = e.convert(row.operand(e, at), type, wide);
               Value next = fold.add(e, carried[0], x);
               row.store(e, at, e.convert(op.getExclusive() ? carried[0] : next, wide, type));
               return Values{next};
             });
  });
  return success();
}

namespace kiln {
void registerCumulativeKernels(KernelTable &table);
} // namespace kiln

void kiln::registerCumulativeKernels(KernelTable &table) {
  table.addAnchor<CumSumOp>("cumulative", cumulate<CumSumOp, FoldKind::Sum>, true, true);
  table.addAnchor<CumProdOp>("cumulative", cumulate<CumProdOp, FoldKind::Prod>, true, true);
}
