//===- Resize.kernels.cpp - Interpolation between elements, kernels -------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Resize/Resize.h"
#include "kiln/Codegen/KernelTable.h"
#include "kiln/Codegen/Num.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

namespace {
/// How one axis is resampled, for one place of the result: coordinates in f64,
/// scalars where the index is uniform and vectors on lanes.
class AxisSampler {
public:
  AxisSampler(ElementBuilder &e, ResizeOp op, size_t i, Value place)
      : e(e), op(op), i(i), in(shapeOf(op.getX())[op.getAxes()[i]]), out(exprsOf(op.getSizes())[i]),
        place(place), onLanes(e.isConsecutive(place)) {}

  size_t axis() { return static_cast<size_t>(op.getAxes()[i]); }

  /// When the result repeats each element this often, else 0.
  int64_t repeats() {
    double scale = knownScale();
    StringRef mode = op.getCoordinates(), rounding = op.getRounding();
    bool centred = mode == "half_pixel" || mode == "pytorch_half_pixel";
    bool floors = (mode == "asymmetric" || mode == "tf_half_pixel_for_nn") && rounding == "floor";
    bool rounds = centred && (rounding == "round_prefer_floor" || rounding == "round_prefer_ceil");
    // The quotient is then never at a tie nor outside.
    bool fits = out == in * Expr(static_cast<int64_t>(scale));
    return scale >= 1 && scale <= 64 && std::trunc(scale) == scale && fits && (floors || rounds)
               ? static_cast<int64_t>(scale)
               : 0;
  }

  /// The place in x, as a number.
  Num source() {
    Num scale = this->scale(), last = number(e.size(in)) - 1.0, at = coordinate();
    StringRef mode = op.getCoordinates();
    if (mode == "align_corners") {
      Num steps = width() - 1.0;
      return at * all(last) / all((steps == 0).select(steps.constant(1), steps));
    }
    if (mode == "asymmetric")
      return at / all(scale);
    if (mode == "tf_half_pixel_for_nn")
      return (at + 0.5) / all(scale);
    if (mode == "tf_crop_and_resize")
      return cropped(at, last);
    Num place = (at + 0.5) / all(scale) - 0.5;
    if (mode == "pytorch_half_pixel") {
      Value single = e.compare(arith::CmpIPredicate::sle, e.size(out), e.index(1));
      return place.with(e.select(single, place.constant(0).value, place.value));
    }
    if (mode == "half_pixel_symmetric") {
      Num ratio = number(e.size(out)) / width();
      place = place + all(number(e.size(in)) / 2.0 * (1.0 - ratio));
    }
    return place;
  }

  /// Outside x, where that gives another value.
  Value isOutside(const Num &source) {
    Num last = all(number(e.size(in)) - 1.0);
    return (~((source >= 0) & (source <= last))).value;
  }

  /// The nearest place.
  Value nearest(const Num &source) {
    StringRef rounding = op.getRounding();
    Num below = source.apply<math::FloorOp>(), rest = source - below;
    if (rounding == "ceil")
      below = source.apply<math::CeilOp>();
    else if (rounding == "round_prefer_floor")
      below = (rest > 0.5).select(below + 1.0, below);
    else if (rounding == "round_prefer_ceil")
      below = (rest >= 0.5).select(below + 1.0, below);
    return inside(toIndex(below));
  }

  Value toIndex(const Num &place) {
    // Dimensions fit 32 bits wherever coordinates matter, and vectors of f64
    // convert to them in one instruction.
    Type i32 = e.b.getI32Type();
    Value number = place.make<arith::FPToSIOp>(place.typeOf(i32), place.value).value;
    return e.toIndex(number, i32);
  }

  Value inside(Value at) {
    return e.maxIndex(e.minIndex(at, e.sub(e.size(in), e.index(1))), e.index(0));
  }

  bool isDynamic() { return op.getAntialias(); }
  bool isNormalized() { return op.getAntialias() || op.getExcludeOutside(); }

