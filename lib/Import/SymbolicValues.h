//===- SymbolicValues.h - Elements of small integer tensors -----*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_IMPORT_SYMBOLICVALUES_H
#define KILN_LIB_IMPORT_SYMBOLICVALUES_H

#include "dialects/Kiln/IR/TensorTypes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

namespace kiln {

/// Finds what integer tensors hold, as expressions, and binds what only the run
/// knows.
class SymbolicValues {
public:
  /// Shape operands are short; longer tensors are data.
  static constexpr int64_t maxElements = 64;

  /// Elements of `value`, or nothing when some are not expressions.
  std::optional<llvm::SmallVector<Expr>> find(mlir::Value value) { return resolve(value, nullptr); }
  /// The same, with kiln.bind where needed; nothing when the number of elements
  /// is not known or too large. `hint` names fresh symbols.
  std::optional<llvm::SmallVector<Expr>> findOrBind(mlir::Value value, mlir::OpBuilder &b,
                                                    mlir::Location loc, llvm::StringRef hint);
  /// The bind stands right behind what makes the value, so that its symbols are
  /// valid wherever the value is.
  llvm::SmallVector<Expr> bind(mlir::Value value, mlir::OpBuilder &b, mlir::Location loc,
                               llvm::StringRef hint, bool isSize);
  /// Forgets values of a region that is about to be erased.
  void forget(mlir::Region &region);
  /// A symbol that no other has; `%`-prefixed when it may be negative.
  Expr fresh(llvm::StringRef hint, bool isSize);
  /// Takes a name for good, made legal; false when it is taken.
  std::string claim(llvm::StringRef name);

private:
  struct Binder {
    mlir::OpBuilder &b;
    mlir::Location loc;
    llvm::StringRef hint;
  };
  std::optional<llvm::SmallVector<Expr>> resolve(mlir::Value value, Binder *binder);

  llvm::DenseMap<mlir::Value, llvm::SmallVector<Expr>> known;
  llvm::StringSet<> taken;
};

/// `name` as a symbol: letters, digits, '_' and '.'.
std::string symbolName(llvm::StringRef name);

} // namespace kiln

#endif // KILN_LIB_IMPORT_SYMBOLICVALUES_H
