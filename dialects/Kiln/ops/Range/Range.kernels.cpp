//===- Range.kernels.cpp - Evenly spaced numbers, kernels -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Range/Range.h"
#include "kiln/Codegen/KernelTable.h"
#include "kiln/Codegen/Num.h"

using namespace mlir;
using namespace kiln;

static Value range(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  Type type = elementTypeOf(op->getResult(0));
  Type inCode = type;
  if (isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32)
    inCode = e.b.getF32Type();
  Value all[] = {e.widen(e.element(op->getOperand(0), {})),
                 e.widen(e.element(op->getOperand(1), {})), e.fromIndex(index[0], inCode)};
  e.unify(all);
  if (isa<FloatType>(type)) {
    Value offset = arith::MulFOp::create(e.b, e.loc, all[2], all[1]);
    return e.narrow(arith::AddFOp::create(e.b, e.loc, all[0], offset), type);
  }
  Value offset = arith::MulIOp::create(e.b, e.loc, all[2], all[1]);
  return arith::AddIOp::create(e.b, e.loc, all[0], offset);
}

static Value rangeCount(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value>) {
  Type type = elementTypeOf(op->getOperand(0)), i64 = e.b.getI64Type(), f64 = e.b.getF64Type();
  bool isFloat = isa<FloatType>(type);
  auto read = [&](unsigned i) {
    return Num(e.b, e.loc, e.convert(e.element(op->getOperand(i), {}), type, isFloat ? f64 : i64));
  };
  Num start = read(0), limit = read(1), delta = read(2), distance = limit - start;
  if (isFloat) {
    Num exact = (distance / delta).apply<math::CeilOp>();
    // Conversion saturates: what no run could hold is refused when it is bound.
    Num count = delta.with(e.convert(exact.value, f64, i64));
    Num zero = count.constant(0);
    return (delta == 0).select(count.integer(-1), (count < zero).select(zero, count)).value;
  }
  Num zero = start.constant(0), one = start.constant(1);
  Num backwards = delta < zero;
  Num length = backwards.select(-distance, distance), step = backwards.select(-delta, delta);
  step = (step == zero).select(one, step);
  Num count =
      delta.with(arith::DivSIOp::create(e.b, e.loc, (length + step - one).value, step.value));
  count = (length < zero).select(zero, count);
  return (delta == zero).select(count.integer(-1), count).value;
}

namespace kiln {
void registerRangeKernels(KernelTable &table);
} // namespace kiln

void kiln::registerRangeKernels(KernelTable &table) {
  table.addElement<RangeOp>(range, Reads::Often);
  table.addElement<RangeCountOp>(rangeCount);
}
