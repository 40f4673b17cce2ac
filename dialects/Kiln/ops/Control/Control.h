//===- Control.h - Branches and loops ---------------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_DIALECTS_KILN_OPS_CONTROL_H
#define KILN_DIALECTS_KILN_OPS_CONTROL_H

#include "dialects/Kiln/ops/Fusion/Fusion.h"
#include "mlir/IR/PatternMatch.h"

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Control/Control.h.inc"

namespace kiln {

/// A symbol that a branch or a loop gives a value to, and the two expressions
/// that it may be: in kiln.if those of the branches, in kiln.loop the value
/// before the first iteration and that after each.
struct ControlSymbol {
  mlir::StringAttr name;
  Expr first, second;
};

/// In the order of `symbols`; shorter when one is no size of a result.
llvm::SmallVector<ControlSymbol> controlSymbols(IfOp op);
llvm::SmallVector<ControlSymbol> controlSymbols(LoopOp op);

} // namespace kiln

#endif // KILN_DIALECTS_KILN_OPS_CONTROL_H
