//===- Reduce.kernels.cpp - Folding axes, kernels -------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Reduce/Reduce.h"
#include "kiln/Codegen/Fold.h"
#include "kiln/Codegen/Rows.h"

using namespace mlir;
using namespace kiln;

/// The quotient of a sum and the row's length.
static Value meanOf(ElementBuilder &e, Value sum, Value count, Type type) {
  if (isa<FloatType>(type)) {
    Value pair[] = {sum, e.fromIndex(count, getElementTypeOrSelf(sum))};
    e.unify(pair);
    return arith::DivFOp::create(e.b, e.loc, pair[0], pair[1]);
  }
  Value one = e.index(1);
  Value divisor = arith::MaxSIOp::create(e.b, e.loc, count, one);
  Value pair[] = {sum, e.fromIndex(divisor, type)};
  e.unify(pair);
  if (isUnsigned(type))
    return arith::DivUIOp::create(e.b, e.loc, pair[0], pair[1]);
  return arith::DivSIOp::create(e.b, e.loc, pair[0], pair[1]);
}

template <typename OpTy, FoldKind kind, bool isMean = false>
static LogicalResult reduce(KernelBuilder &k, Operation *anchor) {
  Type type = elementTypeOf(anchor->getOperand(0));
  SmallVector<bool> along(rankOf(anchor->getOperand(0)), false);
  for (int64_t axis : cast<OpTy>(anchor).getAxes())
    along[axis] = true;
  Rows rows(k, anchor, along);
  Fold fold(k, kind, type);
  Value count = k.size(rows.length());
  rows.forEach(/*picosecondsPerElement=*/60, /*unroll=*/4, [&](Row &row) {
    Values total = row.reduce(
        fold.identity(),
        [&](ElementBuilder &e, const Row::At &at, ValueRange carried) {
          return Values{fold.add(e, carried[0], row.wideOperand(e, at))};
        },
        [&](ValueRange a, ValueRange b) { return Values{fold.join(a[0], b[0])}; });
    ElementBuilder e = row.builder();
    if (isMean)
      total[0] = meanOf(e, total[0], count, type);
    row.storeReduced(e.narrow(total[0], type));
  });
  return success();
}

namespace kiln {
void registerReduceKernels(KernelTable &table);
} // namespace kiln

void kiln::registerReduceKernels(KernelTable &table) {
  constexpr bool pulls = true, epilogue = true;
  table.addAnchor<ReduceSumOp>("reduce", reduce<ReduceSumOp, FoldKind::Sum>, pulls, epilogue);
  table.addAnchor<ReduceProdOp>("reduce", reduce<ReduceProdOp, FoldKind::Prod>, pulls, epilogue);
  table.addAnchor<ReduceMaxOp>("reduce", reduce<ReduceMaxOp, FoldKind::Max>, pulls, epilogue);
  table.addAnchor<ReduceMinOp>("reduce", reduce<ReduceMinOp, FoldKind::Min>, pulls, epilogue);
  table.addAnchor<ReduceMeanOp>("reduce", reduce<ReduceMeanOp, FoldKind::Sum, true>, pulls,
                                epilogue);
}
