//===- Pool.kernels.cpp - Windows that slide over spatial axes, kernels ---===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Pool/Pool.h"
#include "kiln/Codegen/Fold.h"
#include "kiln/Codegen/Num.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kiln;

/// Taps along the last axis that are written out rather than looped over.
static constexpr int64_t longestUnrolled = 8;

namespace {
using Values = SmallVector<Value>;

/// Emits the kernel of a pooling op. A unit is one row of the result along the
/// last axis: its middle, where no window leaves x, goes in vectors and without
/// any test; its ends one by one with windows clamped to x.
class PoolEmitter {
public:
  /// Adds the elements of x at an index (lanes along the last axis).
  using Step = function_ref<Values(ElementBuilder &e, Value x, ArrayRef<Value> index, ValueRange)>;
  /// The result from what was folded and the number of elements that count.
  using Finish = function_ref<Value(ElementBuilder &e, ValueRange folded, Value count)>;

  template <typename OpTy>
  PoolEmitter(KernelBuilder &k, OpTy op, bool countPadding)
      : k(k), op(op), x(op.getX()), shape(shapeOf(x)), kernel(op.getKernel()),
        strides(op.getStrides()), dilations(op.getDilations()), pads(exprsOf(op.getPads())),
        sizes(exprsOf(op.getSizes())), countPadding(countPadding), spatial(kernel.size()) {}

  void emit(bool lanes, ValueRange init, Step step, Finish finish);

private:
  /// Taps of a window along one axis that exist, and how many count.
  struct Range {
    Value start, first, last, count;
  };
  Value minimum(Value a, Value b) { return arith::MinSIOp::create(k.b, k.loc, a, b); }
  Value maximum(Value a, Value b) { return arith::MaxSIOp::create(k.b, k.loc, a, b); }
  Value subtract(Value a, Value b) { return arith::SubIOp::create(k.b, k.loc, a, b); }
  Value add(Value a, Value b) { return arith::AddIOp::create(k.b, k.loc, a, b); }
  Value multiply(Value a, int64_t b) {
    return b == 1 ? a : Value(arith::MulIOp::create(k.b, k.loc, a, k.index(b)));
  }
  /// ceil(max(a, 0) / b).
  Value stepsTo(Value a, int64_t b) {
    a = maximum(a, k.index(0));
    return b == 1 ? a
                  : Value(arith::DivUIOp::create(k.b, k.loc, add(a, k.index(b - 1)), k.index(b)));
  }
  /// No window along this axis begins before x, or ends behind it.
  bool startsInside(size_t axis) const { return pads[axis].isConstant(0); }
  bool endsInside(size_t axis) const {
    Expr extent = (kernel[axis] - 1) * dilations[axis] + 1;
    return pads[spatial + axis].isConstant(0) &&
           sizes[axis] ==
               Expr::floorDiv(shape[2 + axis] + pads[axis] - extent, strides[axis]) + Expr(1);
  }
  Range rangeOf(size_t axis, Value output);
  std::pair<Value, Value> middle();
  Values foldOuter(size_t axis, Index &index, ValueRange carried,
                   function_ref<Values(Index &, ValueRange)> inner);
  Value load(ElementBuilder &e, ArrayRef<Value> index, int64_t tap);
  void emitColumn(ElementBuilder &e, Value column, bool inMiddle, ValueRange init, Step step,
                  Finish finish);

  KernelBuilder &k;
  Operation *op;
  Value x;
  Shape shape;
  ArrayRef<int64_t> kernel, strides, dilations;
  Shape pads, sizes;
  bool countPadding;
  size_t spatial;
  /// Of the unit at hand: the result's index but for the last axis, and the
  /// windows along all other axes.
  Index outer;
  SmallVector<Range> ranges;
  Value outerCount;
};
} // namespace

PoolEmitter::Range PoolEmitter::rangeOf(size_t axis, Value output) {
  int64_t taps = kernel[axis], dilation = dilations[axis];
  Value all = k.index(taps), size = k.size(shape[2 + axis]);
  Range range;
  range.start = subtract(multiply(output, strides[axis]), k.size(pads[axis]));
  range.first =
      startsInside(axis) ? k.index(0) : stepsTo(subtract(k.index(0), range.start), dilation);
  range.last =
      endsInside(axis) ? all : minimum(stepsTo(subtract(size, range.start), dilation), all);
  if (countPadding) {
    Value end = add(size, k.size(pads[spatial + axis]));
    range.count =
        endsInside(axis) ? all : minimum(stepsTo(subtract(end, range.start), dilation), all);
  } else {
    range.count = maximum(subtract(range.last, range.first), k.index(0));
  }
  return range;
}

