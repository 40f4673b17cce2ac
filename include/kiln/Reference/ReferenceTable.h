//===- ReferenceTable.h - Reference evaluation of ops -----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle: every op evaluated by plain loops. Integers are computed in
// their own width and wrap as the operator says; floats of 32 bits or fewer
// accumulate in double and round to the element type at each op's result.
// Constant folding uses the same functions.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_REFERENCE_REFERENCETABLE_H
#define KILN_REFERENCE_REFERENCETABLE_H

#include "kiln/Reference/TensorData.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"

namespace kiln {

/// Fills `results`, which have the op's result types (all static), from
/// `operands`. Fails, with a diagnostic on the op, only where the operator
/// itself says that the values are illegal.
using ReferenceFn = mlir::LogicalResult (*)(mlir::Operation *op,
                                            llvm::ArrayRef<TensorData> operands,
                                            llvm::MutableArrayRef<TensorData> results);

class ReferenceTable {
public:
  template <typename OpTy> void add(ReferenceFn fn) { functions[OpTy::getOperationName()] = fn; }
  ReferenceFn find(mlir::Operation *op) const {
    return functions.lookup(op->getName().getStringRef());
  }

private:
  llvm::StringMap<ReferenceFn> functions;
};

/// Asks every op family; generated from the folders.
void registerReferences(ReferenceTable &table);

/// Evaluates one op. Fails when it has no reference or an illegal value.
mlir::FailureOr<llvm::SmallVector<TensorData>>
evaluate(const ReferenceTable &table, mlir::Operation *op, llvm::ArrayRef<TensorData> operands);

} // namespace kiln

#endif // KILN_REFERENCE_REFERENCETABLE_H
