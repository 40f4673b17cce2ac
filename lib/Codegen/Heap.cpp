//===- Heap.cpp - Selecting and sorting inside a kernel -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Codegen/Heap.h"
#include "kiln/Codegen/IndexMath.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace kiln;

/// The item goes where the hole at `start` is, or below: worse children move up.
void Heap::siftDown(const Item &item, Value start, Value count) {
  OpBuilder &b = k.b;
  Location loc = k.loc;
  IndexMath math(b, loc);
  Type index = b.getIndexType();
  Value last = math.sub(count, k.index(1));
  auto before = [&](OpBuilder &, Location, ValueRange hole) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(hole[0].getParentBlock());
    Value left = math.add(math.add(hole[0], hole[0]), 1);
    auto descend = scf::IfOp::create(b, loc, {b.getI1Type(), index},
                                     math.compare(arith::CmpIPredicate::slt, left, count),
                                     /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard inner(b);
      b.setInsertionPointToEnd(descend.thenBlock());
      // Where there is no right child it is the left one, which is not before
      // itself.
      Value right = math.min(math.add(left, 1), last);
      Item worse = load(left), other = load(right);
      Value rightIsWorse = isBefore(worse, other);
      for (auto [x, y] : llvm::zip_equal(worse, other))
        x = math.select(rightIsWorse, y, x);
      Value child = math.select(rightIsWorse, right, left);
      scf::YieldOp::create(b, loc, ValueRange{isBefore(item, worse), child});
      b.setInsertionPointToEnd(descend.elseBlock());
      Value no = arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
      scf::YieldOp::create(b, loc, ValueRange{no, hole[0]});
    }
    scf::ConditionOp::create(b, loc, descend.getResult(0),
                             ValueRange{hole[0], descend.getResult(1)});
  };
  auto after = [&](OpBuilder &, Location, ValueRange holeAndChild) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(holeAndChild[0].getParentBlock());
    store(load(holeAndChild[1]), holeAndChild[0]);
    scf::YieldOp::create(b, loc, holeAndChild[1]);
  };
  auto loop = scf::WhileOp::create(b, loc, TypeRange{index, index}, start, before, after);
  store(item, loop.getResult(0));
}

void Heap::order(Value count) {
  IndexMath math(k.b, k.loc);
  Value half = math.div(count, k.index(2));
  k.loop(k.index(0), half, 1, [&](Value i) {
    Value at = math.sub(math.sub(half, k.index(1)), i);
    siftDown(load(at), at, count);
  });
}

void Heap::replaceRoot(const Item &item, Value count) { siftDown(item, k.index(0), count); }

/// The last one goes to the end, again and again.
void Heap::sort(Value count) {
  IndexMath math(k.b, k.loc);
  Value last = math.sub(count, k.index(1));
  k.loop(k.index(0), last, 1, [&](Value i) {
    Value end = math.sub(last, i);
    Item item = load(end);
    store(load(k.index(0)), end);
    siftDown(item, k.index(0), end);
  });
}
