//===- TopK.kernels.cpp - Largest and smallest elements, kernels ----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/TopK/TopK.h"
#include "kiln/Codegen/Heap.h"
#include "kiln/Codegen/KernelTable.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace kiln;

namespace {
/// The k best elements of a row so far and their places in it.
class Best final : public Heap {
public:
  Best(KernelBuilder &k, TopKOp op)
      : Heap(k), op(op), type(elementTypeOf(op.getX())), b(k.b), loc(k.loc) {
    Expr count = exprsOf(op.getK())[0];
    int64_t bytes = type.getIntOrFloatBitWidth() / 8;
    Expr keyOffset = k.reserveScratch(count * Expr(bytes)),
         placeOffset = k.reserveScratch(count * Expr(8));
    keys = k.scratchBuffer(keyOffset, count, k.elements().codeType(type));
    places = k.scratchBuffer(placeOffset, count, b.getI64Type());
  }

  Item load(Value at) override {
    return {memref::LoadOp::create(b, loc, keys, at), memref::LoadOp::create(b, loc, places, at)};
  }
  void store(const Item &item, Value at) override {
    memref::StoreOp::create(b, loc, item[0], keys, at);
    memref::StoreOp::create(b, loc, item[1], places, at);
  }
  Value isBefore(const Item &x, const Item &y) override {
    auto [first, equal] = compareKeys(x[0], y[0]);
    Value earlier = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, x[1], y[1]);
    return arith::OrIOp::create(b, loc, first, arith::AndIOp::create(b, loc, equal, earlier));
  }

private:
  std::pair<Value, Value> compareKeys(Value x, Value y) {
    ElementBuilder e = k.elements();
    auto [less, equal] = e.compareTotally(x, y, type);
    if (!op.getLargest())
      return {less, equal};
    return {e.compareTotally(y, x, type).first, equal};
  }

  TopKOp op;
  Type type;
  OpBuilder &b;
  Location loc;
  Value keys, places;
};
} // namespace

static LogicalResult topK(KernelBuilder &k, Operation *anchor) {
  auto op = ::cast<TopKOp>(anchor);
  size_t axis = op.getAxis();
  Shape rows = shapeOf(op.getX());
  Expr count = exprsOf(op.getK())[0], length = rows[axis];
  const Buffer *values = k.resultBufferOf(op.getValues()),
               *indices = k.resultBufferOf(op.getIndices());
  if (!values && !indices)
    return failure();
  // A few compares an element, and a walk through the heap for each kept one.
  constexpr int64_t perElement = 2000, perKept = 20000;
  rows[axis] = 1;
  k.setUnits(elementCount(rows), length * Expr(perElement) + count * Expr(perKept));
  Best best(k, op);
  SmallVector<Value> rowSizes = k.sizes(rows);
  Value kept = k.size(count), zero = k.index(0);
  auto along = [&](const Index &row, Value i) {
    Index at(row);
    at[axis] = i;
    return at;
  };
  auto element = [&](const Index &row, Value i) -> Heap::Item {
    ElementBuilder e = k.elements();
    return {e.element(op.getX(), along(row, i)), e.fromIndex(i, k.b.getI64Type())};
  };
  auto select = [&](Value unit) {
    Index row = k.elements().delinearize(unit, rowSizes);
    k.loop(zero, kept, 1, [&](Value i) { best.store(element(row, i), i); });
    best.order(kept);
    k.loop(kept, k.size(length), 1, [&](Value i) {
      Heap::Item item = element(row, i);
      k.ifThen(best.isBefore(item, best.load(zero)), [&] { best.replaceRoot(item, kept); });
    });
    best.sort(kept);
    k.loop(zero, kept, 1, [&](Value i) {
      ElementBuilder e = k.elements();
      Heap::Item item = best.load(i);
      if (values)
        e.store(item[0], *values, along(row, i));
      if (indices)
        e.store(item[1], *indices, along(row, i));
    });
  };
  k.ifThen(arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::sgt, kept, zero),
           [&] { k.loop(k.begin, k.end, 1, select); });
  return success();
}

namespace kiln {
void registerTopKKernels(KernelTable &table);
} // namespace kiln

void kiln::registerTopKKernels(KernelTable &table) {
  table.addAnchor<TopKOp>("topk", topK, /*pullsOperands=*/true, /*takesEpilogue=*/false);
}
