//===- NonMaxSuppression.kernels.cpp - Boxes that overlap, kernels --------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/NonMaxSuppression/NonMaxSuppression.h"
#include "kiln/Codegen/KernelBuilder.h"
#include "kiln/Codegen/KernelTable.h"
#include "kiln/Codegen/Num.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace kiln;

namespace {
struct Box {
  Num top, left, bottom, right;

  Num area() const { return (bottom - top) * (right - left); }
};

/// A unit is a class of a batch. Each round picks the best box that is left and
/// takes away those that overlap it; scratch memory has one byte a box that says
/// whether it is left.
class Suppression {
public:
  Suppression(KernelBuilder &k, SuppressBoxesOp op) : k(k), op(op), b(k.b), loc(k.loc) {}

  LogicalResult build() {
    Shape scores = shapeOf(op.getScores());
    Expr length = scores[2], most = exprsOf(op.getCount())[0];
    // A box and a round: a comparison of scores, and one of boxes.
    constexpr int64_t picoseconds = 3000;
    k.setUnits(scores[0] * scores[1], length * (most + Expr(1)) * Expr(picoseconds));
    left = k.scratchBuffer(k.reserveScratch(length), length, b.getI8Type());
    size = k.size(length);
    SmallVector<Value> rows = k.sizes({scores[0], scores[1]});
    k.loop(k.begin, k.end, 1, [&](Value unit) {
      Index row = k.elements().delinearize(unit, rows);
      k.loop(k.index(0), size, 1, [&](Value i) {
        Num isLeft = score(row, i) > number(op.getScoreThreshold(), {});
        setLeft(arith::ExtUIOp::create(b, loc, b.getI8Type(), isLeft.value), i);
      });
      Value count = k.loop(k.index(0), k.size(most), 1, k.index(0),
                           [&](Value round, ValueRange picked) -> SmallVector<Value> {
                             return {pick(row, round, picked[0])};
                           })[0];
      if (const Buffer *counts = k.resultBufferOf(op.getCounts())) {
        ElementBuilder e = k.elements();
        e.store(e.fromIndex(count, b.getI64Type()), *counts, row);
      }
    });
    return success();
  }

private:
  Num number(Value tensor, ArrayRef<Value> at) {
    return Num(b, loc, k.elements().element(tensor, at));
  }
  Num score(const Index &row, Value i) { return number(op.getScores(), {row[0], row[1], i}); }
  void setLeft(Value isLeft, Value i) { memref::StoreOp::create(b, loc, isLeft, left, i); }
  Num isLeft(Value i) { return Num(b, loc, memref::LoadOp::create(b, loc, left, i)) != 0; }

  Box box(const Index &row, Value i) {
    auto at = [&](int64_t axis) { return number(op.getBoxes(), {row[0], i, k.index(axis)}); };
    Num x0 = at(0), x1 = at(1), x2 = at(2), x3 = at(3);
    if (op.getCenter())
      return {x1 - x3 / 2, x0 - x2 / 2, x1 + x3 / 2, x0 + x2 / 2};
    return {atMost(x0, x2), atMost(x1, x3), atLeast(x0, x2), atLeast(x1, x3)};
  }

  Num overlap(const Box &x, const Box &y) {
    Num height = atMost(x.bottom, y.bottom) - atLeast(x.top, y.top),
        width = atMost(x.right, y.right) - atLeast(x.left, y.left);
    Num common = height * width, all = x.area() + y.area() - common;
    return (height > 0.0) & (width > 0.0) & (x.area() > 0.0) & (y.area() > 0.0) & (all > 0.0) &
           (common / all > number(op.getIouThreshold(), {}));
  }

  /// Fills place `round`; returns how many are picked then. Once there is no box
  /// left the rounds do nothing.
  Value pick(const Index &row, Value round, Value picked) {
    Value goesOn = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, round, picked);
    Value end = arith::SelectOp::create(b, loc, goesOn, size, k.index(0));
    // `size` stands for no box.
    Value none[] = {size, arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0))};
    Value best =
        k.loop(k.index(0), end, 1, none, [&](Value i, ValueRange soFar) -> SmallVector<Value> {
          Num value = score(row, i);
          Num isFirst(b, loc,
                      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, soFar[0], size));
          Num better = isLeft(i) & (isFirst | (value > Num(b, loc, soFar[1])));
          return {arith::SelectOp::create(b, loc, better.value, i, soFar[0]),
                  arith::SelectOp::create(b, loc, better.value, value.value, soFar[1])};
        })[0];
    Value found = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, best, size);
    Value place = arith::SelectOp::create(b, loc, found, best, k.index(0));
    if (const Buffer *result = k.resultBufferOf(op.getPicked())) {
      ElementBuilder e = k.elements();
      e.store(e.fromIndex(place, b.getI64Type()), *result, {row[0], row[1], round});
    }
    k.ifThen(found, [&] {
      Value gone = arith::ConstantOp::create(b, loc, b.getI8IntegerAttr(0));
      Box chosen = box(row, best);
      k.loop(k.index(0), size, 1, [&](Value i) {
        k.ifThen((isLeft(i) & overlap(chosen, box(row, i))).value, [&] { setLeft(gone, i); });
      });
      setLeft(gone, best);
    });
    return arith::AddIOp::create(b, loc, picked,
                                 arith::IndexCastUIOp::create(b, loc, b.getIndexType(), found));
  }

  KernelBuilder &k;
  SuppressBoxesOp op;
  OpBuilder &b;
  Location loc;
  Value left, size;
};
} // namespace

static LogicalResult suppress(KernelBuilder &k, Operation *anchor) {
  return Suppression(k, ::cast<SuppressBoxesOp>(anchor)).build();
}

namespace kiln {
void registerNonMaxSuppressionKernels(KernelTable &table);
} // namespace kiln

void kiln::registerNonMaxSuppressionKernels(KernelTable &table) {
  table.addAnchor<SuppressBoxesOp>("suppress_boxes", suppress, /*pullsOperands=*/true,
                                   /*takesEpilogue=*/false);
}
