//===- ElementMath.cpp - Arithmetic on elements ---------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SmallFloats.h"
#include "kiln/Codegen/ElementBuilder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kiln;

Type ElementBuilder::codeType(Type elementType) const {
  if (isSmallFloat(elementType))
    return b.getI8Type();
  return elementType.isInteger() ? b.getIntegerType(elementType.getIntOrFloatBitWidth())
                                 : elementType;
}

Value ElementBuilder::constant(Type elementType, double value) {
  if (isSmallFloat(elementType)) {
    auto type = cast<FloatType>(elementType);
    APInt bits = b.getFloatAttr(type, value).getValue().bitcastToAPInt();
    return intConstant(b.getI8Type(), static_cast<int64_t>(bits.getZExtValue()));
  }
  if (isa<FloatType>(elementType))
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(elementType, value));
  return intConstant(elementType, static_cast<int64_t>(value));
}

Value ElementBuilder::intConstant(Type elementType, int64_t value) {
  unsigned bits = elementType.getIntOrFloatBitWidth();
  return arith::ConstantOp::create(
      b, loc,
      b.getIntegerAttr(b.getIntegerType(bits),
                       APInt(bits, static_cast<uint64_t>(value), false, true)));
}

Value ElementBuilder::splat(Value element) {
  if (lanes == 1 || isa<VectorType>(element.getType()))
    return element;
  return vector::BroadcastOp::create(b, loc, VectorType::get({lanes}, element.getType()), element);
}

void ElementBuilder::unify(MutableArrayRef<Value> values) {
  if (llvm::any_of(values, [](Value v) { return isa<VectorType>(v.getType()); }))
    for (Value &value : values)
      value = splat(value);
}

/// Saturates; NaN gives 0.
static Value floatToInt(ElementBuilder &e, Value x, Type to) {
  OpBuilder &b = e.b;
  Type from = getElementTypeOrSelf(x);
  unsigned bits = to.getIntOrFloatBitWidth();
  bool isUnsigned = to.isUnsignedInteger();
  auto splatOf = [&](Value scalar) {
    Value pair[] = {x, scalar};
    e.unify(pair);
    return pair[1];
  };
  auto floatValue = [&](double value) { return splatOf(e.constant(from, value)); };
  auto intValue = [&](int64_t value) { return splatOf(e.intConstant(to, value)); };
  Value low = floatValue(isUnsigned ? 0.0 : -std::ldexp(1.0, static_cast<int>(bits) - 1));
  Value limit = floatValue(std::ldexp(1.0, static_cast<int>(isUnsigned ? bits : bits - 1)));
  auto compare = [&](arith::CmpFPredicate predicate, Value a, Value c) {
    return arith::CmpFOp::create(b, e.loc, predicate, a, c);
  };
  Value small = compare(arith::CmpFPredicate::OLT, x, low),
        large = compare(arith::CmpFPredicate::OGE, x, limit);
  Value outside = arith::OrIOp::create(b, e.loc, compare(arith::CmpFPredicate::UNO, x, x),
                                       arith::OrIOp::create(b, e.loc, small, large));
  Value safe = arith::SelectOp::create(b, e.loc, outside, floatValue(0), x);
  Type target = withLanesOf(x, e.codeType(to));
  Value result = isUnsigned ? Value(arith::FPToUIOp::create(b, e.loc, target, safe))
                            : Value(arith::FPToSIOp::create(b, e.loc, target, safe));
  int64_t least = isUnsigned ? 0 : llvm::minIntN(bits);
  int64_t most = isUnsigned ? static_cast<int64_t>(llvm::maxUIntN(bits)) : llvm::maxIntN(bits);
  result = arith::SelectOp::create(b, e.loc, large, intValue(most), result);
  return arith::SelectOp::create(b, e.loc, small, intValue(least), result);
}

