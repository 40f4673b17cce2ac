//===- Slice.kernels.cpp - Parts of tensors, kernels ----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Slice/Slice.h"
#include "kiln/Codegen/KernelTable.h"
#include "kiln/Codegen/Num.h"
#include <limits>

using namespace mlir;
using namespace kiln;

static Value slice(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  auto slice = ::cast<SliceOp>(op);
  Index at(index);
  for (auto [i, start, step] :
       llvm::zip_equal(at, exprsOf(slice.getStarts()), exprsOf(slice.getSteps()))) {
    if (!step.isConstant(1))
      i = e.mul(e.isConsecutive(i) ? e.scattered(i) : i, e.size(step));
    i = e.add(i, e.size(start));
  }
  return e.element(slice.getX(), at);
}
/// Few elements: each is computed from all operands, and the wanted one picked.
static Value sliceBounds(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  auto bounds = ::cast<SliceBoundsOp>(op);
  Type type = e.b.getI64Type();
  if (e.isConsecutive(index[1]))
    return e.giveUp(type);
  Num axis(e.b, e.loc, e.fromIndex(index[1], type));
  auto read = [&](Value tensor, int64_t i) { return axis.with(e.element(tensor, e.index(i))); };
  auto clamp = [&](const Num &x, const Num &low, const Num &high) {
    Num atMost = (x < high).select(x, high);
    return (atMost < low).select(low, atMost);
  };
  Shape dims = exprsOf(bounds.getDims());
  auto rank = static_cast<int64_t>(dims.size());
  Num zero = axis.integer(0), one = axis.integer(1), minusOne = axis.integer(-1);
  Num dim = zero, start = zero, end = axis.integer(std::numeric_limits<int64_t>::max()), step = one;
  for (auto [i, size] : llvm::enumerate(dims))
    dim = (axis == axis.integer(static_cast<int64_t>(i)))
              .select(axis.with(e.fromIndex(e.size(size), type)), dim);
  for (int64_t i = 0, count = *shapeOf(bounds.getAxes())[0].constant(); i < count; ++i) {
    Num here = read(bounds.getAxes(), i);
    Num isHere = (here < zero).select(here + axis.integer(rank), here) == axis;
    start = isHere.select(read(bounds.getStarts(), i), start);
    end = isHere.select(read(bounds.getEnds(), i), end);
    step = isHere.select(read(bounds.getSteps(), i), step);
  }
  Num far = axis.integer(INT64_C(1) << 31);
  step = clamp(step, -far, far);
  start = (start < zero).select(start + dim, start);
  end = (end < zero).select(end + dim, end);
  Num last = dim - one, backwards = step < zero;
  start = backwards.select(clamp(start, zero, last), clamp(start, zero, dim));
  Num length = backwards.select(start - clamp(end, minusOne, last), clamp(end, zero, dim) - start);
  Num stride = backwards.select(-step, step), isNone = (length <= zero) | (step == zero);
  stride = (stride == zero).select(one, stride);
  Num size =
      axis.with(arith::DivSIOp::create(e.b, e.loc, (length - one).value, stride.value)) + one;
  size = isNone.select(zero, (size < dim).select(size, dim));
  start = (size == zero).select(zero, start);
  Num row(e.b, e.loc, e.fromIndex(index[0], type));
  return (row == zero).select(start, (row == one).select(size, step)).value;
}

namespace kiln {
void registerSliceKernels(KernelTable &table);
} // namespace kiln

void kiln::registerSliceKernels(KernelTable &table) {
  table.addElement<SliceOp>(slice);
  table.addElement<SliceBoundsOp>(sliceBounds);
}