/// The part of the last axis whose windows lie inside x altogether.
std::pair<Value, Value> PoolEmitter::middle() {
  size_t axis = spatial - 1;
  Value end = k.size(sizes[axis]);
  Value from =
      startsInside(axis) ? k.index(0) : minimum(stepsTo(k.size(pads[axis]), strides[axis]), end);
  if (endsInside(axis))
    return {from, maximum(from, end)};
  int64_t extent = (kernel[axis] - 1) * dilations[axis] + 1;
  // Windows that begin at or before x's size - extent.
  Expr room = shape[2 + axis] + pads[axis] - Expr(extent) + Expr(1);
  Value to = minimum(stepsTo(k.size(room), strides[axis]), end);
  return {from, maximum(from, to)};
}

Values PoolEmitter::foldOuter(size_t axis, Index &index, ValueRange carried,
                              function_ref<Values(Index &, ValueRange)> inner) {
  if (axis + 1 == spatial)
    return inner(index, carried);
  const Range &range = ranges[axis];
  return k.loop(range.first, range.last, 1, carried, [&](Value tap, ValueRange values) {
    index[2 + axis] = add(range.start, multiply(tap, dilations[axis]));
    return foldOuter(axis + 1, index, values, inner);
  });
}

/// The element of x at an index whose last coordinate is that of the first
/// lane; other lanes are a stride apart.
Value PoolEmitter::load(ElementBuilder &e, ArrayRef<Value> index, int64_t tap) {
  int64_t stride = strides.back(), taps = kernel.back();
  if (e.lanes == 1 || stride == 1) {
    if (e.lanes > 1)
      e.setConsecutive(index.back());
    return e.element(x, index);
  }
  const Buffer *buffer = e.bufferOf(x);
  if (!buffer)
    return e.giveUp(elementTypeOf(x));
  Type stored = cast<MemRefType>(buffer->memref.getType()).getElementType();
  Value position = e.linearize(index, buffer->sizes);
  if (stride == 2 && taps > 1) {
    // Every other element of two vectors. The last tap takes the odd ones of a
    // load that begins one before, so that nothing behind the window is read.
    bool odd = tap == taps - 1;
    if (odd)
      position = subtract(position, k.index(1));
    Value both = vector::LoadOp::create(k.b, k.loc, VectorType::get({2 * e.lanes}, stored),
                                        buffer->memref, position);
    SmallVector<int64_t> mask;
    for (int64_t lane = 0; lane < e.lanes; ++lane)
      mask.push_back(2 * lane + (odd ? 1 : 0));
    return vector::ShuffleOp::create(k.b, k.loc, both, both, mask);
  }
  Values parts;
  for (int64_t lane = 0; lane < e.lanes; ++lane)
    parts.push_back(
        memref::LoadOp::create(k.b, k.loc, buffer->memref, add(position, k.index(lane * stride))));
  return vector::FromElementsOp::create(k.b, k.loc, VectorType::get({e.lanes}, stored), parts);
}

void PoolEmitter::emitColumn(ElementBuilder &e, Value column, bool inMiddle, ValueRange init,
                             Step step, Finish finish) {
  size_t axis = spatial - 1;
  int64_t taps = kernel[axis], dilation = dilations[axis];
  // Plain arithmetic: that lanes are a stride apart is load's business.
  Range range;
  if (inMiddle)
    range = {subtract(multiply(column, strides[axis]), k.size(pads[axis])), k.index(0),
             k.index(taps), k.index(taps)};
  else
    range = rangeOf(axis, column);
  Values start(init);
  for (Value &value : start)
    value = e.splat(value);
  Index index(outer.begin(), outer.begin() + 2);
  index.resize(shape.size());
  Values folded = foldOuter(0, index, start, [&](Index &index, ValueRange carried) {
    auto tapAt = [&](Value offset, int64_t tap, ValueRange values) {
      index.back() = add(range.start, offset);
      Values next = step(e, load(e, index, tap), index, values);
      for (Value &value : next)
        value = e.splat(value);
      return next;
    };
    if (inMiddle && taps <= longestUnrolled) {
      Values values(carried);
      for (int64_t tap = 0; tap < taps; ++tap)
        values = tapAt(k.index(tap * dilation), tap, values);
      return values;
    }
    // A loop cannot tell its last tap: peel it where that matters.
    bool peel = inMiddle && e.lanes > 1 && strides[axis] == 2;
    Value last = peel ? k.index(taps - 1) : range.last;
    Values values = k.loop(range.first, last, 1, carried, [&](Value tap, ValueRange values) {
      return tapAt(multiply(tap, dilation), /*tap=*/0, values);
    });
    if (peel)
      values = tapAt(k.index((taps - 1) * dilation), taps - 1, values);
    return values;
  });
  e.forgetElements();
  Value count = arith::MulIOp::create(k.b, k.loc, outerCount, range.count);
  Value result = finish(e, folded, count);
  e.setSource(op->getResult(0), [result](ElementBuilder &, ArrayRef<Value>) { return result; });
  Index at(outer);
  at.push_back(column);
  k.storeResults(e, at);
}

