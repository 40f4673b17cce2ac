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

/// Taps along an axis that are written out rather than looped over.
static constexpr int64_t longestUnrolled = 8;

namespace {
using Values = SmallVector<Value>;

/// What the kernels of this family share: the windows. A unit is one row of the
/// result along the last axis.
class Windows {
public:
  template <typename OpTy>
  Windows(KernelBuilder &k, OpTy op, bool countPadding)
      : k(k), x(op.getX()), shape(shapeOf(x)), kernel(op.getKernel()), strides(op.getStrides()),
        dilations(op.getDilations()), pads(exprsOf(op.getPads())), sizes(exprsOf(op.getSizes())),
        countPadding(countPadding), last(kernel.size() - 1) {}

  /// Taps of a window along one axis that exist, and how many count.
  struct Range {
    Value start, first, last, count;
  };

  /// Sets the units, and calls `body` for each of this call's share, with the
  /// result's index but for the last axis.
  void eachRow(ArrayRef<Expr> result, int64_t picosecondsPerTap, function_ref<void(Index)> body);
  Range rangeOf(size_t axis, Value output);
  /// Loops over the taps of `ranges`, from spatial axis `axis` on, and sets
  /// their coordinates in x.
  Values foldTaps(ArrayRef<Range> ranges, size_t axis, Index &index, ValueRange carried,
                  function_ref<Values(ValueRange)> inner);
  /// No window along this axis begins before x, or ends behind it.
  bool startsInside(size_t axis) const { return pads[axis].isConstant(0); }
  bool endsInside(size_t axis) const { return pads[last + 1 + axis].isConstant(0) && fits(axis); }
  /// No window ends behind x and the padding after it.
  bool fits(size_t axis) const {
    Expr room = shape[2 + axis] + pads[axis] + pads[last + 1 + axis] - extent(axis);
    return sizes[axis] == Expr::floorDiv(room, strides[axis]) + Expr(1);
  }
  Expr extent(size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }

  Value minimum(Value a, Value b) { return arith::MinSIOp::create(k.b, k.loc, a, b); }
  Value maximum(Value a, Value b) { return arith::MaxSIOp::create(k.b, k.loc, a, b); }
  Value subtract(Value a, Value b) { return arith::SubIOp::create(k.b, k.loc, a, b); }
  Value add(Value a, Value b) { return arith::AddIOp::create(k.b, k.loc, a, b); }
  Value multiply(Value a, Value b) { return arith::MulIOp::create(k.b, k.loc, a, b); }
  Value multiply(Value a, int64_t b) { return b == 1 ? a : multiply(a, k.index(b)); }
  /// ceil(max(a, 0) / b).
  Value stepsTo(Value a, int64_t b) {
    a = maximum(a, k.index(0));
    return b == 1 ? a
                  : Value(arith::DivUIOp::create(k.b, k.loc, add(a, k.index(b - 1)), k.index(b)));
  }

  KernelBuilder &k;
  Value x;
  Shape shape;
  ArrayRef<int64_t> kernel, strides, dilations;
  Shape pads, sizes;
  bool countPadding;
  size_t last; // spatial axis
};

/// Emits pools that fold elements one by one. For a row of the result, the
/// windows are first folded along all other axes, into a row of scratch memory
/// that has the padding of the last axis as well. Along that one, windows then
/// need no test, may be read past the end, and an element is read once for all
/// windows above each other.
class RowPool {
public:
  /// The result from what was folded and the number of elements that count.
  using Finish = function_ref<Value(ElementBuilder &e, Value folded, Value count)>;

  template <typename OpTy>
  RowPool(KernelBuilder &k, OpTy op, FoldKind kind, bool countPadding)
      : k(k), op(op), windows(k, op, countPadding), fold(k, kind, elementTypeOf(op.getX())),
        type(elementTypeOf(op.getX())), lanes(k.commonLanes()) {
    if (isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32)
      type = k.b.getF32Type();
  }

  /// `usesCount` says whether `finish` looks at the count.
  void emit(bool usesCount, Finish finish);

private:
  void foldOthers(ArrayRef<Value> outer, ArrayRef<Windows::Range> ranges);
  void foldAlong(ElementBuilder &e, ArrayRef<Value> outer, Value column, Value count,
                 Finish finish);
  Value load(ElementBuilder &e, Value position);

