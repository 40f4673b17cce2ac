//===- EmitExpr.cpp - Size expressions as arith ops -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Codegen/EmitExpr.h"
#include "kiln/Codegen/IndexMath.h"

using namespace mlir;
using namespace kiln;

namespace {
class Emitter {
public:
  Emitter(OpBuilder &b, Location loc, function_ref<Value(StringRef)> symbol)
      : b(b), loc(loc), symbol(symbol) {}

  Value emit(const Expr &expr) {
    Value sum;
    for (const Expr::Term &term : expr.terms()) {
      Value product;
      for (const auto &atom : term.atoms) {
        Value factor = emitAtom(*atom);
        product = product ? Value(arith::MulIOp::create(b, loc, product, factor)) : factor;
      }
      if (!product)
        product = constant(term.coefficient);
      else if (term.coefficient != 1)
        product = arith::MulIOp::create(b, loc, product, constant(term.coefficient));
      sum = sum ? Value(arith::AddIOp::create(b, loc, sum, product)) : product;
    }
    return sum ? sum : constant(0);
  }

private:
  Value constant(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }

  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, loc, predicate, x, y);
  }

  /// Sizes of empty tensors can make a divisor 0: the quotient is then never
  /// used, but the division must not trap.
  Value safeDivisor(const Expr &expr, Value value) {
    if (expr.constant().value_or(0) > 0)
      return value;
    Value positive = compare(arith::CmpIPredicate::sgt, value, constant(0));
    return arith::SelectOp::create(b, loc, positive, value, constant(1));
  }

  /// floor(x / y) for y > 0.
  Value floorDivide(const Expr &expr, Value x, Value y) {
    if (expr.isNonNegative())
      return IndexMath(b, loc).div(x, y);
    Value quotient = arith::DivSIOp::create(b, loc, x, y),
          rest = arith::RemSIOp::create(b, loc, x, y);
    Value below = compare(arith::CmpIPredicate::slt, rest, constant(0));
    return arith::SelectOp::create(b, loc, below,
                                   arith::SubIOp::create(b, loc, quotient, constant(1)), quotient);
  }

  Value emitAtom(const Expr::Atom &atom) {
    if (atom.kind == Expr::Kind::Symbol)
      return symbol(atom.name);
    Value x = emit(atom.lhs), y = emit(atom.rhs);
    switch (atom.kind) {
    case Expr::Kind::Symbol:
      break;
    case Expr::Kind::FloorDiv:
      return floorDivide(atom.lhs, x, safeDivisor(atom.rhs, y));
    case Expr::Kind::CeilDiv: {
      Value divisor = safeDivisor(atom.rhs, y);
      Value raised =
          arith::SubIOp::create(b, loc, arith::AddIOp::create(b, loc, x, divisor), constant(1));
      return floorDivide(atom.lhs, raised, divisor);
    }
    case Expr::Kind::Mod: {
      Value divisor = safeDivisor(atom.rhs, y);
      Value quotient = floorDivide(atom.lhs, x, divisor);
      return arith::SubIOp::create(b, loc, x, arith::MulIOp::create(b, loc, quotient, divisor));
    }
    case Expr::Kind::Min:
      return arith::MinSIOp::create(b, loc, x, y);
    case Expr::Kind::Max:
      return arith::MaxSIOp::create(b, loc, x, y);
    case Expr::Kind::Bcast:
      return arith::SelectOp::create(b, loc, compare(arith::CmpIPredicate::eq, x, constant(1)), y,
                                     x);
    }
    llvm_unreachable("all kinds are handled");
  }

  OpBuilder &b;
  Location loc;
  function_ref<Value(StringRef)> symbol;
};
} // namespace

Value kiln::emitExpr(OpBuilder &b, Location loc, const Expr &expr,
                     function_ref<Value(StringRef)> symbol) {
  return Emitter(b, loc, symbol).emit(expr);
}