void PoolEmitter::emit(bool lanes, ValueRange init, Step step, Finish finish) {
  Shape rows = shapeOf(op->getResult(0));
  Expr width = rows.pop_back_val();
  int64_t taps = 1;
  for (int64_t size : kernel)
    taps *= size;
  k.setUnits(elementCount(rows), width * Expr(80 * taps + 500) + Expr(4000));
  SmallVector<Value> rowSizes = k.sizes(rows);
  std::pair<Value, Value> inside = middle();
  Value from = inside.first, to = inside.second;
  Value zero = k.index(0), end = k.size(width);
  k.loop(k.begin, k.end, 1, [&](Value unit) {
    outer = k.elements().delinearize(unit, rowSizes);
    outerCount = k.index(1);
    ranges.clear();
    for (size_t axis = 0; axis + 1 < spatial; ++axis) {
      ranges.push_back(rangeOf(axis, outer[2 + axis]));
      outerCount = arith::MulIOp::create(k.b, k.loc, outerCount, ranges.back().count);
    }
    auto oneByOne = [&](Value lower, Value upper) {
      k.loop(lower, upper, 1, [&](Value column) {
        ElementBuilder e = k.elements();
        emitColumn(e, column, /*inMiddle=*/false, init, step, finish);
      });
    };
    if (!startsInside(spatial - 1))
      oneByOne(zero, from);
    k.vectorLoop(from, to, lanes ? 2 * k.commonLanes() : 1, [&](ElementBuilder &e, Value column) {
      emitColumn(e, column, /*inMiddle=*/true, init, step, finish);
    });
    if (!endsInside(spatial - 1))
      oneByOne(to, end);
  });
}

static LogicalResult maxPool(KernelBuilder &k, Operation *anchor) {
  auto op = cast<MaxPoolOp>(anchor);
  Type type = elementTypeOf(op.getX());
  Fold fold(k, FoldKind::Max, type);
  PoolEmitter(k, op, /*countPadding=*/false)
      .emit(
          /*lanes=*/true, fold.identity(),
          [&](ElementBuilder &e, Value x, ArrayRef<Value>, ValueRange carried) {
            return Values{fold.add(e, carried[0], e.widen(x))};
          },
          [&](ElementBuilder &e, ValueRange folded, Value) { return e.narrow(folded[0], type); });
  return success();
}

template <typename OpTy, bool isMean>
static LogicalResult sumPool(KernelBuilder &k, Operation *anchor) {
  auto op = cast<OpTy>(anchor);
  Type type = elementTypeOf(op.getX());
  Fold fold(k, FoldKind::Sum, type);
  bool countPadding = false;
  if constexpr (isMean)
    countPadding = op.getCountIncludePad();
  PoolEmitter(k, op, countPadding)
      .emit(
          /*lanes=*/true, fold.identity(),
          [&](ElementBuilder &e, Value x, ArrayRef<Value>, ValueRange carried) {
            return Values{fold.add(e, carried[0], e.widen(x))};
          },
          [&](ElementBuilder &e, ValueRange folded, Value count) {
            if (!isMean)
              return e.narrow(folded[0], type);
            Value pair[] = {folded[0], e.fromIndex(count, getElementTypeOrSelf(folded[0]))};
            e.unify(pair);
            return e.narrow(arith::DivFOp::create(k.b, k.loc, pair[0], pair[1]), type);
          });
  return success();
}

