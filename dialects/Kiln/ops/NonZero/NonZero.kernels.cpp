//===- NonZero.kernels.cpp - Places of elements other than zero, kernels ---===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/NonZero/NonZero.h"
#include "kiln/Codegen/KernelBuilder.h"
#include "kiln/Codegen/KernelTable.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <functional>

using namespace mlir;
using namespace kiln;

static constexpr int64_t picoseconds = 1000;

/// Whether an element is not zero, as i1.
static Value isNonZero(ElementBuilder &e, Value element, Type type) {
  return e.convert(element, type, e.b.getI1Type());
}

/// One unit: sums of chunks would have to be added up.
static LogicalResult countNonZero(KernelBuilder &k, Operation *anchor) {
  auto op = ::cast<CountNonZeroOp>(anchor);
  Value x = op.getX();
  const Buffer *y = k.resultBufferOf(op.getCount());
  if (!y)
    return failure();
  Shape shape = shapeOf(x);
  k.setUnits(1, elementCount(shape) * Expr(picoseconds));
  Shape outer = shape.empty() ? Shape() : Shape(ArrayRef(shape).drop_back());
  Type i64 = k.b.getI64Type();
  Value zero = arith::ConstantOp::create(k.b, k.loc, k.b.getI64IntegerAttr(0));
  auto one = [&](ElementBuilder &e, ArrayRef<Value> at, Value carried) {
    Value pair[] = {
        carried, e.convert(isNonZero(e, e.element(x, at), elementTypeOf(x)), k.b.getI1Type(), i64)};
    e.unify(pair);
    return Value(arith::AddIOp::create(k.b, k.loc, pair[0], pair[1]));
  };
  k.loop(k.begin, k.end, 1, [&](Value) {
    Value total;
    if (shape.empty()) {
      ElementBuilder e = k.elements();
      total = one(e, {}, zero);
    } else {
      SmallVector<Value> sizes = k.sizes(outer);
      total = k.loop(
          k.index(0), k.size(elementCount(outer)), 1, zero,
          [&](Value row, ValueRange carried) -> SmallVector<Value> {
            Index at = k.elements().delinearize(row, sizes);
            at.emplace_back();
            auto step = [&](ElementBuilder &e, Value i, ValueRange counted) {
              at.back() = i;
              return SmallVector<Value>{one(e, at, counted[0])};
            };
            auto merge = [&](unsigned, Value vector) -> Value {
              return vector::ReductionOp::create(k.b, k.loc, vector::CombiningKind::ADD, vector);
            };
            auto combine = [&](unsigned, Value a, Value b) -> Value {
              return arith::AddIOp::create(k.b, k.loc, a, b);
            };
            Value inRow = k.vectorReduce(k.index(0), k.size(shape.back()), k.target.lanes(i64),
                                         zero, step, merge, combine)[0];
            return {arith::AddIOp::create(k.b, k.loc, carried[0], inRow)};
          })[0];
    }
    ElementBuilder e = k.elements();
    e.store(total, *y, {});
  });
  return success();
}

/// One unit: where an index goes depends on all elements before it.
static LogicalResult nonZero(KernelBuilder &k, Operation *anchor) {
  auto op = ::cast<NonZeroOp>(anchor);
  Value x = op.getX();
  const Buffer *y = k.resultBufferOf(op.getY());
  if (!y)
    return failure();
  Shape shape = shapeOf(x);
  k.setUnits(shape.empty() ? 0 : 1, elementCount(shape) * Expr(picoseconds));
  // The place of the next index goes through all loops.
  std::function<Value(Index &, Value)> visit = [&](Index &at, Value next) -> Value {
    size_t depth = at.size();
    if (depth < shape.size())
      return k.loop(k.index(0), k.size(shape[depth]), 1, next,
                    [&](Value i, ValueRange carried) -> SmallVector<Value> {
                      at.push_back(i);
                      Value after = visit(at, carried[0]);
                      at.pop_back();
                      return {after};
                    })[0];
    ElementBuilder e = k.elements();
    Value found = isNonZero(e, e.element(x, at), elementTypeOf(x));
    k.ifThen(found, [&] {
      for (auto [axis, i] : llvm::enumerate(at))
        e.store(e.fromIndex(i, k.b.getI64Type()), *y, {e.index(static_cast<int64_t>(axis)), next});
    });
    return arith::AddIOp::create(
        k.b, k.loc, next, arith::IndexCastUIOp::create(k.b, k.loc, k.b.getIndexType(), found));
  };
  k.loop(k.begin, k.end, 1, [&](Value) {
    Index at;
    if (!shape.empty())
      visit(at, k.index(0));
  });
  return success();
}

namespace kiln {
void registerNonZeroKernels(KernelTable &table);
} // namespace kiln

void kiln::registerNonZeroKernels(KernelTable &table) {
  table.addAnchor<CountNonZeroOp>("nonzero", countNonZero, /*pullsOperands=*/true,
                                  /*takesEpilogue=*/false);
  table.addAnchor<NonZeroOp>("nonzero", nonZero, /*pullsOperands=*/true,
                             /*takesEpilogue=*/false);
}
