//===- CodePrinter.h - MLIR functions as CUDA C++ ---------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints scalar code in func, scf, memref, arith and math as C++ that a person
// would write: values that are used once where they are made become parts of
// expressions, loops stay loops. A buffer is a pointer. The meaning of every op
// is MLIR's to the bit: integers wrap, halves compute in float and round, and no
// product and sum are contracted (that is asked of the compiler by options).
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_TARGET_CUDA_CODEPRINTER_H
#define KILN_LIB_TARGET_CUDA_CODEPRINTER_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace kiln {

class CodePrinter {
public:
  explicit CodePrinter(llvm::raw_ostream &os, unsigned indent = 0) : os(os), depth(indent) {}

  /// The C++ type of a scalar, or of a pointer to a memref's elements.
  static std::string typeOf(mlir::Type type);

  /// Gives a value a name, or any text that stands for it.
  void name(mlir::Value value, std::string text) { texts[value] = std::move(text); }
  /// A name that nothing else has.
  std::string freshName(llvm::StringRef stem);

  /// The text of a value that has been printed, or is part of an expression.
  std::string text(mlir::Value value);
  /// Loops from `begin` to `end` in steps of one advance by `stride` instead.
  void setStride(mlir::Value begin, mlir::Value end, std::string text) {
    strideBegin = begin;
    strideEnd = end;
    stride = std::move(text);
  }

  /// Prints the ops of a block but for its terminator. Failure has been
  /// reported at the op that has no form in C++.
  mlir::LogicalResult print(mlir::Block &block);

private:
  llvm::raw_ostream &line();
  mlir::LogicalResult print(mlir::Operation &op);
  mlir::LogicalResult printFor(mlir::Operation &op);
  mlir::LogicalResult printIf(mlir::Operation &op);
  mlir::LogicalResult printWhile(mlir::Operation &op);
  mlir::LogicalResult printNested(mlir::Block &block);
  /// Variables for the results of a statement, which it assigns.
  void declareResults(mlir::Operation &op);
  void assign(mlir::ValueRange variables, mlir::ValueRange values);
  /// The op's value as an expression; empty when it is no expression.
  std::string expression(mlir::Operation &op);
  bool isInlined(mlir::Operation &op);

  llvm::raw_ostream &os;
  unsigned depth;
  unsigned nextName = 0;
  llvm::DenseMap<mlir::Value, std::string> texts;
  mlir::Value strideBegin, strideEnd;
  std::string stride;
};

/// The value of a scalar op of arith or math, given its operands' texts; empty
/// when the op has no form in C++.
std::string expressionOf(mlir::Operation &op, llvm::ArrayRef<std::string> operands);

} // namespace kiln

#endif // KILN_LIB_TARGET_CUDA_CODEPRINTER_H
