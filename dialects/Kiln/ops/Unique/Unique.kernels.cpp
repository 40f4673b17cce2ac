//===- Unique.kernels.cpp - Different rows of a matrix, kernels -----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Unique/Unique.h"
#include "kiln/Codegen/Heap.h"
#include "kiln/Codegen/KernelTable.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace kiln;

namespace {
/// Row numbers in scratch memory, ordered by what the rows hold and then by
/// number.
class RowOrder final : public Heap {
public:
  RowOrder(KernelBuilder &k, Value x, Value rows)
      : Heap(k), x(x), rows(rows), type(elementTypeOf(x)), b(k.b), loc(k.loc) {}

  Item load(Value at) override { return {memref::LoadOp::create(b, loc, rows, at)}; }
  void store(const Item &item, Value at) override {
    memref::StoreOp::create(b, loc, item[0], rows, at);
  }
  Value isBefore(const Item &a, const Item &c) override {
    auto [less, equal] = compare(a[0], c[0]);
    Value earlier = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, a[0], c[0]);
    return arith::OrIOp::create(b, loc, less, arith::AndIOp::create(b, loc, equal, earlier));
  }

  /// Whether row a is less than row c, and whether they are equal.
  std::pair<Value, Value> compare(Value a, Value c) {
    Value no = arith::ConstantOp::create(b, loc, b.getBoolAttr(false)),
          yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
    Value init[] = {no, yes};
    auto at = [&](Value row) { return arith::IndexCastOp::create(b, loc, b.getIndexType(), row); };
    Value rowA = at(a), rowC = at(c);
    SmallVector<Value> result =
        k.loop(k.index(0), k.size(shapeOf(x)[1]), 1, init,
               [&](Value i, ValueRange soFar) -> SmallVector<Value> {
                 ElementBuilder e = k.elements();
                 auto [less, equal] =
                     e.compareTotally(e.element(x, {rowA, i}), e.element(x, {rowC, i}), type);
                 // An element counts while all before it are equal.
                 Value decides = arith::AndIOp::create(b, loc, soFar[1], less);
                 return {arith::OrIOp::create(b, loc, soFar[0], decides),
                         arith::AndIOp::create(b, loc, soFar[1], equal)};
               });
    return {result[0], result[1]};
  }

private:
  Value x, rows;
  Type type;
  OpBuilder &b;
  Location loc;
};

/// One unit, as sorting is.
class UniqueKernel {
public:
  UniqueKernel(KernelBuilder &k, UniqueOp op) : k(k), op(op), b(k.b), loc(k.loc) {}

  LogicalResult build() {
    Shape shape = shapeOf(op.getX());
    // Each row takes part in about 32 comparisons.
    constexpr int64_t picoseconds = 32 * 1000;
    k.setUnits(1, elementCount(shape) * Expr(picoseconds));
    Expr offsets[4];
    for (Expr &offset : offsets)
      offset = k.reserveScratch(shape[0] * Expr(8));
    Value buffers[4];
    for (auto [buffer, offset] : llvm::zip_equal(buffers, offsets))
      buffer = k.scratchBuffer(offset, shape[0], b.getI64Type());
    rows = buffers[0], firsts = buffers[1], counts = buffers[2], places = buffers[3];
    size = k.size(shape[0]);
    k.loop(k.begin, k.end, 1, [&](Value) {
      Value total = group();
      if (!op.getSorted())
        renumber();
      write(total);
    });
    return success();
  }

private:
  Value asInt(Value index) { return arith::IndexCastOp::create(b, loc, b.getI64Type(), index); }
  Value asIndex(Value number) {
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), number);
  }
  Value read(Value memory, Value at) { return memref::LoadOp::create(b, loc, memory, at); }
  void put(Value value, Value memory, Value at) {
    memref::StoreOp::create(b, loc, value, memory, at);
  }
  void each(function_ref<void(Value)> body) { k.loop(k.index(0), size, 1, body); }

  /// Numbers groups of equal rows in order; `places` is the group of each row.
  /// Returns how many there are.
  Value group() {
    RowOrder order(k, op.getX(), rows);
    Value zero = k.index(0), one = k.index(1);
    each([&](Value i) {
      put(asInt(i), rows, i);
      put(k.elements().intConstant(b.getI64Type(), 0), counts, i);
    });
    order.order(size);
    Value any = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, size, zero);
    k.ifThen(any, [&] { order.sort(size); });
    return k.loop(zero, size, 1, zero, [&](Value i, ValueRange carried) -> SmallVector<Value> {
      Value row = read(rows, i);
      Value before = arith::SubIOp::create(b, loc, arith::MaxSIOp::create(b, loc, i, one), one);
      Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, i, zero);
      Value same = order.compare(read(rows, before), row).second;
      Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
      Value isNew = arith::OrIOp::create(b, loc, isFirst, arith::XOrIOp::create(b, loc, same, yes));
      Value next = arith::AddIOp::create(
          b, loc, carried[0], arith::IndexCastUIOp::create(b, loc, b.getIndexType(), isNew));
      Value group = arith::SubIOp::create(b, loc, next, one);
      k.ifThen(isNew, [&] { put(row, firsts, group); });
      put(asInt(group), places, asIndex(row));
      Value more = k.elements().intConstant(b.getI64Type(), 1);
      put(arith::AddIOp::create(b, loc, read(counts, group), more), counts, group);
      return {next};
    })[0];
  }

  /// Has `rows` say which place each group takes when they stand as they first
  /// occur.
  void renumber() {
    k.loop(k.index(0), size, 1, k.index(0), [&](Value i, ValueRange carried) -> SmallVector<Value> {
      Value group = asIndex(read(places, i));
      Value isFirst =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, read(firsts, group), asInt(i));
      k.ifThen(isFirst, [&] { put(asInt(carried[0]), rows, group); });
      return {arith::AddIOp::create(
          b, loc, carried[0], arith::IndexCastUIOp::create(b, loc, b.getIndexType(), isFirst))};
    });
  }

  Value placeOf(Value group) { return op.getSorted() ? group : asIndex(read(rows, group)); }

  void write(Value total) {
    ElementBuilder e = k.elements();
    auto store = [&](Value value, Value result, ArrayRef<Value> at) {
      if (const Buffer *buffer = k.resultBufferOf(result))
        e.store(value, *buffer, at);
    };
    k.loop(k.index(0), total, 1, [&](Value group) {
      Value place = placeOf(group);
      store(read(firsts, group), op.getFirsts(), place);
      store(read(counts, group), op.getCounts(), place);
    });
    k.loop(total, size, 1, [&](Value i) {
      Value zero = e.intConstant(b.getI64Type(), 0);
      store(zero, op.getFirsts(), i);
      store(zero, op.getCounts(), i);
    });
    each([&](Value row) {
      store(asInt(placeOf(asIndex(read(places, row)))), op.getInverse(), row);
    });
    store(asInt(total), op.getCount(), {});
  }

  KernelBuilder &k;
  UniqueOp op;
  OpBuilder &b;
  Location loc;
  Value rows, firsts, counts, places, size;
};
} // namespace

static LogicalResult unique(KernelBuilder &k, Operation *anchor) {
  return UniqueKernel(k, ::cast<UniqueOp>(anchor)).build();
}

namespace kiln {
void registerUniqueKernels(KernelTable &table);
} // namespace kiln

void kiln::registerUniqueKernels(KernelTable &table) {
  table.addAnchor<UniqueOp>("unique", unique, /*pullsOperands=*/true, /*takesEpilogue=*/false);
}