/// Carries the best element and its position (-1: none yet). Positions are for
/// unpooling, and one by one is soon enough.
static LogicalResult maxPoolIndices(KernelBuilder &k, Operation *anchor) {
  auto op = cast<MaxPoolIndicesOp>(anchor);
  Type type = elementTypeOf(op.getX()), i64 = k.b.getI64Type();
  SmallVector<Value> sizes = k.sizes(shapeOf(op.getX()));
  Fold fold(k, FoldKind::Max, type);
  auto positionOf = [&](ElementBuilder &e, ArrayRef<Value> index) {
    Index at(index), in(sizes);
    if (op.getColumnMajor()) {
      std::reverse(at.begin() + 2, at.end());
      std::reverse(in.begin() + 2, in.end());
    }
    return e.linearize(at, in);
  };
  auto num = [&](Value value) { return Num(k.b, k.loc, value); };
  PoolEmitter(k, op, /*countPadding=*/false)
      .emit(
          /*lanes=*/false, {fold.identity(), k.elements().intConstant(i64, -1)},
          [&](ElementBuilder &e, Value x, ArrayRef<Value> index, ValueRange carried) {
            Num here = num(e.widen(x)), best = num(carried[0]), position = num(carried[1]);
            Num better = isUnsigned(type) ? best.below(here) : here > best;
            if (isa<FloatType>(type))
              better = better | (here.isNan() & ~best.isNan());
            better = better | (position < 0.0);
            return Values{
                better.select(here, best).value,
                better.select(num(e.fromIndex(positionOf(e, index), i64)), position).value};
          },
          [&](ElementBuilder &, ValueRange folded, Value) { return folded[1]; });
  return success();
}

/// One unit: elements may meet, and then the last one counts.
static LogicalResult maxUnpool(KernelBuilder &k, Operation *anchor) {
  auto op = cast<MaxUnpoolOp>(anchor);
  Type type = elementTypeOf(op.getX());
  Shape indexed = exprsOf(op.getIndexed()), shape = exprsOf(op.getShape());
  Buffer result = k.resultBuffer(0), flat = result;
  Expr count = elementCount(shape);
  flat.sizes = {k.size(count)};
  k.setUnits(1, count * Expr(100) + elementCount(shapeOf(op.getX())) * Expr(2000));
  k.loop(k.begin, k.end, 1, [&](Value) {
    k.vectorLoop(k.index(0), flat.sizes[0], k.commonLanes(), [&](ElementBuilder &e, Value i) {
      e.store(e.splat(e.constant(type, 0)), flat, i);
    });
    SmallVector<Value> from = k.sizes(indexed);
    Value limit = k.size(elementCount(indexed));
    k.nest({}, k.sizes(shapeOf(op.getX())), /*lanes=*/1,
           [&](ElementBuilder &e, ArrayRef<Value> index) {
             Value position = e.toIndex(e.element(op.getIndices(), index), k.b.getI64Type());
             // As unsigned numbers, so that negative ones are too large.
             auto below = [&](Value a, Value b) {
               return arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::ult, a, b);
             };
             k.ifThen(below(position, limit), [&] {
               Index at = e.delinearize(position, from);
               Value inside;
               for (auto [coordinate, size] : llvm::zip(at, result.sizes)) {
                 Value here = below(coordinate, size);
                 inside = inside ? Value(arith::AndIOp::create(k.b, k.loc, inside, here)) : here;
               }
               k.ifThen(inside, [&] { e.store(e.element(op.getX(), index), result, at); });
             });
           });
  });
  return success();
}

namespace kiln {
void registerPoolKernels(KernelTable &table);
} // namespace kiln

void kiln::registerPoolKernels(KernelTable &table) {
  // Windows overlap: what comes before is computed once, into memory.
  constexpr bool pulls = false, epilogue = true;
  table.addAnchor<MaxPoolOp>("pool", maxPool, pulls, epilogue);
  table.addAnchor<MaxPoolIndicesOp>("pool", maxPoolIndices, pulls, epilogue);
  table.addAnchor<AvgPoolOp>("pool", sumPool<AvgPoolOp, true>, pulls, epilogue);
  table.addAnchor<SumPoolOp>("pool", sumPool<SumPoolOp, false>, pulls, epilogue);
  table.addAnchor<MaxUnpoolOp>("max-unpool", maxUnpool, pulls, /*takesEpilogue=*/false);
}