Value ElementBuilder::convert(Value x, Type from, Type to, bool saturate) {
  if (from == to)
    return x;
  Type f32 = b.getF32Type();
  if (isSmallFloat(from))
    return convert(decodeSmallFloat(Num(b, loc, x), from).value, f32, to, saturate);
  if (isSmallFloat(to))
    return encodeSmallFloat(Num(b, loc, convert(x, from, f32)), to, saturate).value;
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  Type target = withLanesOf(x, codeType(to));
  if (to.isInteger(1)) {
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(x.getType()));
    if (fromFloat)
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, x, zero);
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, x, zero);
  }
  if (fromFloat && toFloat) {
    // Two halves of one width (f16, bf16) meet in f32.
    if (fromFloat.getWidth() == toFloat.getWidth())
      return convert(convert(x, from, b.getF32Type()), b.getF32Type(), to);
    if (fromFloat.getWidth() < toFloat.getWidth())
      return arith::ExtFOp::create(b, loc, target, x);
    return arith::TruncFOp::create(b, loc, target, x);
  }
  if (fromFloat && to.getIntOrFloatBitWidth() < 8)
    return convert(convert(x, from, b.getI32Type()), b.getI32Type(), to);
  if (fromFloat)
    return floatToInt(*this, widen(x), to);
  if (toFloat) {
    Value wide = toFloat.getWidth() < 32 ? convert(x, from, b.getF32Type()) : Value();
    if (wide)
      return convert(wide, b.getF32Type(), to);
    if (isUnsigned(from))
      return arith::UIToFPOp::create(b, loc, target, x);
    return arith::SIToFPOp::create(b, loc, target, x);
  }
  unsigned width = from.getIntOrFloatBitWidth(), wanted = to.getIntOrFloatBitWidth();
  if (width == wanted)
    return x;
  if (width > wanted)
    return arith::TruncIOp::create(b, loc, target, x);
  if (isUnsigned(from))
    return arith::ExtUIOp::create(b, loc, target, x);
  return arith::ExtSIOp::create(b, loc, target, x);
}

Value ElementBuilder::widen(Value x) {
  Type type = getElementTypeOrSelf(x);
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32
             ? convert(x, type, b.getF32Type())
             : x;
}

Value ElementBuilder::narrow(Value x, Type elementType) {
  Type type = getElementTypeOrSelf(x);
  return isa<FloatType>(type) && isa<FloatType>(elementType) ? convert(x, type, elementType) : x;
}

std::pair<Value, Value> ElementBuilder::compareTotally(Value x, Value y, Type elementType) {
  Value pair[] = {widen(x), widen(y)};
  unify(pair);
  auto [a, c] = pair;
  if (!isa<FloatType>(elementType)) {
    auto less = isUnsigned(elementType) ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
    return {arith::CmpIOp::create(b, loc, less, a, c),
            arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, a, c)};
  }
  auto compareFloats = [&](arith::CmpFPredicate predicate, Value p, Value q) {
    return arith::CmpFOp::create(b, loc, predicate, p, q);
  };
  Value xIsNaN = compareFloats(arith::CmpFPredicate::UNO, a, a),
        yIsNaN = compareFloats(arith::CmpFPredicate::UNO, c, c);
  // "Less or unordered" is wrong only where a is the NaN.
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(xIsNaN.getType()));
  Value less =
      arith::SelectOp::create(b, loc, xIsNaN, zero, compareFloats(arith::CmpFPredicate::ULT, a, c));
  Value equal = arith::OrIOp::create(b, loc, compareFloats(arith::CmpFPredicate::OEQ, a, c),
                                     arith::AndIOp::create(b, loc, xIsNaN, yIsNaN));
  return {less, equal};
}

Value ElementBuilder::select(Value condition, Value x, Value y) {
  Value all[] = {condition, x, y};
  unify(all);
  return arith::SelectOp::create(b, loc, all[0], all[1], all[2]);
}

Value ElementBuilder::compare(arith::CmpIPredicate predicate, Value x, Value y) {
  if (isConsecutive(x) || isConsecutive(y))
    x = scattered(x);
  std::tie(x, y) = unifyIndices(x, y);
  return arith::CmpIOp::create(b, loc, predicate, x, y);
}

Value ElementBuilder::branch(Value condition, function_ref<Value()> then,
                             function_ref<Value()> otherwise) {
  if (isa<VectorType>(condition.getType())) {
    Value value = then();
    return giveUp(getElementTypeOrSelf(value));
  }
  // What is computed inside does not dominate what comes after.
  auto saved = memo;
  OperationState state(loc, scf::IfOp::getOperationName());
  state.addOperands(condition);
  Value values[2];
  Block *blocks[2];
  function_ref<Value()> bodies[] = {then, otherwise};
  {
    OpBuilder::InsertionGuard guard(b);
    for (auto [i, body] : llvm::enumerate(bodies)) {
      blocks[i] = &state.addRegion()->emplaceBlock();
      b.setInsertionPointToEnd(blocks[i]);
      memo = saved;
      values[i] = body();
    }
    bool anyVector = isa<VectorType>(values[0].getType()) || isa<VectorType>(values[1].getType());
    for (int i : {0, 1}) {
      b.setInsertionPointToEnd(blocks[i]);
      scf::YieldOp::create(b, loc, anyVector ? splat(values[i]) : values[i]);
    }
    memo = saved;
    state.addTypes(blocks[0]->getTerminator()->getOperand(0).getType());
  }
  return b.create(state)->getResult(0);
}

Value ElementBuilder::giveUp(Type elementType) {
  failed = true;
  if (elementType.isIndex())
    return index(0);
  return constant(elementType, 0);
}