  /// Weight of the tap at `offset` (f64) from the place below, `rest` before the
  /// source.
  Num weight(const Num &offset, const Num &rest, const Num &shrink) {
    Num x = ((offset - rest) * shrink).abs();
    if (op.getMode() == "linear")
      return x.make<arith::MaximumFOp>(x.constant(0).value, (1.0 - x).value);
    double a = op.getCubic().convertToDouble();
    Num near = (x * (a + 2) - (a + 3)) * x * x + 1.0;
    Num far = ((x * a - 5 * a) * x + 8 * a) * x - 4 * a;
    return (x <= 1).select(near, (x < 2).select(far, x.constant(0)));
  }
  /// 0 where a tap at this place does not count.
  Num excluded(const Num &weight, const Num &place) {
    if (!op.getExcludeOutside())
      return weight;
    Num last = all(number(e.size(in)) - 1.0);
    return ((place >= 0) & (place <= last)).select(weight, weight.constant(0));
  }
  Num shrink() {
    Num scale = this->scale();
    return scale.make<arith::MinimumFOp>(scale.value, scale.constant(1).value);
  }

  Num all(const Num &x) { return onLanes ? x.with(e.splat(x.value)) : x; }
  /// An index as f64, a scalar.
  Num number(Value index) { return Num(e.b, e.loc, e.fromIndex(index, e.b.getF64Type())); }

private:
  double knownScale() {
    auto from = in.constant(), to = out.constant();
    double given = op.getScalesOperand() ? 0 : op.getScales()[i];
    if (given != 0 || op.getScalesOperand() || op.getPolicy() != "stretch" || !from || !to ||
        *from == 0)
      return given;
    return static_cast<double>(*to) / static_cast<double>(*from);
  }

  Num constant(double x) { return Num(e.b, e.loc, e.constant(e.b.getF64Type(), x)); }

  Num scale() {
    if (Value given = op.getScalesOperand())
      return Num(e.b, e.loc, e.element(given, e.index(static_cast<int64_t>(i))));
    if (double known = knownScale(); known != 0)
      return constant(known);
    if (op.getPolicy() == "stretch")
      return number(e.size(out)) / number(e.size(in));
    Shape pairs = exprsOf(*op.getRatios());
    std::optional<Num> best;
    for (size_t pair = 0; pair < pairs.size(); pair += 2) {
      Num ratio = number(e.size(pairs[pair])) / number(e.size(pairs[pair + 1]));
      if (best)
        ratio = op.getPolicy() == "not_larger"
                    ? ratio.make<arith::MinimumFOp>(ratio.value, best->value)
                    : ratio.make<arith::MaximumFOp>(ratio.value, best->value);
      best = ratio;
    }
    return *best;
  }

  /// The size that the scale asks for, which need not be whole.
  Num width() {
    bool whole = !op.getScalesOperand() && op.getScales()[i] == 0 && op.getPolicy() == "stretch";
    return whole ? number(e.size(out)) : scale() * number(e.size(in));
  }

  /// The place in the result as f64: lane 0's and what lanes add.
  Num coordinate() {
    OpBuilder &b = e.b;
    Value first = arith::SIToFPOp::create(
        b, e.loc, b.getF64Type(), arith::IndexCastOp::create(b, e.loc, b.getI64Type(), place));
    if (!onLanes)
      return Num(b, e.loc, first);
    SmallVector<double> steps;
    for (int64_t lane = 0; lane < e.lanes; ++lane)
      steps.push_back(static_cast<double>(lane));
    auto type = VectorType::get({e.lanes}, b.getF64Type());
    Value iota =
        arith::ConstantOp::create(b, e.loc, DenseElementsAttr::get(type, ArrayRef<double>(steps)));
    return Num(b, e.loc, e.splat(first)) + Num(b, e.loc, iota);
  }

