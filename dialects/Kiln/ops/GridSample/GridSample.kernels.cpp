//===- GridSample.kernels.cpp - Samples at computed places, kernels -------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/GridSample/GridSample.h"
#include "kiln/Codegen/KernelTable.h"
#include "kiln/Codegen/Num.h"

using namespace mlir;
using namespace kiln;

namespace {
class GridSampleElement {
public:
  GridSampleElement(ElementBuilder &e, GridSampleOp op, ArrayRef<Value> index)
      : e(e), op(op), type(elementTypeOf(op.getX())), index(index), dims(shapeOf(op.getX())) {
    dims.erase(dims.begin(), dims.begin() + 2);
  }

  Value build() {
    for (size_t i = 0; i < dims.size(); ++i)
      places.push_back(placeOf(i));
    Value value = sum(0, Index(index.take_front(2)), Value());
    bool isInteger = !isa<FloatType>(type);
    return e.convert(value, weightType(), isInteger && type.isInteger(1) ? e.b.getI1Type() : type);
  }

private:
  /// The type of weights and sums: no narrower than f32, nor than x.
  Type weightType() const {
    bool wide = isa<FloatType>(type) ? type.isF64() : type.getIntOrFloatBitWidth() >= 32;
    return wide ? Type(e.b.getF64Type()) : e.b.getF32Type();
  }
  Num number(Value value) { return Num(e.b, e.loc, value); }
  /// A number of `like`'s type and lanes.
  Num spread(const Num &like, Value scalar) {
    bool lanes = isa<VectorType>(like.type());
    return like.with(lanes ? e.splat(scalar) : scalar);
  }
  Num sizeAs(const Num &like, size_t i) {
    return spread(like, e.fromIndex(e.size(dims[i]), like.element()));
  }

  /// Where the grid points in dimension i.
  Num placeOf(size_t i) {
    Index at{index[0]};
    llvm::append_range(at, index.drop_front(2));
    at.push_back(e.index(static_cast<int64_t>(dims.size() - 1 - i)));
    Num c = number(e.widen(e.element(op.getGrid(), at)));
    Num size = sizeAs(c, i), last = size - 1.0;
    Num place = op.getAlignCorners() ? (c + 1.0) / 2.0 * last : ((c + 1.0) * size - 1.0) / 2.0;
    if (op.getMode() == "nearest")
      place = place.apply<math::RoundEvenOp>();
    if (op.getPadding() == "border") {
      place = (place < 0).select(place.constant(0), place);
      place = (place > last).select(last, place);
    } else if (op.getPadding() == "reflection") {
      place = reflect(place, last);
    }
    // The data may hold anything: what is no place at all is far outside.
    return ((place > -1e9) & (place < 1e9)).select(place, place.constant(-1e9));
  }

  Num reflect(const Num &place, const Num &last) {
    double edge = op.getAlignCorners() ? 0 : 0.5;
    Num low = place.constant(-edge), high = last + edge, range = high - low;
    Num isSingle = range == 0;
    Num below = place < low;
    Num beyond = below.select(low - place, place - high);
    Num divisor = isSingle.select(range.constant(1), range);
    Num turns = (beyond / divisor).apply<math::TruncOp>();
    Num rest = beyond - turns * range;
    Num half = turns / 2.0;
    Num even = half.apply<math::TruncOp>() == half;
    // Each turn comes back from the other side.
    Num isLow = ~(even ^ below);
    Num mirrored = isLow.select(low + rest, high - rest);
    Num inside = (place >= low) & (place <= high);
    return isSingle.select(place.constant(0), inside.select(place, mirrored));
  }

