//===- Num.h - Arithmetic on values with C++'s operators --------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element functions and polynomials read like the formula when values have
// operators. A Num is an SSA value of float or signless integer type, scalar
// or fixed vector; constants take the type of what they meet.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CODEGEN_NUM_H
#define KILN_CODEGEN_NUM_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace kiln {

class Num {
public:
  Num(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value) : value(value), b(&b), loc(loc) {}

  mlir::Value value;

  mlir::OpBuilder &builder() const { return *b; }
  mlir::Location location() const { return loc; }
  mlir::Type type() const { return value.getType(); }
  mlir::Type element() const { return mlir::getElementTypeOrSelf(value.getType()); }
  bool isFloat() const { return llvm::isa<mlir::FloatType>(element()); }
  /// `scalar`, or a vector of it with this value's lanes.
  mlir::Type typeOf(mlir::Type scalar) const;
  Num with(mlir::Value other) const { return Num(*b, loc, other); }

  /// A constant of this value's type; integers wrap into their width.
  Num constant(double number) const;
  Num integer(int64_t number) const;

  template <typename OpTy, typename... Args> Num make(Args... args) const {
    return with(OpTy::create(*b, loc, args...));
  }
  /// One op on this value, of its type.
  template <typename OpTy> Num apply() const { return make<OpTy>(value); }

  Num operator-() const;
  Num operator+(const Num &other) const;
  Num operator-(const Num &other) const;
  Num operator*(const Num &other) const;
  /// Floats only.
  Num operator/(const Num &other) const;
  Num operator+(double other) const { return *this + constant(other); }
  Num operator-(double other) const { return *this - constant(other); }
  Num operator*(double other) const { return *this * constant(other); }
  Num operator/(double other) const { return *this / constant(other); }

  /// Integers and conditions.
  Num operator&(const Num &other) const { return make<mlir::arith::AndIOp>(value, other.value); }
  Num operator|(const Num &other) const { return make<mlir::arith::OrIOp>(value, other.value); }
  Num operator^(const Num &other) const { return make<mlir::arith::XOrIOp>(value, other.value); }
  Num operator~() const { return *this ^ integer(-1); }
  Num shl(int64_t bits) const { return make<mlir::arith::ShLIOp>(value, integer(bits).value); }
  /// Arithmetic and logical.
  Num sra(int64_t bits) const { return make<mlir::arith::ShRSIOp>(value, integer(bits).value); }
  Num srl(int64_t bits) const { return make<mlir::arith::ShRUIOp>(value, integer(bits).value); }

  /// Comparisons: signed for integers; for floats false on NaN, but for `!=`.
  Num operator<(const Num &other) const;
  Num operator<=(const Num &other) const;
  Num operator==(const Num &other) const;
  Num operator!=(const Num &other) const;
  Num operator>(const Num &other) const { return other < *this; }
  Num operator>=(const Num &other) const { return other <= *this; }
  Num operator<(double other) const { return *this < constant(other); }
  Num operator<=(double other) const { return *this <= constant(other); }
  Num operator>(double other) const { return constant(other) < *this; }
  Num operator>=(double other) const { return constant(other) <= *this; }
  Num operator==(double other) const { return *this == constant(other); }
  Num operator!=(double other) const { return *this != constant(other); }
  /// Unsigned.
  Num below(const Num &other) const;
  Num isNan() const;

  /// This value is a condition.
  Num select(const Num &yes, const Num &no) const {
    return make<mlir::arith::SelectOp>(value, yes.value, no.value);
  }

  /// The bits of a float as an integer of its width, and back.
  Num bits() const;
  Num asFloat() const;

  Num abs() const { return apply<mlir::math::AbsFOp>(); }
  Num copySign(const Num &sign) const { return make<mlir::math::CopySignOp>(value, sign.value); }

private:
  mlir::OpBuilder *b;
  mlir::Location loc;

  Num compare(mlir::arith::CmpFPredicate onFloats, mlir::arith::CmpIPredicate onIntegers,
              const Num &other) const;
};

inline Num operator+(double a, const Num &b) { return b.constant(a) + b; }
inline Num operator-(double a, const Num &b) { return b.constant(a) - b; }
inline Num operator*(double a, const Num &b) { return b.constant(a) * b; }
inline Num operator/(double a, const Num &b) { return b.constant(a) / b; }

/// The smaller or larger one, as one instruction each: when `x` is NaN it
/// stays, when `bound` is NaN it is ignored.
inline Num atMost(const Num &x, const Num &bound) { return (bound < x).select(bound, x); }
inline Num atLeast(const Num &x, const Num &bound) { return (bound > x).select(bound, x); }
inline Num atMost(const Num &x, double bound) { return atMost(x, x.constant(bound)); }
inline Num atLeast(const Num &x, double bound) { return atLeast(x, x.constant(bound)); }

} // namespace kiln

#endif // KILN_CODEGEN_NUM_H
