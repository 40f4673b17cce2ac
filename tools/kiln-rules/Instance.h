//===- Instance.h - Random graphs that a pattern is about -------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TOOLS_KILN_RULES_INSTANCE_H
#define KILN_TOOLS_KILN_RULES_INSTANCE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/PDL/IR/PDLOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <random>

namespace kiln {

using Random = std::mt19937_64;

/// What is changed so that a pattern should no longer match.
enum class Miss {
  None,
  Number, ///< a constant is another number
  Reader, ///< a value inside has a reader outside
  Order   ///< operands of an op that does not commute are exchanged
};

/// A module with a function @main of the ops that the pattern names, on random
/// operands: shapes, broadcasts, element types and attributes are drawn. Null
/// when the draw does not fit the ops; another one may.
mlir::OwningOpRef<mlir::ModuleOp> makeInstance(mlir::pdl::PatternOp pattern, Miss miss,
                                               Random &random);

} // namespace kiln

#endif // KILN_TOOLS_KILN_RULES_INSTANCE_H
