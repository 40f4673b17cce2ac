//===- Pad.kernels.cpp - Elements around a tensor, kernels ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Pad/Pad.h"
#include "kiln/Codegen/KernelTable.h"
#include <functional>

using namespace mlir;
using namespace kiln;

namespace {
/// One element of a padded tensor. Along the lanes most pieces lie inside as a
/// whole; only those at an edge are taken apart.
class PadElement {
public:
  PadElement(PadOp op)
      : op(op), sizes(shapeOf(op.getX())), before(exprsOf(op.getBefore())),
        after(exprsOf(op.getAfter())) {}

  Value at(ElementBuilder &e, ArrayRef<Value> index) {
    Index source(index);
    std::optional<size_t> lanesAxis;
    for (size_t i = 0; i < source.size(); ++i) {
      source[i] = e.sub(source[i], e.size(before[i]));
      if (isPadded(i) && e.isConsecutive(source[i]))
        lanesAxis = i;
    }
    if (op.getMode() != "constant")
      return showing(e, source, lanesAxis);
    auto inside = [&](ElementBuilder &e, ArrayRef<Value> source) {
      if (!lanesAxis || e.lanes == 1)
        return e.element(op.getX(), source);
      auto scalar = [&](ElementBuilder &e, ArrayRef<Value> at) {
        return guarded(e, at, *lanesAxis, [&] { return e.element(op.getX(), at); });
      };
      return e.branch(
          liesInside(e, source[*lanesAxis], *lanesAxis),
          [&] { return e.element(op.getX(), source); }, [&] { return e.eachLane(source, scalar); });
    };
    // One axis after the other decides, the lanes' own one last.
    std::function<Value(size_t)> decide = [&](size_t axis) -> Value {
      if (axis == source.size())
        return inside(e, source);
      if (!isPadded(axis) || (lanesAxis == axis && e.lanes > 1))
        return decide(axis + 1);
      return guarded(e, source, axis, [&] { return decide(axis + 1); });
    };
    return decide(0);
  }

private:
  bool isPadded(size_t axis) { return !before[axis].isConstant(0) || !after[axis].isConstant(0); }

  /// Whether place `at` (lane 0's) and, on lanes, all the others lie in x.
  Value liesInside(ElementBuilder &e, Value at, size_t axis) {
    OpBuilder &b = e.b;
    int64_t lanes = e.isConsecutive(at) ? e.lanes : 1;
    Value last = arith::SubIOp::create(b, e.loc, e.size(sizes[axis]), e.index(lanes));
    Value low = arith::CmpIOp::create(b, e.loc, arith::CmpIPredicate::sge, at, e.index(0));
    Value high = arith::CmpIOp::create(b, e.loc, arith::CmpIPredicate::sle, at, last);
    return arith::AndIOp::create(b, e.loc, low, high);
  }

  Value guarded(ElementBuilder &e, ArrayRef<Value> source, size_t axis,
                function_ref<Value()> inside) {
    return e.branch(liesInside(e, source[axis], axis), inside,
                    [&] { return e.element(op.getValue(), {}); });
  }

  /// Modes that show an element of x at every place.
  Value showing(ElementBuilder &e, Index source, std::optional<size_t> lanesAxis) {
    auto shown = [&] {
      Index at(source);
      for (size_t i = 0; i < at.size(); ++i)
        if (isPadded(i))
          at[i] = placeOf(e, at[i], sizes[i]);
      return e.element(op.getX(), at);
    };
    if (!lanesAxis || e.lanes == 1)
      return shown();
    return e.branch(
        liesInside(e, source[*lanesAxis], *lanesAxis),
        [&] {
          Index at(source);
          for (size_t i = 0; i < at.size(); ++i)
            if (isPadded(i) && i != *lanesAxis)
              at[i] = placeOf(e, at[i], sizes[i]);
          return e.element(op.getX(), at);
        },
        shown);
  }

  Value placeOf(ElementBuilder &e, Value at, const Expr &dim) {
    at = e.isConsecutive(at) ? e.scattered(at) : at;
    Value size = e.size(dim), zero = e.index(0);
    Value last = e.sub(size, e.index(1));
    if (op.getMode() == "edge")
      return e.maxIndex(e.minIndex(at, last), zero);
    if (op.getMode() == "reflect") {
      auto magnitude = [&](Value x) { return e.maxIndex(x, negate(e, x)); };
      return e.add(negate(e, magnitude(e.add(negate(e, magnitude(at)), last))), last);
    }
    // x - size*floor(x/size), where the division truncates.
    Value sizes = isa<VectorType>(at.getType()) ? e.scattered(size) : size;
    Value rest = arith::RemSIOp::create(e.b, e.loc, at, sizes);
    Value below = e.compare(arith::CmpIPredicate::slt, rest, zero);
    return e.selectIndex(below, e.add(rest, size), rest);
  }

  static Value negate(ElementBuilder &e, Value x) {
    Value zero = arith::ConstantOp::create(e.b, e.loc, e.b.getZeroAttr(x.getType()));
    return arith::SubIOp::create(e.b, e.loc, zero, x);
  }

  PadOp op;
  Shape sizes, before, after;
};
} // namespace

static Value pad(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  return PadElement(::cast<PadOp>(op)).at(e, index);
}

namespace kiln {
void registerPadKernels(KernelTable &table);
} // namespace kiln

void kiln::registerPadKernels(KernelTable &table) { table.addElement<PadOp>(pad); }
