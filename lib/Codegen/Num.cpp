//===- Num.cpp - Arithmetic on values with C++'s operators ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Codegen/Num.h"
#include "llvm/ADT/APFloat.h"

using namespace mlir;
using namespace kiln;

Type Num::typeOf(Type scalar) const {
  if (auto vector = dyn_cast<VectorType>(type()))
    return VectorType::get(vector.getShape(), scalar);
  return scalar;
}

/// The attribute of a constant of `like`'s type, splat over its lanes.
static TypedAttr splatAttr(const Num &like, TypedAttr scalar) {
  if (auto vector = dyn_cast<VectorType>(like.type()))
    return DenseElementsAttr::get(vector, Attribute(scalar));
  return scalar;
}

Num Num::constant(double number) const {
  if (!isFloat())
    return integer(static_cast<int64_t>(number));
  return make<arith::ConstantOp>(splatAttr(*this, b->getFloatAttr(element(), number)));
}

Num Num::integer(int64_t number) const {
  unsigned width = element().getIntOrFloatBitWidth();
  APInt wrapped(width, static_cast<uint64_t>(number), /*isSigned=*/false, /*implicitTrunc=*/true);
  return make<arith::ConstantOp>(splatAttr(*this, b->getIntegerAttr(element(), wrapped)));
}

Num Num::operator-() const { return isFloat() ? apply<arith::NegFOp>() : integer(0) - *this; }

Num Num::operator+(const Num &other) const {
  return isFloat() ? make<arith::AddFOp>(value, other.value)
                   : make<arith::AddIOp>(value, other.value);
}

Num Num::operator-(const Num &other) const {
  return isFloat() ? make<arith::SubFOp>(value, other.value)
                   : make<arith::SubIOp>(value, other.value);
}

Num Num::operator*(const Num &other) const {
  return isFloat() ? make<arith::MulFOp>(value, other.value)
                   : make<arith::MulIOp>(value, other.value);
}

Num Num::operator/(const Num &other) const { return make<arith::DivFOp>(value, other.value); }

Num Num::compare(arith::CmpFPredicate onFloats, arith::CmpIPredicate onIntegers,
                 const Num &other) const {
  return isFloat() ? make<arith::CmpFOp>(onFloats, value, other.value)
                   : make<arith::CmpIOp>(onIntegers, value, other.value);
}

Num Num::operator<(const Num &other) const {
  return compare(arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt, other);
}

Num Num::operator<=(const Num &other) const {
  return compare(arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle, other);
}

Num Num::operator==(const Num &other) const {
  return compare(arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq, other);
}

Num Num::operator!=(const Num &other) const {
  return compare(arith::CmpFPredicate::UNE, arith::CmpIPredicate::ne, other);
}

Num Num::below(const Num &other) const {
  return make<arith::CmpIOp>(arith::CmpIPredicate::ult, value, other.value);
}

Num Num::isNan() const { return make<arith::CmpFOp>(arith::CmpFPredicate::UNO, value, value); }

Num Num::bits() const {
  Type integer = b->getIntegerType(element().getIntOrFloatBitWidth());
  return make<arith::BitcastOp>(typeOf(integer), value);
}

Num Num::asFloat() const {
  Type type = element().isInteger(64) ? Type(b->getF64Type()) : b->getF32Type();
  return make<arith::BitcastOp>(typeOf(type), value);
}
