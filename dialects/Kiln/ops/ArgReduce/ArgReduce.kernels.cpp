//===- ArgReduce.kernels.cpp - Where the extreme element is, kernels ------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ArgReduce/ArgReduce.h"
#include "kiln/Codegen/Fold.h"
#include "kiln/Codegen/Num.h"
#include "kiln/Codegen/Rows.h"

using namespace mlir;
using namespace kiln;

namespace {
/// Folds pairs of an element and its number. The start (the worst element,
/// number 0) may stay only where all elements are equal to it: then 0 is right,
/// or a later number wins.
class Best {
public:
  Best(KernelBuilder &k, Type type, bool largest, bool last)
      : k(k), type(type), largest(largest), last(last) {}

  Values identity() {
    Fold fold(k, largest ? FoldKind::Max : FoldKind::Min, type);
    ElementBuilder e = k.elements();
    return {fold.identity(), e.intConstant(k.b.getI64Type(), 0)};
  }

  Values step(ElementBuilder &e, Row &row, const Row::At &at, ValueRange carried) {
    Value all[] = {row.wideOperand(e, at), e.fromIndex(row.number(e, at), k.b.getI64Type()),
                   carried[0], carried[1]};
    e.unify(all);
    Num x = num(all[0]), number = num(all[1]), old = num(all[2]), oldNumber = num(all[3]);
    // Numbers grow, so ties need no look at them.
    Num take = last ? ~better(old, x) : better(x, old);
    return {take.select(x, old).value, take.select(number, oldNumber).value};
  }

  Values join(ValueRange a, ValueRange b) {
    Num x = num(a[0]), xNumber = num(a[1]), y = num(b[0]), yNumber = num(b[1]);
    Num wins = last ? xNumber < yNumber : yNumber < xNumber;
    Num take = better(y, x) | (~better(x, y) & wins);
    return {take.select(y, x).value, take.select(yNumber, xNumber).value};
  }

private:
  Num num(Value value) { return Num(k.b, k.loc, value); }

  Num better(const Num &a, const Num &b) {
    if (isa<FloatType>(type))
      return (largest ? a > b : a < b) | (a.isNan() & ~b.isNan());
    if (isUnsigned(type))
      return largest ? b.below(a) : a.below(b);
    return largest ? a > b : a < b;
  }

  KernelBuilder &k;
  Type type;
  bool largest, last;
};
} // namespace

static SmallVector<bool> alongAxis(Value x, uint64_t axis) {
  SmallVector<bool> along(rankOf(x), false);
  along[axis] = true;
  return along;
}

static Values findBest(Row &row, Best &best) {
  return row.reduce(
      best.identity(),
      [&](ElementBuilder &e, const Row::At &at, ValueRange carried) {
        return best.step(e, row, at, carried);
      },
      [&](ValueRange a, ValueRange b) { return best.join(a, b); });
}

static constexpr int64_t picosecondsPerElement = 250;

template <typename OpTy, bool largest>
static LogicalResult arg(KernelBuilder &k, Operation *anchor) {
  auto op = cast<OpTy>(anchor);
  Best best(k, elementTypeOf(op.getX()), largest, op.getSelectLast());
  Rows rows(k, anchor, alongAxis(op.getX(), op.getAxis()));
  rows.forEach(picosecondsPerElement, /*unroll=*/4,
               [&](Row &row) { row.storeReduced(findBest(row, best)[1]); });
  return success();
}

static LogicalResult hardmax(KernelBuilder &k, Operation *anchor) {
  auto op = cast<HardmaxOp>(anchor);
  Type type = elementTypeOf(op.getX());
  Best best(k, type, /*largest=*/true, /*last=*/false);
  Rows rows(k, anchor, alongAxis(op.getX(), op.getAxis()));
  rows.forEach(picosecondsPerElement, /*unroll=*/4, [&](Row &row) {
    Value where = findBest(row, best)[1];
    row.each([&](ElementBuilder &e, const Row::At &at) {
      Value pair[] = {e.fromIndex(row.number(e, at), k.b.getI64Type()), where};
      e.unify(pair);
      Value hit = arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::eq, pair[0], pair[1]);
      row.store(e, at, e.select(hit, e.constant(type, 1), e.constant(type, 0)));
    });
  });
  return success();
}

namespace kiln {
void registerArgReduceKernels(KernelTable &table);
} // namespace kiln

void kiln::registerArgReduceKernels(KernelTable &table) {
  table.addAnchor<ArgMaxOp>("arg-reduce", arg<ArgMaxOp, true>, true, true);
  table.addAnchor<ArgMinOp>("arg-reduce", arg<ArgMinOp, false>, true, true);
  table.addAnchor<HardmaxOp>("hardmax", hardmax, true, true);
}
