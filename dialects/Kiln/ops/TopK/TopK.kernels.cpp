//===- TopK.kernels.cpp - Largest and smallest elements, kernels ----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/TopK/TopK.h"
#include "kiln/Codegen/KernelBuilder.h"
#include "kiln/Codegen/KernelTable.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace kiln;

namespace {
/// One row: a heap of the k best elements so far, the worst at the root. At the
/// end the heap is sorted in place. The order of (element, index) pairs is
/// total, so the result does not depend on the algorithm.
class TopKKernel {
public:
  TopKKernel(KernelBuilder &k, TopKOp op)
      : k(k), op(op), type(elementTypeOf(op.getX())), b(k.b), loc(k.loc), axis(op.getAxis()) {}

  LogicalResult build() {
    Shape shape = shapeOf(op.getX());
    Expr count = exprsOf(op.getK())[0], length = shape[axis];
    values = k.resultBufferOf(op.getValues());
    indices = k.resultBufferOf(op.getIndices());
    if (!values && !indices)
      return failure();
    // A few compares an element, and a walk through the heap for each kept one.
    constexpr int64_t perElement = 2000, perKept = 20000;
    Shape rows = shape;
    rows[axis] = 1;
    k.setUnits(elementCount(rows), length * Expr(perElement) + count * Expr(perKept));
    Type inCode = k.elements().codeType(type), i64 = b.getI64Type();
    Expr keyOffset = k.reserveScratch(count * Expr(static_cast<int64_t>(bytes()))),
         placeOffset = k.reserveScratch(count * Expr(8));
    keys = k.scratchBuffer(keyOffset, count, inCode);
    places = k.scratchBuffer(placeOffset, count, i64);
    kept = k.size(count);
    size = k.size(length);
    SmallVector<Value> rowSizes = k.sizes(rows);
    Value any = compare(arith::CmpIPredicate::sgt, kept, k.index(0));
    k.ifThen(any, [&] {
      k.loop(k.begin, k.end, 1, [&](Value row) {
        Index index = k.elements().delinearize(row, rowSizes);
        fill(index);
        sort();
        write(index);
      });
    });
    return success();
  }

private:
  /// A row's element and its place in the row (i64).
  struct Item {
    Value key, place;
  };

