//===- ElementwiseBinary.kernels.cpp - Ops on two elements, broadcast, kernels ---===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "kiln/Codegen/KernelTable.h"

using namespace mlir;
using namespace kiln;

/// The operands' elements at a result index, widened and with lanes unified.
static std::pair<Value, Value> operandsAt(ElementBuilder &e, Operation *op, ArrayRef<Value> index) {
  Shape shape = shapeOf(op->getResult(0));
  Value pair[] = {e.widen(e.broadcastElement(op->getOperand(0), index, shape)),
                  e.widen(e.broadcastElement(op->getOperand(1), index, shape))};
  e.unify(pair);
  return {pair[0], pair[1]};
}

/// One arith op for floats, one for integers.
template <typename FloatOp, typename IntOp>
static Value arithmetic(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  Type type = elementTypeOf(op->getOperand(0));
  auto [a, b] = operandsAt(e, op, index);
  if (isa<FloatType>(type))
    return e.narrow(FloatOp::create(e.b, e.loc, a, b), type);
  return IntOp::create(e.b, e.loc, a, b);
}

static Value div(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  Type type = elementTypeOf(op->getOperand(0));
  auto [a, b] = operandsAt(e, op, index);
  if (isa<FloatType>(type))
    return e.narrow(arith::DivFOp::create(e.b, e.loc, a, b), type);
  // Division by 0, and of the least integer by -1, must not trap: divide by 1
  // instead and mend the result.
  Value zero = e.splat(e.intConstant(type, 0)), one = e.splat(e.intConstant(type, 1));
  bool vector = isa<VectorType>(a.getType());
  if (!vector)
    zero = e.intConstant(type, 0), one = e.intConstant(type, 1);
  Value byZero = arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::eq, b, zero);
  if (isUnsigned(type)) {
    Value quotient =
        arith::DivUIOp::create(e.b, e.loc, a, arith::SelectOp::create(e.b, e.loc, byZero, one, b));
    return arith::SelectOp::create(e.b, e.loc, byZero, zero, quotient);
  }
  Value minusOne = vector ? e.splat(e.intConstant(type, -1)) : e.intConstant(type, -1);
  Value byMinusOne = arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::eq, b, minusOne);
  Value unsafe = arith::OrIOp::create(e.b, e.loc, byZero, byMinusOne);
  Value quotient =
      arith::DivSIOp::create(e.b, e.loc, a, arith::SelectOp::create(e.b, e.loc, unsafe, one, b));
  Value negated = arith::SubIOp::create(e.b, e.loc, zero, a);
  quotient = arith::SelectOp::create(e.b, e.loc, byMinusOne, negated, quotient);
  return arith::SelectOp::create(e.b, e.loc, byZero, zero, quotient);
}

namespace kiln {
void registerElementwiseBinaryKernels(KernelTable &table);
} // namespace kiln

void kiln::registerElementwiseBinaryKernels(KernelTable &table) {
  table.addPointwise<AddOp>(arithmetic<arith::AddFOp, arith::AddIOp>);
  table.addPointwise<SubOp>(arithmetic<arith::SubFOp, arith::SubIOp>);
  table.addPointwise<MulOp>(arithmetic<arith::MulFOp, arith::MulIOp>);
  table.addPointwise<DivOp>(div);
}
