//===- EmitExpr.h - Size expressions as arith ops ---------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CODEGEN_EMITEXPR_H
#define KILN_CODEGEN_EMITEXPR_H

#include "kiln/Support/Expr.h"
#include "mlir/IR/Builders.h"

namespace kiln {

/// The value of `expr` as arith ops on index; `symbol` gives each symbol's
/// index value. Divisors of zero give 0 rather than a trap.
mlir::Value emitExpr(mlir::OpBuilder &b, mlir::Location loc, const Expr &expr,
                     llvm::function_ref<mlir::Value(llvm::StringRef)> symbol);

} // namespace kiln

#endif // KILN_CODEGEN_EMITEXPR_H
