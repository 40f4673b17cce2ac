//===- Expr.h - Symbolic integer expressions --------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes of tensors are integer polynomials over symbols and over a few opaque
// functions (floordiv, ceildiv, mod, min, max, bcast). An Expr is always in
// canonical form, so two that print alike are equal, and equality is provable
// equality for polynomials. Values are int64; overflow wraps.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_SUPPORT_EXPR_H
#define KILN_SUPPORT_EXPR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kiln {

class Expr {
public:
  enum class Kind { Symbol, FloorDiv, CeilDiv, Mod, Min, Max, Bcast };
  struct Atom;
  /// coefficient * product of atoms (sorted by text; powers are repeats).
  struct Term {
    int64_t coefficient;
    std::vector<std::shared_ptr<const Atom>> atoms;
  };

  Expr() : Expr(0) {}
  Expr(int64_t constant); // NOLINT: sizes mix freely with integers
  /// `name` matches [A-Za-z_%][A-Za-z0-9_.%]*. Dimensions are never negative; a
  /// name that starts with '%' is a value read from a tensor and may be.
  static Expr symbol(llvm::StringRef name);
  /// Reads what str() writes; nothing when `text` is not an expression.
  static std::optional<Expr> parse(llvm::StringRef text);

  llvm::StringRef str() const { return node->text; }
  llvm::ArrayRef<Term> terms() const { return node->terms; }
  std::optional<int64_t> constant() const;
  bool isConstant(int64_t value) const { return constant() == value; }
  /// The symbol's name when the expression is one symbol alone, else "".
  llvm::StringRef symbolName() const;
  /// True only when it is certain.
  bool isNonNegative() const;

  bool operator==(const Expr &other) const { return node->text == other.node->text; }
  bool operator!=(const Expr &other) const { return !(*this == other); }
  Expr operator+(const Expr &other) const;
  Expr operator-(const Expr &other) const;
  Expr operator*(const Expr &other) const;

  /// Divisors must be positive at run time.
  static Expr floorDiv(const Expr &a, const Expr &b);
  static Expr ceilDiv(const Expr &a, const Expr &b);
  static Expr mod(const Expr &a, const Expr &b);
  static Expr min(const Expr &a, const Expr &b);
  static Expr max(const Expr &a, const Expr &b);
  /// Size of two dims that are broadcast against each other: the one that is
  /// not 1. When both are, or neither and they are equal, that size.
  static Expr bcast(const Expr &a, const Expr &b);
  /// a / b when that is exact as a polynomial, else nothing.
  static std::optional<Expr> divideExactly(const Expr &a, const Expr &b);

  void forEachSymbol(llvm::function_ref<void(llvm::StringRef)> visit) const;
  /// Replaces symbols; `lookup` returns nothing to keep one.
  Expr substitute(llvm::function_ref<std::optional<Expr>(llvm::StringRef)> lookup) const;
  int64_t evaluate(llvm::function_ref<int64_t(llvm::StringRef)> lookup) const;

private:
  struct Node {
    std::vector<Term> terms; // sorted by the text of their atoms; none is 0
    std::string text;
  };
  explicit Expr(std::vector<Term> terms);
  static Expr function(Kind kind, const Expr &a, const Expr &b);
  std::shared_ptr<const Node> node;
};

struct Expr::Atom {
  Kind kind;
  std::string name; // Symbol only
  Expr lhs, rhs;    // other kinds
  std::string text;
};

} // namespace kiln

#endif // KILN_SUPPORT_EXPR_H
