//===- Fold.h - Ops on constants --------------------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_REFERENCE_FOLD_H
#define KILN_REFERENCE_FOLD_H

#include "kiln/Reference/ReferenceTable.h"
#include "mlir/IR/Builders.h"

namespace kiln {

/// Constants before an op whose operands are all constants, one a result, when
/// they are not much larger than what they are made from. The op stays.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
foldToConstants(mlir::OpBuilder &b, mlir::Operation *op, const ReferenceTable &table);

/// Whether results of `op`, whose operands are constants or computed of constants
/// alone, are not much larger than these.
bool isWorthFolding(mlir::Operation *op);

/// Whether a tensor of this type is small enough to be made a constant whatever
/// it is computed from.
bool isSmallTensor(mlir::Type type);

} // namespace kiln

#endif // KILN_REFERENCE_FOLD_H
