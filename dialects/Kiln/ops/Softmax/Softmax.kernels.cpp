//===- Softmax.kernels.cpp - Softmax and its logarithm, kernels -----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Softmax/Softmax.h"
#include "kiln/Codegen/Fold.h"
#include "kiln/Codegen/Num.h"
#include "kiln/Codegen/Rows.h"

using namespace mlir;
using namespace kiln;

/// Three passes: maximum, sum of exponentials, result. What is dear to compute
/// again is left in memory: the operand unless it lies there, and for softmax
/// the exponentials.
template <typename OpTy> static LogicalResult softmax(KernelBuilder &k, Operation *anchor) {
  constexpr bool isLog = std::is_same_v<OpTy, LogSoftmaxOp>;
  auto op = cast<OpTy>(anchor);
  Type type = elementTypeOf(op.getX());
  Type wide = type.getIntOrFloatBitWidth() < 32 ? k.b.getF32Type() : type;
  SmallVector<bool> along(rankOf(op.getX()), false);
  along[op.getAxis()] = true;
  Rows rows(k, anchor, along);
  Fold most(k, FoldKind::Max, type), sum(k, FoldKind::Sum, type);
  bool inMemory = rows.operandInMemory();
  if (!isLog || !inMemory)
    rows.addStage(wide);
  auto num = [&](Value value) { return Num(k.b, k.loc, value); };
  auto less = [&](ElementBuilder &e, Value x, Value shift) {
    Value pair[] = {x, shift};
    e.unify(pair);
    return num(pair[0]) - num(pair[1]);
  };

  rows.forEach(/*picosecondsPerElement=*/isLog ? 800 : 900, /*unroll=*/1, [&](Row &row) {
    auto operand = [&](ElementBuilder &e, const Row::At &at) {
      return inMemory ? row.wideOperand(e, at) : row.staged(e, at);
    };
    Value shift = row.reduce(
        most.identity(),
        [&](ElementBuilder &e, const Row::At &at, ValueRange carried) {
          Value x = row.wideOperand(e, at);
          if (!inMemory)
            row.stage(e, at, x);
          return Values{most.add(e, carried[0], x)};
        },
        [&](ValueRange a, ValueRange b) { return Values{most.join(a[0], b[0])}; })[0];
    Value total = row.reduce(
        sum.identity(),
        [&](ElementBuilder &e, const Row::At &at, ValueRange carried) {
          Value power = less(e, operand(e, at), shift).template apply<math::ExpOp>().value;
          if (!isLog)
            row.stage(e, at, power);
          return Values{sum.add(e, carried[0], power)};
        },
        [&](ValueRange a, ValueRange b) { return Values{sum.join(a[0], b[0])}; })[0];
    Value scale = isLog ? num(total).template apply<math::LogOp>().value : (1.0 / num(total)).value;
    row.each([&](ElementBuilder &e, const Row::At &at) {
      Num y = num(scale);
      if (isLog) {
        y = less(e, less(e, operand(e, at), shift).value, scale);
      } else {
        Value pair[] = {row.staged(e, at), scale};
        e.unify(pair);
        y = num(pair[0]) * num(pair[1]);
      }
      row.store(e, at, e.narrow(y.value, type));
    });
  });
  return success();
}

namespace kiln {
void registerSoftmaxKernels(KernelTable &table);
} // namespace kiln

void kiln::registerSoftmaxKernels(KernelTable &table) {
  table.addAnchor<SoftmaxOp>("softmax", softmax<SoftmaxOp>, /*pullsOperands=*/true,
                             /*takesEpilogue=*/true);
  table.addAnchor<LogSoftmaxOp>("softmax", softmax<LogSoftmaxOp>, /*pullsOperands=*/true,
                                /*takesEpilogue=*/true);
}