  KernelBuilder &k;
  Operation *op;
  Windows windows;
  Fold fold;
  Type type; // in scratch memory
  int64_t lanes;
  Buffer row;
};
} // namespace

void Windows::eachRow(ArrayRef<Expr> result, int64_t picosecondsPerTap,
                      function_ref<void(Index)> body) {
  int64_t taps = 1;
  for (int64_t size : kernel)
    taps *= size;
  ArrayRef<Expr> rows = result.drop_back();
  k.setUnits(elementCount(rows), result.back() * Expr(picosecondsPerTap * taps + 200) + Expr(8000));
  SmallVector<Value> sizes = k.sizes(rows);
  k.loop(k.begin, k.end, 1, [&](Value unit) { body(k.elements().delinearize(unit, sizes)); });
}

Windows::Range Windows::rangeOf(size_t axis, Value output) {
  int64_t taps = kernel[axis], dilation = dilations[axis];
  Value all = k.index(taps), size = k.size(shape[2 + axis]);
  Range range;
  range.start = subtract(multiply(output, strides[axis]), k.size(pads[axis]));
  range.first =
      startsInside(axis) ? k.index(0) : stepsTo(subtract(k.index(0), range.start), dilation);
  range.last =
      endsInside(axis) ? all : minimum(stepsTo(subtract(size, range.start), dilation), all);
  if (!countPadding) {
    range.count = maximum(subtract(range.last, range.first), k.index(0));
  } else if (fits(axis)) {
    range.count = all;
  } else {
    Value end = add(size, k.size(pads[last + 1 + axis]));
    range.count = minimum(stepsTo(subtract(end, range.start), dilation), all);
  }
  return range;
}

Values Windows::foldTaps(ArrayRef<Range> ranges, size_t axis, Index &index, ValueRange carried,
                         function_ref<Values(ValueRange)> inner) {
  if (ranges.empty())
    return inner(carried);
  const Range &range = ranges.front();
  return k.loop(range.first, range.last, 1, carried, [&](Value tap, ValueRange values) {
    index[2 + axis] = add(range.start, multiply(tap, dilations[axis]));
    return foldTaps(ranges.drop_front(), axis + 1, index, values, inner);
  });
}

void RowPool::foldOthers(ArrayRef<Value> outer, ArrayRef<Windows::Range> ranges) {
  Value pad = k.size(windows.pads[windows.last]), width = k.size(windows.shape.back());
  // Of two spatial axes, all rows of the window mostly exist: then they are
  // written out.
  int64_t taps = windows.kernel.front();
  bool unroll = ranges.size() == 1 && taps <= longestUnrolled;
  auto foldAt = [&](ElementBuilder &e, Value column, bool all) {
    Index index(outer.begin(), outer.begin() + 2);
    index.resize(windows.shape.size());
    index.back() = column;
    auto element = [&] { return e.splat(e.widen(e.element(windows.x, index))); };
    Value folded;
    if (all) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        index[2] = windows.add(ranges[0].start, k.index(tap * windows.dilations[0]));
        folded = folded ? fold.join(folded, element()) : element();
      }
    } else {
      folded = windows.foldTaps(ranges, 0, index, e.splat(fold.identity()), [&](ValueRange sum) {
        return Values{fold.join(sum[0], element())};
      })[0];
    }
    e.forgetElements();
    e.store(folded, row, e.add(pad, column));
  };
  auto emit = [&](bool all) {
    // Scratch memory may be written twice: the last vector overlaps.
    int64_t known = windows.shape.back().constant().value_or(0);
    Value end = known > lanes ? k.index(known - known % lanes) : width;
    k.vectorLoop(k.index(0), end, lanes,
                 [&](ElementBuilder &e, Value column) { foldAt(e, column, all); });
    if (known > lanes && known % lanes) {
      ElementBuilder e = k.elements(lanes);
      Value column = k.index(known - lanes);
      e.setConsecutive(column);
      foldAt(e, column, all);
    }
  };
  if (!unroll)
    return emit(false);
  if (windows.startsInside(0) && windows.endsInside(0))
    return emit(true);
  Value count = windows.subtract(ranges[0].last, ranges[0].first);
  auto compare = [&](arith::CmpIPredicate predicate) {
    return arith::CmpIOp::create(k.b, k.loc, predicate, count, k.index(taps));
  };
  k.ifThen(compare(arith::CmpIPredicate::eq), [&] { emit(true); });
  k.ifThen(compare(arith::CmpIPredicate::ne), [&] { emit(false); });
}