  /// The element shown at a whole place, and for zeros whether there is one.
  std::pair<Value, Value> elementAt(size_t i, Value at) {
    Value size = e.size(dims[i]), zero = e.index(0), last = e.sub(size, e.index(1));
    auto clamped = [&] { return e.maxIndex(e.minIndex(at, last), zero); };
    if (op.getPadding() == "zeros")
      return {clamped(), e.compare(arith::CmpIPredicate::ult, at, size)};
    if (op.getPadding() == "border")
      return {clamped(), Value()};
    bool corners = op.getAlignCorners();
    Value length = corners ? e.maxIndex(last, e.index(1)) : size;
    Value period = e.add(length, length);
    Value in = arith::RemSIOp::create(e.b, e.loc, at,
                                      isa<VectorType>(at.getType()) ? e.scattered(period) : period);
    in = e.selectIndex(e.compare(arith::CmpIPredicate::slt, in, zero), e.add(in, period), in);
    Value back = e.sub(e.sub(isa<VectorType>(in.getType()) ? e.scattered(period) : period, in),
                       e.index(corners ? 0 : 1));
    Value shown = e.selectIndex(e.compare(arith::CmpIPredicate::slt, in, size), in, back);
    // A dimension of 1 shows its element everywhere.
    return {e.maxIndex(e.minIndex(shown, last), zero), Value()};
  }

  SmallVector<Num> weightsAt(const Num &place, int64_t &first) {
    Num t = place - place.apply<math::FloorOp>();
    first = 0;
    if (op.getMode() == "nearest")
      return {t.constant(1)};
    if (op.getMode() == "linear")
      return {1.0 - t, t};
    first = -1;
    constexpr double a = -0.75;
    auto far = [](const Num &x) { return ((x * a - 5 * a) * x + 8 * a) * x - 4 * a; };
    auto near = [](const Num &x) { return (x * (a + 2) - (a + 3)) * x * x + 1.0; };
    return {far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)};
  }

  /// The weighed sum over dimensions from i on; `inside` says whether the places
  /// of those before it exist.
  Value sum(size_t i, const Index &at, Value inside) {
    if (i == dims.size()) {
      Value element = e.convert(e.element(op.getX(), at), type, weightType());
      return inside ? e.select(inside, element, e.constant(weightType(), 0)) : element;
    }
    int64_t first;
    SmallVector<Num> weights = weightsAt(places[i], first);
    Num below = places[i].apply<math::FloorOp>();
    Type i32 = e.b.getI32Type();
    Value base = e.toIndex(below.make<arith::FPToSIOp>(below.typeOf(i32), below.value).value, i32);
    Value total;
    for (auto [offset, weight] : llvm::enumerate(weights)) {
      auto [element, exists] =
          elementAt(i, e.add(base, e.index(first + static_cast<int64_t>(offset))));
      Value pair[] = {inside, exists};
      if (inside && exists)
        e.unify(pair);
      Value all = !inside   ? exists
                  : !exists ? inside
                            : Value(arith::AndIOp::create(e.b, e.loc, pair[0], pair[1]));
      Index next(at);
      next.push_back(element);
      Value value = sum(i + 1, next, all);
      if (weights.size() == 1)
        return value;
      Value product[] = {e.convert(weight.value, weight.element(), weightType()), value};
      e.unify(product);
      Value part = arith::MulFOp::create(e.b, e.loc, product[0], product[1]);
      if (!total) {
        total = part;
        continue;
      }
      Value both[] = {total, part};
      e.unify(both);
      total = arith::AddFOp::create(e.b, e.loc, both[0], both[1]);
    }
    return total;
  }

  ElementBuilder &e;
  GridSampleOp op;
  Type type;
  ArrayRef<Value> index;
  Shape dims;
  SmallVector<Num, 3> places;
};
} // namespace

static Value gridSample(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  return GridSampleElement(e, ::cast<GridSampleOp>(op), index).build();
}

namespace kiln {
void registerGridSampleKernels(KernelTable &table);
} // namespace kiln

void kiln::registerGridSampleKernels(KernelTable &table) {
  table.addElement<GridSampleOp>(gridSample, Reads::Often);
}
