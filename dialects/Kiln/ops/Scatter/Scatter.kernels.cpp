//===- Scatter.kernels.cpp - Updates at computed places, kernels ----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Scatter/Scatter.h"
#include "kiln/Codegen/KernelBuilder.h"
#include "kiln/Codegen/KernelTable.h"

using namespace mlir;
using namespace kiln;

/// old and new element by the reduction.
static Value combine(ElementBuilder &e, Value old, Value update, StringRef reduction, Type type) {
  if (reduction == "none")
    return update;
  Value pair[] = {e.widen(old), e.widen(update)};
  e.unify(pair);
  auto [a, b] = pair;
  auto is = [&](StringRef name) { return reduction == name; };
  if (isa<FloatType>(type)) {
    Value y = is("add")   ? Value(arith::AddFOp::create(e.b, e.loc, a, b))
              : is("mul") ? Value(arith::MulFOp::create(e.b, e.loc, a, b))
              : is("min") ? Value(arith::MinimumFOp::create(e.b, e.loc, a, b))
                          : Value(arith::MaximumFOp::create(e.b, e.loc, a, b));
    return e.narrow(y, type);
  }
  if (type.isInteger(1))
    return is("add") || is("max") ? Value(arith::OrIOp::create(e.b, e.loc, a, b))
                                  : Value(arith::AndIOp::create(e.b, e.loc, a, b));
  if (is("add"))
    return arith::AddIOp::create(e.b, e.loc, a, b);
  if (is("mul"))
    return arith::MulIOp::create(e.b, e.loc, a, b);
  auto less = isUnsigned(type) ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  Value isLess = arith::CmpIOp::create(e.b, e.loc, less, a, b);
  return is("min") ? arith::SelectOp::create(e.b, e.loc, isLess, a, b)
                   : arith::SelectOp::create(e.b, e.loc, isLess, b, a);
}

namespace {
/// The places that updates go to, and whether they are all there.
struct Places {
  Index at;
  Value legal;
};
} // namespace

/// Adds the place that an index names.
static void addPlace(ElementBuilder &e, Places &places, Value element, Type type, const Expr &dim) {
  Value at = e.toIndex(element, type), size = e.size(dim), zero = e.index(0);
  Value negative = arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::slt, at, zero);
  at = arith::SelectOp::create(e.b, e.loc, negative, e.add(at, size), at);
  // Unsigned: what is still negative is beyond any size.
  Value inside = arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::ult, at, size);
  places.legal =
      places.legal ? Value(arith::AndIOp::create(e.b, e.loc, places.legal, inside)) : inside;
  places.at.push_back(at);
}

static constexpr int64_t picoseconds = 1000;

/// Units are outer coordinates, which updates along another axis never leave;
/// along axis 0 there is one unit, for updates must come in order.
static LogicalResult scatterElements(KernelBuilder &k, Operation *anchor) {
  auto op = ::cast<ScatterElementsOp>(anchor);
  Value x = op.getX(), indices = op.getIndices(), updates = op.getUpdates();
  Shape shape = shapeOf(x), updateShape = shapeOf(updates);
  size_t axis = op.getAxis();
  const Buffer *y = k.resultBufferOf(op.getResult());
  if (!y)
    return failure();
  auto copy = [&](ArrayRef<Value> prefix) {
    k.nest(
        prefix, k.sizes(ArrayRef(shape).drop_front(prefix.size())), k.commonLanes(),
        [&](ElementBuilder &e, ArrayRef<Value> index) { e.store(e.element(x, index), *y, index); });
  };
  auto apply = [&](ArrayRef<Value> prefix) {
    k.nest(prefix, k.sizes(ArrayRef(updateShape).drop_front(prefix.size())), 1,
           [&](ElementBuilder &e, ArrayRef<Value> index) {
             Places place;
             addPlace(e, place, e.element(indices, index), elementTypeOf(indices), shape[axis]);
             k.branch(place.legal, [&] {
               Index at(index);
               at[axis] = place.at[0];
               Value update = e.element(updates, index);
               e.store(combine(e, e.load(*y, at), update, op.getReduction(), elementTypeOf(x)), *y,
                       at);
             });
           });
  };
  Expr work = (elementCount(shape) + elementCount(updateShape)) * Expr(picoseconds);
  if (axis == 0) {
    k.setUnits(1, work);
    k.loop(k.begin, k.end, 1, [&](Value) {
      copy({});
      apply({});
    });
    return success();
  }
  k.setUnits(shape[0], Expr::floorDiv(work, shape[0]));
  k.loop(k.begin, k.end, 1, [&](Value row) {
    copy(row);
    Value updated =
        arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::slt, row, k.size(updateShape[0]));
    k.branch(updated, [&] { apply(row); });
  });
  return success();
}