  Num cropped(const Num &at, const Num &last) {
    Value region = op.getRegionOperand();
    auto count = static_cast<int64_t>(op.getAxes().size());
    auto bound = [&](int64_t which) {
      return last.with(e.element(region, e.index(static_cast<int64_t>(i) + which * count)));
    };
    Num start = bound(0), end = bound(1), steps = width() - 1.0;
    Num single = (end - start) * last / 2.0 + start * last;
    Num safe = (steps == 0).select(steps.constant(1), steps);
    Num place = at * all(end - start) * all(last) / all(safe) + all(start * last);
    Num chosen = place.with(e.select((steps == 0).value, all(single).value, place.value));
    // The run may give any region: what is no place at all is far outside.
    Num far = chosen.constant(-1e9);
    return ((chosen > -1e9) & (chosen < 1e9)).select(chosen, far);
  }

  ElementBuilder &e;
  ResizeOp op;
  size_t i;
  Expr in, out;
  Value place;
  bool onLanes;
};

class ResizeElement {
public:
  ResizeElement(ElementBuilder &e, ResizeOp op, ArrayRef<Value> index)
      : e(e), op(op), type(elementTypeOf(op.getX())), index(index), at(index) {
    for (size_t i = 0; i < op.getAxes().size(); ++i)
      samplers.emplace_back(e, op, i, index[op.getAxes()[i]]);
  }

  Value build() {
    Value outside;
    for (AxisSampler &sampler : samplers) {
      sources.push_back(sampler.source());
      if (!op.isCrop())
        continue;
      Value pair[] = {sampler.isOutside(sources.back()), outside};
      if (outside)
        e.unify(pair);
      outside = outside ? Value(arith::OrIOp::create(e.b, e.loc, pair[0], pair[1])) : pair[0];
    }
    Value value = op.getMode() == "nearest" ? nearest(0) : finish(sum(0));
    if (!outside)
      return value;
    Value other = e.constant(type, op.getExtrapolation().convertToDouble());
    return e.select(outside, other, value);
  }

private:
  /// Takes axis after axis to its place in x.
  Value nearest(size_t i) {
    if (i == samplers.size())
      return e.element(op.getX(), at);
    AxisSampler &sampler = samplers[i];
    int64_t repeats = sampler.repeats();
    Value &here = at[sampler.axis()];
    if (!repeats) {
      here = sampler.nearest(sources[i]);
      return nearest(i + 1);
    }
    if (!e.isConsecutive(here)) {
      here = e.div(here, e.index(repeats));
      return nearest(i + 1);
    }
    return repeated(i, repeats);
  }

  /// Lanes that show each element `repeats` times: a narrower load, spread out,
  /// where the first lane shows a new one.
  Value repeated(size_t i, int64_t repeats) {
    size_t axis = samplers[i].axis();
    for (size_t j = i + 1; j < samplers.size(); ++j)
      at[samplers[j].axis()] = samplers[j].nearest(sources[j]);
    auto scalar = [&](ElementBuilder &one, ArrayRef<Value> lane) {
      Index source(lane);
      source[axis] = one.div(source[axis], one.index(repeats));
      return one.element(op.getX(), source);
    };
    if (e.lanes % repeats != 0)
      return e.eachLane(at, scalar);
    auto spread = [&] {
      ElementBuilder narrow = e.withLanes(e.lanes / repeats);
      Index source(at);
      source[axis] = arith::DivUIOp::create(e.b, e.loc, at[axis], e.index(repeats));
      if (narrow.lanes > 1)
        narrow.setConsecutive(source[axis]);
      Value some = narrow.splat(narrow.element(op.getX(), source));
      if (narrow.gaveUp())
        return e.giveUp(type);
      if (narrow.lanes == 1)
        return e.splat(some);
      SmallVector<int64_t> mask;
      for (int64_t lane = 0; lane < e.lanes; ++lane)
        mask.push_back(lane / repeats);
      return Value(vector::ShuffleOp::create(e.b, e.loc, some, some, mask));
    };
    Value rest = arith::RemUIOp::create(e.b, e.loc, at[axis], e.index(repeats));
    return e.branch(e.compare(arith::CmpIPredicate::eq, rest, e.index(0)), spread,
                    [&] { return e.eachLane(at, scalar); });
  }

