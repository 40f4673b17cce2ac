//===- Quantize.kernels.cpp - Floats as scaled integers, kernels ----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Quantize/Quantize.h"
#include "kiln/Codegen/KernelTable.h"
#include "kiln/Codegen/Num.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kiln;

/// The element of a scale or zero point for an element of x.
template <typename OpTy>
static Value parameter(ElementBuilder &e, OpTy op, Value tensor, ArrayRef<Value> index) {
  Shape shape = shapeOf(op.getX());
  Index at(index);
  if (int64_t size = op.getBlockSize(); size > 0) {
    auto axis = static_cast<size_t>(op.getAxis());
    Value position = at[axis];
    if (e.isConsecutive(position))
      position = e.scattered(position);
    at[axis] = e.div(position, e.index(size));
    shape[axis] = Expr::ceilDiv(shape[axis], size);
  }
  return e.broadcastElement(tensor, at, shape);
}

/// `like`'s lanes, `scalar`'s type.
template <typename ConvertOp> static Num convert(Num x, Type scalar) {
  return x.make<ConvertOp>(x.typeOf(scalar), x.value);
}

/// The zero point's element as an i32.
template <typename OpTy> static Num zeroPoint(ElementBuilder &e, OpTy op, ArrayRef<Value> index) {
  Type type = elementTypeOf(op.getZeroPoint());
  Value zero = parameter(e, op, op.getZeroPoint(), index);
  return Num(e.b, e.loc, e.convert(zero, type, e.b.getI32Type()));
}

static Value quantize(ElementBuilder &e, Operation *operation, unsigned, ArrayRef<Value> index) {
  auto op = cast<QuantizeOp>(operation);
  Type type = elementTypeOf(op.getX()), result = elementTypeOf(op.getY());
  Value operands[] = {e.element(op.getX(), index), parameter(e, op, op.getScale(), index)};
  e.unify(operands);
  Num scale(e.b, e.loc, e.widen(operands[1]));
  Num quotient = scale.with(e.widen(operands[0])) / scale;
  quotient = quotient.with(e.narrow(quotient.value, type));
  if (isSmallFloat(result))
    return e.convert(quotient.value, type, result, op.getSaturate());
  Value all[] = {e.widen(quotient.value), zeroPoint(e, op, index).value};
  e.unify(all);
  quotient = quotient.with(all[0]);
  // Before the sum, so that the conversion is defined: no sum of a number
  // beyond 2^20 lies in 16 bits.
  constexpr double beyond = 0x1p20;
  Num rounded = quotient.apply<math::RoundEvenOp>();
  rounded = (rounded >= -beyond).select(rounded, rounded.constant(-beyond));
  rounded = atMost(rounded, beyond);
  Num sum = convert<arith::FPToSIOp>(rounded, e.b.getI32Type()) + quotient.with(all[1]);
  unsigned bits = result.getIntOrFloatBitWidth();
  bool isSigned = !isUnsigned(result);
  Num low = sum.integer(isSigned ? llvm::minIntN(bits) : 0);
  Num high = sum.integer(isSigned ? llvm::maxIntN(bits) : (int64_t(1) << bits) - 1);
  Num saturated =
      sum.make<arith::MinSIOp>(sum.make<arith::MaxSIOp>(sum.value, low.value).value, high.value);
  return convert<arith::TruncIOp>(saturated, e.codeType(result)).value;
}

static Value dequantize(ElementBuilder &e, Operation *operation, unsigned, ArrayRef<Value> index) {
  auto op = cast<DequantizeOp>(operation);
  Type type = elementTypeOf(op.getX()), to = op.getTo(), scaleType = elementTypeOf(op.getScale());
  Type computed = to.isF64() || scaleType.isF64() ? Type(e.b.getF64Type()) : e.b.getF32Type();
  bool isFloat = isSmallFloat(type);
  Value x = e.convert(e.element(op.getX(), index), type, isFloat ? computed : e.b.getI32Type());
  Value all[] = {x, e.convert(parameter(e, op, op.getScale(), index), scaleType, computed), x};
  bool isShifted = !isFloat && splatOf(op.getZeroPoint()) != 0.0;
  if (isShifted)
    all[2] = zeroPoint(e, op, index).value;
  e.unify(all);
  Num integer(e.b, e.loc, all[0]);
  if (isShifted)
    integer = integer - integer.with(all[2]);
  Num number = isFloat ? integer : convert<arith::SIToFPOp>(integer, computed);
  Num y = number * integer.with(all[1]);
  return e.convert(y.value, computed, to);
}

namespace kiln {
void registerQuantizeKernels(KernelTable &table);
} // namespace kiln

void kiln::registerQuantizeKernels(KernelTable &table) {
  table.addPointwise<QuantizeOp>(quantize);
  table.addPointwise<DequantizeOp>(dequantize);
}
