//===- RoiAlign.kernels.cpp - Samples of regions of an image, kernels -----===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/RoiAlign/RoiAlign.h"
#include "kiln/Codegen/KernelBuilder.h"
#include "kiln/Codegen/Num.h"

using namespace mlir;
using namespace kiln;

namespace {
using Values = SmallVector<Value>;

/// Scalar code for one region along one axis.
class Side {
public:
  Side(ElementBuilder &e, RoiAlignOp op, Num from, Num to, int64_t bins, Value size)
      : e(e), size(size), sizeNumber(from.with(e.fromIndex(size, from.type()))), start(from),
        bin(from), sampleNumber(from) {
    double scale = op.getScale().convertToDouble(), shift = op.getHalfPixel() ? 0.5 : 0;
    start = from * scale - shift;
    Num length = to * scale - shift - start;
    if (!op.getHalfPixel())
      length = atLeast(length, 1);
    bin = length / static_cast<double>(bins);
    if (op.getSamplingRatio()) {
      sampleNumber = bin.constant(static_cast<double>(op.getSamplingRatio()));
    } else {
      // Bounded, whatever the region says; NaN gives none.
      Num pixels = atMost(atLeast(bin.apply<math::CeilOp>(), 0), 65536);
      sampleNumber = pixels.isNan().select(bin.constant(0), pixels);
    }
    samples = toIndex(sampleNumber);
  }

  Num at(Value index, Value sample) const {
    Num i = number(index), s = number(sample);
    return start + i * bin + (s + 0.5) * bin / sampleNumber;
  }
  Num isInside(const Num &position) const { return (position >= -1.0) & (position <= sizeNumber); }
  /// The pixels around a position that is inside, and the second one's weight.
  std::pair<Value, Value> pixels(Num position, Num &weight) const {
    position = atLeast(position, 0);
    Value one = e.index(1), last = arith::SubIOp::create(e.b, e.loc, size, one);
    Value low = arith::MinSIOp::create(e.b, e.loc, toIndex(position), last);
    Value next = arith::AddIOp::create(e.b, e.loc, low, one);
    Value high = arith::MinSIOp::create(e.b, e.loc, next, last);
    Num same =
        position.with(arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::eq, low, high));
    weight = same.select(position.constant(0), position - number(low));
    return {low, high};
  }

  Value samples;

private:
  Num number(Value index) const { return start.with(e.fromIndex(index, start.type())); }
  Value toIndex(const Num &value) const {
    Value integer = arith::FPToSIOp::create(e.b, e.loc, e.b.getI64Type(), value.value);
    return arith::IndexCastOp::create(e.b, e.loc, e.b.getIndexType(), integer);
  }

  ElementBuilder &e;
  Value size;
  Num sizeNumber, start, bin, sampleNumber;
};
} // namespace

/// A unit is one channel of one region.
static LogicalResult roiAlign(KernelBuilder &k, Operation *anchor) {
  auto op = cast<RoiAlignOp>(anchor);
  Type type = elementTypeOf(op.getX());
  Shape shape = shapeOf(op.getX()), result = shapeOf(op.getResult());
  int64_t height = *result[2].constant(), width = *result[3].constant();
  k.setUnits(result[0] * result[1], Expr(height * width * 40000));
  SmallVector<Value> units{k.size(result[0]), k.size(result[1])};
  Value zero = k.index(0), rows = k.size(shape[2]), columns = k.size(shape[3]);
  Value lastBatch = arith::SubIOp::create(k.b, k.loc, k.size(shape[0]), k.index(1));
  Value exists = arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::sgt,
                                       k.size(elementCount(shape)), zero);
  k.loop(k.begin, k.end, 1, [&](Value unit) {
    ElementBuilder e = k.elements();
    auto num = [&](Value value) { return Num(k.b, k.loc, value); };
    Index at = e.delinearize(unit, units);
    Value region = at[0], channel = at[1];
    auto corner = [&](int64_t which) {
      return num(e.widen(e.element(op.getRois(), {region, k.index(which)})));
    };
    Num x1 = corner(0), y1 = corner(1), x2 = corner(2), y2 = corner(3);
    Side vertical(e, op, y1, y2, height, rows), horizontal(e, op, x1, x2, width, columns);
    Value batch = e.toIndex(e.element(op.getBatchIndices(), region), k.b.getI64Type());
    batch = arith::MaxSIOp::create(k.b, k.loc, arith::MinSIOp::create(k.b, k.loc, batch, lastBatch),
                                   zero);

    // The four weighted pixels of a sample, joined.
    auto sample = [&](const Num &v, const Num &h) {
      Num down = v, right = h;
      auto row = vertical.pixels(v, down);
      auto column = horizontal.pixels(h, right);
      auto part = [&](Value i, Value j, const Num &weight) {
        return weight * num(e.widen(e.element(op.getX(), {batch, channel, i, j})));
      };
      Num up = 1.0 - down, left = 1.0 - right;
      Num a = part(row.first, column.first, up * left),
          b = part(row.first, column.second, up * right),
          c = part(row.second, column.first, down * left),
          d = part(row.second, column.second, down * right);
      return op.getMaximum() ? atLeast(atLeast(a, b), atLeast(c, d)) : (a + b) + (c + d);
    };
    Num none = x1.constant(op.getMaximum() ? -std::numeric_limits<double>::infinity() : 0);
    k.loop(zero, k.index(height), 1, [&](Value ph) {
      k.loop(zero, k.index(width), 1, [&](Value pw) {
        Values total =
            k.loop(zero, vertical.samples, 1, none.value, [&](Value iy, ValueRange outer) {
              Num v = vertical.at(ph, iy);
              return k.loop(zero, horizontal.samples, 1, outer, [&](Value ix, ValueRange carried) {
                Num h = horizontal.at(pw, ix);
                Num inside = vertical.isInside(v) & horizontal.isInside(h) & num(exists);
                Num value = num(e.branch(
                    inside.value, [&] { return sample(v, h).value; },
                    [&] { return v.constant(0).value; }));
                Num sum = num(carried[0]);
                return Values{(op.getMaximum() ? atLeast(sum, value) : sum + value).value};
              });
            });
        Value count = arith::MaxSIOp::create(
            k.b, k.loc, arith::MulIOp::create(k.b, k.loc, vertical.samples, horizontal.samples),
            k.index(1));
        Num y = num(total[0]);
        if (op.getMaximum())
          y = (y == none).select(y.constant(0), y);
        else
          y = y / y.with(e.fromIndex(count, y.type()));
        ElementBuilder store = k.elements();
        store.store(store.narrow(y.value, type), k.resultBuffer(0), {region, channel, ph, pw});
      });
    });
  });
  return success();
}

namespace kiln {
void registerRoiAlignKernels(KernelTable &table);
} // namespace kiln

void kiln::registerRoiAlignKernels(KernelTable &table) {
  table.addAnchor<RoiAlignOp>("roi-align", roiAlign, /*pullsOperands=*/false,
                              /*takesEpilogue=*/false);
}