/// Elements of the scratch row, a stride apart from lane to lane.
Value RowPool::load(ElementBuilder &e, Value position) {
  int64_t stride = windows.strides.back();
  auto vectorOf = [&](int64_t count) { return VectorType::get({count}, e.codeType(type)); };
  if (e.lanes == 1)
    return memref::LoadOp::create(k.b, k.loc, row.memref, position);
  if (stride <= 2) {
    Value loaded =
        vector::LoadOp::create(k.b, k.loc, vectorOf(stride * e.lanes), row.memref, position);
    if (stride == 1)
      return loaded;
    SmallVector<int64_t> even;
    for (int64_t lane = 0; lane < e.lanes; ++lane)
      even.push_back(2 * lane);
    return vector::ShuffleOp::create(k.b, k.loc, loaded, loaded, even);
  }
  Values parts;
  for (int64_t lane = 0; lane < e.lanes; ++lane)
    parts.push_back(memref::LoadOp::create(k.b, k.loc, row.memref,
                                           windows.add(position, k.index(lane * stride))));
  return vector::FromElementsOp::create(k.b, k.loc, vectorOf(e.lanes), parts);
}

void RowPool::foldAlong(ElementBuilder &e, ArrayRef<Value> outer, Value column, Value count,
                        Finish finish) {
  int64_t taps = windows.kernel.back(), dilation = windows.dilations.back();
  // Plain arithmetic: that lanes are a stride apart is load's business.
  Value start = windows.multiply(column, windows.strides.back());
  auto at = [&](Value offset) { return load(e, windows.add(start, offset)); };
  Value folded;
  if (taps <= longestUnrolled) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      Value part = at(k.index(tap * dilation));
      folded = folded ? fold.join(folded, part) : part;
    }
  } else {
    folded = k.loop(k.index(0), k.index(taps), 1, e.splat(fold.identity()),
                    [&](Value tap, ValueRange sum) {
                      return Values{fold.join(sum[0], at(windows.multiply(tap, dilation)))};
                    })[0];
  }
  Value result = finish(e, folded, count);
  e.setSource(op->getResult(0), [result](ElementBuilder &, ArrayRef<Value>) { return result; });
  Index index(outer);
  index.push_back(column);
  k.storeResults(e, index);
}

void RowPool::emit(bool usesCount, Finish finish) {
  size_t last = windows.last;
  Shape result = shapeOf(op->getResult(0));
  Expr width = result.back(), stride = windows.strides[last], pad = windows.pads[last];
  // Padding on both sides, and what the last vector reads too much.
  Expr end = pad + windows.shape.back();
  Expr needed =
      Expr::max(end, (width - Expr(1)) * stride + windows.extent(last)) + Expr(2 * lanes) * stride;
  row = {k.scratchBuffer(k.reserveScratch(needed * Expr(type.getIntOrFloatBitWidth() / 8)), needed,
                         k.elements().codeType(type)),
         type,
         {k.size(needed)}};
  Value padEnd = k.size(pad), rowEnd = k.size(end), zero = k.index(0), one = k.index(1);
  auto fill = [&](Value from, Value to) {
    k.vectorLoop(from, to, lanes,
                 [&](ElementBuilder &e, Value i) { e.store(e.splat(fold.identity()), row, i); });
  };
  fill(zero, padEnd);
  fill(rowEnd, row.sizes[0]);

  // Columns whose windows count in full.
  Value columns = k.size(width), from = zero, to = columns;
  if (usesCount && !(windows.countPadding && windows.fits(last))) {
    if (!windows.countPadding && !windows.startsInside(last))
      from = windows.minimum(windows.stepsTo(padEnd, windows.strides[last]), columns);
    if (windows.countPadding || !windows.endsInside(last)) {
      Expr room = end - windows.extent(last) + Expr(1);
      if (windows.countPadding)
        room = room + windows.pads[2 * last + 1];
      to = windows.minimum(windows.stepsTo(k.size(room), windows.strides[last]), columns);
      to = windows.maximum(from, to);
    }
  }
  windows.eachRow(result, /*picosecondsPerTap=*/30, [&](Index outer) {
    SmallVector<Windows::Range> ranges;
    Value outerCount = one;
    for (size_t axis = 0; axis < last; ++axis) {
      ranges.push_back(windows.rangeOf(axis, outer[2 + axis]));
      outerCount = windows.multiply(outerCount, ranges.back().count);
    }
    foldOthers(outer, ranges);
    auto oneByOne = [&](Value lower, Value upper) {
      if (lower != upper)
        k.loop(lower, upper, 1, [&](Value column) {
          ElementBuilder e = k.elements();
          Value count = windows.multiply(outerCount, windows.rangeOf(last, column).count);
          foldAlong(e, outer, column, count, finish);
        });
    };
    oneByOne(zero, from);
    Value whole = windows.multiply(outerCount, windows.kernel[last]);
    k.vectorLoop(from, to, lanes, [&](ElementBuilder &e, Value column) {
      foldAlong(e, outer, column, whole, finish);
    });
    oneByOne(to, columns);
  });
}

