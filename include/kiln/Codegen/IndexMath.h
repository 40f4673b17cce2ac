//===- IndexMath.h - Arithmetic on index values -----------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emitters compute with sizes that are sometimes constants: these fold.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CODEGEN_INDEXMATH_H
#define KILN_CODEGEN_INDEXMATH_H

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace kiln {

class IndexMath {
public:
  IndexMath(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  mlir::Value constant(int64_t value) const {
    return mlir::arith::ConstantIndexOp::create(b, loc, value);
  }
  static std::optional<int64_t> constantOf(mlir::Value value) {
    llvm::APInt bits;
    if (!matchPattern(value, mlir::m_ConstantInt(&bits)))
      return std::nullopt;
    return bits.getSExtValue();
  }
  mlir::Value add(mlir::Value x, mlir::Value y) const { return fold<mlir::arith::AddIOp>(x, y); }
  mlir::Value add(mlir::Value x, int64_t y) const { return y ? add(x, constant(y)) : x; }
  mlir::Value sub(mlir::Value x, mlir::Value y) const { return fold<mlir::arith::SubIOp>(x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) const { return fold<mlir::arith::MulIOp>(x, y); }
  mlir::Value mul(mlir::Value x, int64_t y) const { return mul(x, constant(y)); }
  /// Of numbers that are not negative, by positive ones.
  mlir::Value div(mlir::Value x, mlir::Value y) const { return fold<mlir::arith::DivUIOp>(x, y); }
  mlir::Value rem(mlir::Value x, mlir::Value y) const { return fold<mlir::arith::RemUIOp>(x, y); }
  mlir::Value ceilDiv(mlir::Value x, mlir::Value y) const {
    return div(add(x, sub(y, constant(1))), y);
  }
  mlir::Value min(mlir::Value x, mlir::Value y) const { return fold<mlir::arith::MinSIOp>(x, y); }
  mlir::Value max(mlir::Value x, mlir::Value y) const { return fold<mlir::arith::MaxSIOp>(x, y); }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value x, mlir::Value y) const {
    return b.createOrFold<mlir::arith::CmpIOp>(loc, predicate, x, y);
  }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) const {
    return b.createOrFold<mlir::arith::SelectOp>(loc, condition, x, y);
  }

private:
  template <typename OpTy> mlir::Value fold(mlir::Value x, mlir::Value y) const {
    return b.createOrFold<OpTy>(loc, x, y);
  }
  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace kiln

#endif // KILN_CODEGEN_INDEXMATH_H