  /// Floats weigh in f32 or more, integers in what holds them.
  Type weightType() const {
    unsigned bits = type.getIntOrFloatBitWidth();
    bool wide = isa<FloatType>(type) ? bits == 64 : bits >= 32;
    return wide ? Type(e.b.getF64Type()) : e.b.getF32Type();
  }

  Value weighed(const Num &weight, Value value) {
    Value pair[] = {e.convert(weight.value, e.b.getF64Type(), weightType()), value};
    e.unify(pair);
    return arith::MulFOp::create(e.b, e.loc, pair[0], pair[1]);
  }
  Value added(Value x, Value y) {
    Value pair[] = {x, y};
    e.unify(pair);
    return arith::AddFOp::create(e.b, e.loc, pair[0], pair[1]);
  }

  /// The weighed sum over this axis and those after it.
  Value sum(size_t i) {
    if (i == samplers.size())
      return e.convert(e.element(op.getX(), at), type, weightType());
    AxisSampler &sampler = samplers[i];
    Num below = sources[i].apply<math::FloorOp>(), rest = sources[i] - below;
    auto tap = [&](const Num &offset, const Num &shrink) {
      Num place = below + sampler.all(offset);
      Num weight =
          sampler.excluded(sampler.weight(sampler.all(offset), rest, sampler.all(shrink)), place);
      at[sampler.axis()] = sampler.inside(sampler.toIndex(place));
      return std::pair(weight, weighed(weight, sum(i + 1)));
    };
    Value total, weights;
    if (!sampler.isDynamic()) {
      Num one = Num(e.b, e.loc, e.constant(e.b.getF64Type(), 1));
      for (int64_t offset = 1 - op.radius(); offset <= op.radius(); ++offset) {
        auto [weight, value] = tap(one.constant(static_cast<double>(offset)), one);
        total = total ? added(total, value) : value;
        weights = weights ? added(weights, weight.value) : weight.value;
      }
    } else {
      // As many taps as the scale makes fall together.
      Num shrink = sampler.shrink();
      Num reach = shrink.constant(-static_cast<double>(op.radius())) / shrink;
      Num first = reach.apply<math::FloorOp>() + 1.0;
      Value count = sampler.toIndex(2.0 - first - first);
      Value init[] = {e.splat(e.constant(weightType(), 0)),
                      e.splat(e.constant(e.b.getF64Type(), 0))};
      SmallVector<Value> sums = e.loop(
          e.index(0), count, init, [&](Value tapIndex, ValueRange carried) -> SmallVector<Value> {
            auto [weight, value] = tap(first + sampler.number(tapIndex), shrink);
            return {added(carried[0], value), added(carried[1], weight.value)};
          });
      total = sums[0];
      weights = sums[1];
    }
    if (!sampler.isNormalized())
      return total;
    Num sum(e.b, e.loc, weights);
    sum = (sum == 0).select(sum.constant(1), sum);
    Value pair[] = {total, e.convert(sum.value, e.b.getF64Type(), weightType())};
    e.unify(pair);
    return arith::DivFOp::create(e.b, e.loc, pair[0], pair[1]);
  }

  Value finish(Value value) {
    if (!isa<FloatType>(type))
      value = math::RoundEvenOp::create(e.b, e.loc, value);
    return e.convert(value, weightType(), type);
  }

  ElementBuilder &e;
  ResizeOp op;
  Type type;
  ArrayRef<Value> index;
  Index at;
  SmallVector<AxisSampler, 4> samplers;
  SmallVector<Num, 4> sources;
};
} // namespace

static Value resize(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  return ResizeElement(e, ::cast<ResizeOp>(op), index).build();
}

namespace kiln {
void registerResizeKernels(KernelTable &table);
} // namespace kiln

void kiln::registerResizeKernels(KernelTable &table) {
  table.addElement<ResizeOp>(resize, Reads::Often);
}
