//===- Compose.h - Formulas over values of the model ------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handlers that build an operator from several ops write the formula. A null
// value (something failed and was reported) makes everything null that is made
// from it, so a formula is checked once, at its end.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_IMPORT_COMPOSE_H
#define KILN_IMPORT_COMPOSE_H

#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "dialects/Kiln/ops/ElementwiseUnary/ElementwiseUnary.h"
#include "dialects/Kiln/ops/Reduce/Reduce.h"
#include "kiln/Import/ImportTable.h"

namespace kiln {

class Formula {
public:
  Formula(NodeImporter &n, mlir::Value value) : value(value), n(&n) {}

  mlir::Value value;

  Formula with(mlir::Value other) const { return Formula(*n, other); }
  /// A number of this value's element type.
  Formula number(double x) const {
    return with(value ? n->scalar(elementTypeOf(value), x) : nullptr);
  }
  template <typename OpTy> Formula apply() const { return with(n->create<OpTy>({value})); }
  template <typename OpTy> Formula join(const Formula &other) const {
    return with(n->create<OpTy>({value, other.value}));
  }

  Formula operator+(const Formula &other) const { return join<AddOp>(other); }
  Formula operator-(const Formula &other) const { return join<SubOp>(other); }
  Formula operator*(const Formula &other) const { return join<MulOp>(other); }
  Formula operator/(const Formula &other) const { return join<DivOp>(other); }
  Formula operator+(double x) const { return *this + number(x); }
  Formula operator*(double x) const { return *this * number(x); }
  Formula operator/(double x) const { return *this / number(x); }
  Formula pow(double x) const { return join<PowOp>(number(x)); }
  Formula atLeast(double x) const { return join<MaxOp>(number(x)); }
  Formula atMost(double x) const { return join<MinOp>(number(x)); }
  Formula abs() const { return apply<AbsOp>(); }
  Formula sqrt() const { return apply<SqrtOp>(); }
  Formula exp() const { return apply<ExpOp>(); }
  Formula log() const { return apply<LogOp>(); }

  template <typename OpTy> Formula fold(llvm::ArrayRef<int64_t> axes, bool keepdims) const {
    return with(
        n->create<OpTy>({value}, {n->attr("axes", axes), n->boolNamed("keepdims", keepdims)}));
  }
  Formula mean(llvm::ArrayRef<int64_t> axes) const { return fold<ReduceMeanOp>(axes, true); }

  Formula cast(mlir::Type type) const { return with(n->cast(value, type)); }
  Formula reshape(llvm::ArrayRef<Expr> shape) const { return with(n->reshape(value, shape)); }
  /// f16 and bf16 as f32, in which intermediate results lose nothing.
  Formula widen() const {
    if (!value)
      return *this;
    mlir::Type type = elementTypeOf(value);
    bool narrow = llvm::isa<mlir::FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
    return narrow ? cast(n->b.getF32Type()) : *this;
  }

private:
  NodeImporter *n;
};

inline Formula operator/(double x, const Formula &y) { return y.number(x) / y; }

} // namespace kiln

#endif // KILN_IMPORT_COMPOSE_H
