//===- Normalization.kernels.cpp - Standardised rows, kernels -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Normalization/Normalization.h"
#include "kiln/Codegen/Fold.h"
#include "kiln/Codegen/Num.h"
#include "kiln/Codegen/Rows.h"

using namespace mlir;
using namespace kiln;

/// Mean, then the variance from deviations (a sum of squares less a square
/// would cancel), then the result. An operand that does not lie in memory is
/// left there by the first pass.
template <typename OpTy> static LogicalResult rowNorm(KernelBuilder &k, Operation *anchor) {
  constexpr bool centred = std::is_same_v<OpTy, StandardizeOp>;
  auto op = cast<OpTy>(anchor);
  Type type = elementTypeOf(op.getX());
  Type wide = type.getIntOrFloatBitWidth() < 32 ? k.b.getF32Type() : type;
  SmallVector<bool> along(rankOf(op.getX()), false);
  std::fill(along.begin() + static_cast<int64_t>(op.getAxis()), along.end(), true);
  Rows rows(k, anchor, along, Rows::Result::Whole);
  bool inMemory = rows.operandInMemory();
  if (!inMemory)
    rows.addStage(wide);
  Fold sum(k, FoldKind::Sum, type);
  auto join = [&](ValueRange a, ValueRange b) { return Values{sum.join(a[0], b[0])}; };
  auto num = [&](Value value) { return Num(k.b, k.loc, value); };
  Num count = num(k.elements().fromIndex(k.size(rows.length()), wide));

  rows.forEach(/*picosecondsPerElement=*/250, /*unroll=*/1, [&](Row &row) {
    bool first = true;
    // The operand's element; the first pass over the row leaves it in memory.
    auto operand = [&](ElementBuilder &e, const Row::At &at) {
      if (!inMemory && !first)
        return row.staged(e, at);
      Value x = row.wideOperand(e, at);
      if (!inMemory)
        row.stage(e, at, x);
      return x;
    };
    Value mean;
    auto deviation = [&](ElementBuilder &e, const Row::At &at) {
      Value pair[] = {operand(e, at), mean};
      if (!centred)
        return num(pair[0]);
      e.unify(pair);
      return num(pair[0]) - num(pair[1]);
    };
    // Rows side by side have a vector of results.
    auto average = [&](Value total) {
      ElementBuilder e = row.builder();
      Value pair[] = {total, count.value};
      e.unify(pair);
      return num(pair[0]) / num(pair[1]);
    };
    if (centred) {
      Value total = row.reduce(
          sum.identity(),
          [&](ElementBuilder &e, const Row::At &at, ValueRange carried) {
            return Values{sum.add(e, carried[0], operand(e, at))};
          },
          join)[0];
      mean = average(total).value;
      first = false;
    }
    Value squares = row.reduce(
        sum.identity(),
        [&](ElementBuilder &e, const Row::At &at, ValueRange carried) {
          Num d = deviation(e, at);
          return Values{sum.add(e, carried[0], (d * d).value)};
        },
        join)[0];
    first = false;
    Num spread = average(squares) + op.getEpsilon().convertToDouble();
    Num scale = 1.0 / spread.apply<math::SqrtOp>();
    row.each([&](ElementBuilder &e, const Row::At &at) {
      Value pair[] = {deviation(e, at).value, scale.value};
      e.unify(pair);
      row.store(e, at, e.narrow((num(pair[0]) * num(pair[1])).value, type));
    });
  });
  return success();
}

namespace kiln {
void registerNormalizationKernels(KernelTable &table);
} // namespace kiln

void kiln::registerNormalizationKernels(KernelTable &table) {
  table.addAnchor<StandardizeOp>("row-norm", rowNorm<StandardizeOp>, /*pullsOperands=*/true,
                                 /*takesEpilogue=*/true);
  table.addAnchor<RmsNormalizeOp>("row-norm", rowNorm<RmsNormalizeOp>, /*pullsOperands=*/true,
                                  /*takesEpilogue=*/true);
  table.setFinishesRows<StandardizeOp>();
  table.setFinishesRows<RmsNormalizeOp>();
}