static LogicalResult maxPool(KernelBuilder &k, Operation *anchor) {
  auto op = cast<MaxPoolOp>(anchor);
  Type type = elementTypeOf(op.getX());
  RowPool(k, op, FoldKind::Max, /*countPadding=*/false)
      .emit(/*usesCount=*/false,
            [&](ElementBuilder &e, Value folded, Value) { return e.narrow(folded, type); });
  return success();
}

template <typename OpTy, bool isMean>
static LogicalResult sumPool(KernelBuilder &k, Operation *anchor) {
  auto op = cast<OpTy>(anchor);
  Type type = elementTypeOf(op.getX());
  bool countPadding = false;
  if constexpr (isMean)
    countPadding = op.getCountIncludePad();
  RowPool(k, op, FoldKind::Sum, countPadding)
      .emit(isMean, [&](ElementBuilder &e, Value folded, Value count) {
        if (!isMean)
          return e.narrow(folded, type);
        Value pair[] = {folded, e.fromIndex(count, getElementTypeOrSelf(folded))};
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
  Windows windows(k, op, /*countPadding=*/false);
  SmallVector<Value> sizes = k.sizes(windows.shape);
  Fold fold(k, FoldKind::Max, type);
  auto positionOf = [&](ElementBuilder &e, ArrayRef<Value> index) {
    Index at(index), in(sizes);
    if (op.getColumnMajor()) {
      std::reverse(at.begin() + 2, at.end());
      std::reverse(in.begin() + 2, in.end());
    }
    return e.fromIndex(e.linearize(at, in), i64);
  };
  Shape result = shapeOf(op.getResult());
  Value columns = k.size(result.back());
  windows.eachRow(result, /*picosecondsPerTap=*/1000, [&](Index outer) {
    outer.push_back(nullptr);
    SmallVector<Windows::Range> ranges;
    for (size_t axis = 0; axis < windows.last; ++axis)
      ranges.push_back(windows.rangeOf(axis, outer[2 + axis]));
    k.loop(k.index(0), columns, 1, [&](Value column) {
      ElementBuilder e = k.elements();
      SmallVector<Windows::Range> all(ranges);
      all.push_back(windows.rangeOf(windows.last, column));
      Index index(outer);
      Values best = windows.foldTaps(
          all, 0, index, {fold.identity(), e.intConstant(i64, -1)}, [&](ValueRange carried) {
            Num here(k.b, k.loc, e.widen(e.element(op.getX(), index)));
            Num most = here.with(carried[0]), position = here.with(carried[1]);
            Num better = isUnsigned(type) ? most.below(here) : here > most;
            if (isa<FloatType>(type))
              better = better | (here.isNan() & ~most.isNan());
            better = better | (position < 0.0);
            return Values{better.select(here, most).value,
                          better.select(here.with(positionOf(e, index)), position).value};
          });
      e.forgetElements();
      e.setSource(op.getResult(), [&](ElementBuilder &, ArrayRef<Value>) { return best[1]; });
      outer.back() = column;
      k.storeResults(e, outer);
    });
  });
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
