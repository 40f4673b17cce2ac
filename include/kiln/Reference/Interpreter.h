//===- Interpreter.h - Evaluates blocks of ops ------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_REFERENCE_INTERPRETER_H
#define KILN_REFERENCE_INTERPRETER_H

#include "kiln/Reference/ReferenceTable.h"
#include "llvm/ADT/DenseMap.h"

namespace kiln {

/// Runs ops as a model's run does: sizes are numbers, branches and loops go
/// where the values say. The oracle for control flow.
class Interpreter {
public:
  /// Gives up after so many ops and iterations.
  Interpreter(const ReferenceTable &table, uint64_t maxOps) : table(table), opsLeft(maxOps) {}

  void setSymbol(llvm::StringRef name, int64_t value) { symbols[name] = value; }
  void setValue(mlir::Value value, TensorData data) { values[value] = std::move(data); }

  /// Evaluates a block (its arguments have been set): what its terminator has
  /// for operands. Fails on an op without reference, an illegal value, a
  /// requirement that does not hold, or one op too many.
  mlir::FailureOr<llvm::SmallVector<TensorData>> run(mlir::Block &block);
  /// Evaluates one op; results are then values, its symbols are set.
  mlir::LogicalResult run(mlir::Operation *op);
  /// Of what has been set or evaluated.
  const TensorData &valueOf(mlir::Value value) const { return values.find(value)->second; }

private:
  std::optional<int64_t> evaluate(const Expr &expr) const;
  bool spend() { return opsLeft != 0 && opsLeft-- != 0; }
  /// Nothing when a size is not known, negative, or absurd.
  std::optional<mlir::RankedTensorType> staticType(mlir::Type type) const;
  mlir::LogicalResult runSymbolOp(mlir::Operation *op);
  mlir::LogicalResult runIf(mlir::Operation *op);
  mlir::LogicalResult runLoop(mlir::Operation *op);
  mlir::LogicalResult runPlain(mlir::Operation *op);

  const ReferenceTable &table;
  uint64_t opsLeft;
  llvm::DenseMap<mlir::Value, TensorData> values;
  llvm::StringMap<int64_t> symbols;
};

} // namespace kiln

#endif // KILN_REFERENCE_INTERPRETER_H
