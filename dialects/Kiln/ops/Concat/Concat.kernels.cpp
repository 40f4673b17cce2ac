//===- Concat.kernels.cpp - Joined tensors, kernels -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Concat/Concat.h"
#include "kiln/Codegen/KernelBuilder.h"
#include "kiln/Codegen/KernelTable.h"

using namespace mlir;
using namespace kiln;

namespace {
/// Copies operand after operand, so that no element asks which one it is of.
class ConcatKernel {
public:
  ConcatKernel(KernelBuilder &k, ConcatOp op)
      : k(k), op(op), shape(shapeOf(op.getResult())), axis(op.getAxis()), lanes(k.commonLanes()) {
    inner = elementCount(ArrayRef(shape).drop_front(axis + 1));
    copiesOnly = k.results().size() == 1 && k.results()[0] == op.getResult();
  }

  void build() {
    constexpr int64_t picoseconds = 200;
    ArrayRef<Expr> outer = ArrayRef(shape).take_front(axis);
    outerSizes = k.sizes(outer);
    total = k.size(shape[axis]);
    if (axis + 1 == shape.size()) {
      k.setUnits(elementCount(outer), shape[axis] * Expr(picoseconds));
      k.loop(k.begin, k.end, 1, [&](Value row) { copyRow(row, k.index(0), total); });
      return;
    }
    // A unit is one coordinate along the axis: rows may be as few as one.
    k.setUnits(elementCount(ArrayRef(shape).take_front(axis + 1)), inner * Expr(picoseconds));
    OpBuilder &b = k.b;
    Value size = arith::MaxSIOp::create(b, k.loc, total, k.index(1));
    Value first = arith::DivUIOp::create(b, k.loc, k.begin, size);
    Value reach =
        arith::SubIOp::create(b, k.loc, arith::AddIOp::create(b, k.loc, k.end, size), k.index(1));
    Value last = arith::DivUIOp::create(b, k.loc, reach, size);
    k.loop(first, last, 1, [&](Value row) {
      Value base = arith::MulIOp::create(b, k.loc, row, total);
      Value from = arith::SubIOp::create(b, k.loc, k.begin, base);
      Value to = arith::SubIOp::create(b, k.loc, k.end, base);
      copyRow(row, arith::MaxSIOp::create(b, k.loc, from, k.index(0)),
              arith::MinSIOp::create(b, k.loc, to, total));
    });
  }

private:
  /// The part [from, to) along the axis of one outer index.
  void copyRow(Value row, Value from, Value to) {
    OpBuilder &b = k.b;
    Index outer = k.elements().delinearize(row, outerSizes);
    Value offset = k.index(0);
    for (Value x : op.getXs()) {
      Value size = k.size(shapeOf(x)[axis]);
      Value next = arith::AddIOp::create(b, k.loc, offset, size);
      Value lower = arith::MaxSIOp::create(b, k.loc, from, offset);
      Value upper = arith::MinSIOp::create(b, k.loc, to, next);
      ElementBuilder e = k.elements();
      const Buffer *buffer = copiesOnly ? e.bufferOf(x) : nullptr;
      if (buffer)
        copyFlat(*buffer, size, row, lower, upper, offset);
      else
        copyPulled(x, outer, lower, upper, offset);
      offset = next;
    }
  }

  /// Elements [lower, upper) x inner lie together on both sides.
  void copyFlat(const Buffer &from, Value size, Value row, Value lower, Value upper, Value offset) {
    OpBuilder &b = k.b;
    auto position = [&](Value axisSize, Value at) -> Value {
      Value line =
          arith::AddIOp::create(b, k.loc, arith::MulIOp::create(b, k.loc, row, axisSize), at);
      return arith::MulIOp::create(b, k.loc, line, k.size(inner));
    };
    Value source = position(size, arith::SubIOp::create(b, k.loc, lower, offset));
    Value target = position(total, lower);
    Value count = arith::MulIOp::create(b, k.loc, arith::SubIOp::create(b, k.loc, upper, lower),
                                        k.size(inner));
    Buffer x = flat(from), y = flat(k.resultBuffer(0));
    k.vectorLoop(k.index(0), count, k.target.lanes(from.elementType),
                 [&](ElementBuilder &e, Value i) {
                   e.store(e.load(x, e.add(source, i)), y, e.add(target, i));
                 });
  }

  static Buffer flat(const Buffer &buffer) {
    return {buffer.memref, buffer.elementType, {buffer.sizes.front()}};
  }

  void copyPulled(Value x, const Index &outer, Value lower, Value upper, Value offset) {
    auto store = [&](ElementBuilder &e, ArrayRef<Value> index) {
      e.setSource(op.getResult(), [&](ElementBuilder &e, ArrayRef<Value> index) {
        Index at(index);
        at[axis] = e.sub(at[axis], offset);
        return e.element(x, at);
      });
      k.storeResults(e, index);
    };
    auto along = [&](Value i) {
      Index index(outer);
      index.push_back(i);
      return index;
    };
    if (axis + 1 == shape.size())
      return k.vectorLoop(lower, upper, lanes,
                          [&](ElementBuilder &e, Value i) { store(e, along(i)); });
    SmallVector<Value> innerSizes = k.sizes(ArrayRef(shape).drop_front(axis + 1));
    k.loop(lower, upper, 1, [&](Value i) { k.nest(along(i), innerSizes, lanes, store); });
  }

  KernelBuilder &k;
  ConcatOp op;
  Shape shape;
  size_t axis;
  int64_t lanes;
  Expr inner;
  bool copiesOnly;
  SmallVector<Value> outerSizes;
  Value total;
};
} // namespace

static LogicalResult concat(KernelBuilder &k, Operation *anchor) {
  ConcatKernel(k, ::cast<ConcatOp>(anchor)).build();
  return success();
}

namespace kiln {
void registerConcatKernels(KernelTable &table);
} // namespace kiln

void kiln::registerConcatKernels(KernelTable &table) {
  table.addAnchor<ConcatOp>("concat", concat, /*pullsOperands=*/true, /*takesEpilogue=*/true);
}