/// One unit: tuples may name any place, and updates must come in order.
static LogicalResult scatterND(KernelBuilder &k, Operation *anchor) {
  auto op = ::cast<ScatterNDOp>(anchor);
  Value x = op.getX(), indices = op.getIndices(), updates = op.getUpdates();
  Shape shape = shapeOf(x), tuples = shapeOf(indices);
  auto depth = static_cast<size_t>(*tuples.back().constant());
  const Buffer *y = k.resultBufferOf(op.getResult());
  if (!y)
    return failure();
  k.setUnits(1, (elementCount(shape) + elementCount(shapeOf(updates))) * Expr(picoseconds));
  int64_t lanes = k.commonLanes();
  auto apply = [&](ElementBuilder &e, ArrayRef<Value> tuple) {
    Places places;
    places.legal = arith::ConstantOp::create(k.b, k.loc, k.b.getBoolAttr(true));
    Index at(tuple);
    at.emplace_back();
    for (size_t i = 0; i < depth; ++i) {
      at.back() = e.index(static_cast<int64_t>(i));
      addPlace(e, places, e.element(indices, at), elementTypeOf(indices), shape[i]);
    }
    k.branch(places.legal, [&] {
      k.nest(places.at, k.sizes(ArrayRef(shape).drop_front(depth)), lanes,
             [&](ElementBuilder &e, ArrayRef<Value> to) {
               Index from(tuple);
               llvm::append_range(from, to.drop_front(depth));
               Value update = e.element(updates, from);
               e.store(combine(e, e.load(*y, to), update, op.getReduction(), elementTypeOf(x)), *y,
                       to);
             });
    });
  };
  k.loop(k.begin, k.end, 1, [&](Value) {
    k.nest({}, k.sizes(shape), lanes, [&](ElementBuilder &e, ArrayRef<Value> index) {
      e.store(e.element(x, index), *y, index);
    });
    k.nest({}, k.sizes(ArrayRef(tuples).drop_back()), 1, apply);
  });
  return success();
}

/// No two updates meet, so each element asks whether it is new.
static Value tensorScatter(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  auto scatter = ::cast<TensorScatterOp>(op);
  Value starts = scatter.getStarts();
  size_t axis = scatter.getAxis();
  if (e.isConsecutive(index[axis]))
    return e.giveUp(elementTypeOf(scatter.getCache()));
  Value from = index[axis], size = e.size(shapeOf(scatter.getCache())[axis]);
  if (starts)
    from = e.sub(from, e.toIndex(e.element(starts, index[0]), elementTypeOf(starts)));
  if (scatter.getCircular()) {
    Value rest = arith::RemSIOp::create(e.b, e.loc, from, size);
    Value below = e.compare(arith::CmpIPredicate::slt, rest, e.index(0));
    from = e.selectIndex(below, e.add(rest, size), rest);
  }
  // Unsigned: what is negative is beyond any size.
  Value isNew =
      e.compare(arith::CmpIPredicate::ult, from, e.size(shapeOf(scatter.getUpdate())[axis]));
  Index at(index);
  at[axis] = from;
  return e.branch(
      isNew, [&] { return e.element(scatter.getUpdate(), at); },
      [&] { return e.element(scatter.getCache(), index); });
}

namespace kiln {
void registerScatterKernels(KernelTable &table);
} // namespace kiln

void kiln::registerScatterKernels(KernelTable &table) {
  table.addElement<TensorScatterOp>(tensorScatter);
  table.addAnchor<ScatterElementsOp>("scatter", scatterElements, /*pullsOperands=*/true,
                                     /*takesEpilogue=*/false);
  table.addAnchor<ScatterNDOp>("scatter", scatterND, /*pullsOperands=*/true,
                               /*takesEpilogue=*/false);
}