  unsigned bytes() const { return type.getIntOrFloatBitWidth() / 8; }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, loc, predicate, x, y);
  }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }

  Item load(Value at) {
    return {memref::LoadOp::create(b, loc, keys, at), memref::LoadOp::create(b, loc, places, at)};
  }
  void store(const Item &item, Value at) {
    memref::StoreOp::create(b, loc, item.key, keys, at);
    memref::StoreOp::create(b, loc, item.place, places, at);
  }
  Item elementAt(const Index &row, Value i) {
    ElementBuilder e = k.elements();
    Index at(row);
    at[axis] = i;
    return {e.element(op.getX(), at), e.fromIndex(i, b.getI64Type())};
  }

  /// Whether x stands before y in the result.
  Value isBefore(const Item &x, const Item &y) {
    bool largest = op.getLargest();
    Value first, equal;
    if (isa<FloatType>(type)) {
      ElementBuilder e = k.elements();
      Value a = e.widen(x.key), c = e.widen(y.key);
      auto isNaN = [&](Value v) {
        return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, v, v);
      };
      Value aIsNaN = isNaN(a), cIsNaN = isNaN(c);
      // An unordered comparison holds when one is NaN: right unless it is the
      // wrong one, or both.
      auto predicate = largest ? arith::CmpFPredicate::UGT : arith::CmpFPredicate::ULT;
      Value wins = arith::CmpFOp::create(b, loc, predicate, a, c);
      Value loser = largest ? cIsNaN : aIsNaN;
      Value no = arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
      first = arith::SelectOp::create(b, loc, loser, no, wins);
      Value same = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, a, c);
      equal = arith::OrIOp::create(b, loc, same, arith::AndIOp::create(b, loc, aIsNaN, cIsNaN));
    } else {
      using P = arith::CmpIPredicate;
      P more = isUnsigned(type) ? P::ugt : P::sgt, less = isUnsigned(type) ? P::ult : P::slt;
      first = compare(largest ? more : less, x.key, y.key);
      equal = compare(P::eq, x.key, y.key);
    }
    Value earlier = compare(arith::CmpIPredicate::slt, x.place, y.place);
    return arith::OrIOp::create(b, loc, first, arith::AndIOp::create(b, loc, equal, earlier));
  }

  /// Puts an item where the hole at `start` is, or below, in a heap of `count`
  /// items.
  void siftDown(const Item &item, Value start, Value count) {
    Type index = b.getIndexType();
    Value one = k.index(1), last = sub(count, one);
    auto before = [&](OpBuilder &, Location, ValueRange carried) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(carried[0].getParentBlock());
      Value left =
          arith::AddIOp::create(b, loc, arith::AddIOp::create(b, loc, carried[0], carried[0]), one);
      auto descend = scf::IfOp::create(b, loc, {b.getI1Type(), index},
                                       compare(arith::CmpIPredicate::slt, left, count),
                                       /*withElseRegion=*/true);
      {
        OpBuilder::InsertionGuard inner(b);
        b.setInsertionPointToEnd(descend.thenBlock());
        // Where there is no right child it is the left one, which is not after
        // itself.
        Value right =
            arith::MinSIOp::create(b, loc, arith::AddIOp::create(b, loc, left, one), last);
        Item a = load(left), c = load(right);
        Value rightIsWorse = isBefore(a, c);
        Item worse{arith::SelectOp::create(b, loc, rightIsWorse, c.key, a.key),
                   arith::SelectOp::create(b, loc, rightIsWorse, c.place, a.place)};
        Value child = arith::SelectOp::create(b, loc, rightIsWorse, right, left);
        scf::YieldOp::create(b, loc, ValueRange{isBefore(item, worse), child});
        b.setInsertionPointToEnd(descend.elseBlock());
        scf::YieldOp::create(
            b, loc,
            ValueRange{arith::ConstantOp::create(b, loc, b.getBoolAttr(false)), carried[0]});
      }
      scf::ConditionOp::create(b, loc, descend.getResult(0),
                               ValueRange{carried[0], descend.getResult(1)});
    };
    auto after = [&](OpBuilder &, Location, ValueRange carried) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(carried[0].getParentBlock());
      store(load(carried[1]), carried[0]);
      scf::YieldOp::create(b, loc, carried[1]);
    };
    auto loop = scf::WhileOp::create(b, loc, TypeRange{index, index}, start, before, after);
    store(item, loop.getResult(0));
  }

  void fill(const Index &row) {
    Value zero = k.index(0), one = k.index(1);
    k.loop(zero, kept, 1, [&](Value i) { store(elementAt(row, i), i); });
    Value half = arith::DivUIOp::create(b, loc, kept, k.index(2));
    k.loop(zero, half, 1, [&](Value i) {
      Value at = sub(sub(half, one), i);
      siftDown(load(at), at, kept);
    });
    k.loop(kept, size, 1, [&](Value i) {
      Item item = elementAt(row, i);
      k.ifThen(isBefore(item, load(zero)), [&] { siftDown(item, zero, kept); });
    });
  }

  /// The worst one goes to the end, again and again.
  void sort() {
    Value zero = k.index(0), last = sub(kept, k.index(1));
    k.loop(zero, last, 1, [&](Value i) {
      Value end = sub(last, i);
      Item item = load(end);
      store(load(zero), end);
      siftDown(item, zero, end);
    });
  }

  void write(const Index &row) {
    k.loop(k.index(0), kept, 1, [&](Value i) {
      ElementBuilder e = k.elements();
      Item item = load(i);
      Index at(row);
      at[axis] = i;
      if (values)
        e.store(item.key, *values, at);
      if (indices)
        e.store(item.place, *indices, at);
    });
  }

  KernelBuilder &k;
  TopKOp op;
  Type type;
  OpBuilder &b;
  Location loc;
  size_t axis;
  const Buffer *values = nullptr, *indices = nullptr;
  Value keys, places, kept, size;
};
} // namespace

static LogicalResult topK(KernelBuilder &k, Operation *anchor) {
  return TopKKernel(k, ::cast<TopKOp>(anchor)).build();
}

namespace kiln {
void registerTopKKernels(KernelTable &table);
} // namespace kiln

void kiln::registerTopKKernels(KernelTable &table) {
  table.addAnchor<TopKOp>("topk", topK, /*pullsOperands=*/true, /*takesEpilogue=*/false);
}
