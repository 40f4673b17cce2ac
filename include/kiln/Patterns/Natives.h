//===- Natives.h - C++ functions that rules may call ------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constraints and rewrites of rule files. One line registers a function, its
// documentation, and the declaration that PDLL needs, which follows from the
// C++ signature:
//
//     table.constraint("SingleUse", {"value"}, "`value` has exactly one use.",
//                      [](Value value) { return value.hasOneUse(); });
//
// A constraint gives bool, or an Attribute or a Value that is null when it does
// not hold. A rewrite takes the PatternRewriter first and gives a Value, an
// Operation or an Attribute, null when it cannot: then nothing is rewritten.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_PATTERNS_NATIVES_H
#define KILN_PATTERNS_NATIVES_H

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace kiln {

/// A kind of PDL value, by the letter that signatures use.
template <typename T> struct PdlKind;
template <> struct PdlKind<mlir::Value> {
  static constexpr char letter = 'v';
};
template <> struct PdlKind<mlir::Operation *> {
  static constexpr char letter = 'o';
};
template <> struct PdlKind<mlir::Attribute> {
  static constexpr char letter = 'a';
};
template <> struct PdlKind<mlir::Type> {
  static constexpr char letter = 't';
};
template <> struct PdlKind<mlir::ValueRange> {
  static constexpr char letter = 'V';
};

struct Native {
  using Function = std::function<mlir::LogicalResult(mlir::PatternRewriter &, mlir::PDLResultList &,
                                                     llvm::ArrayRef<mlir::PDLValue>)>;
  std::string name, doc;
  bool isRewrite = false;
  std::vector<std::string> parameters;
  /// Letters of PdlKind.
  std::string arguments, results;
  Function run;
  /// Holds only for a constant first argument. Graphs have constants on the
  /// right of commutative ops, so no other operand order need be matched.
  bool wantsConstant = false;
  /// The loader replaces calls of it; there is nothing to run.
  bool isMarker = false;

  /// `Constraint SingleUse(value: Value);`
  std::string declaration() const;
};

class NativeTable {
public:
  using Names = std::initializer_list<llvm::StringLiteral>;

  template <typename Fn>
  Native &constraint(llvm::StringLiteral name, Names parameters, llvm::StringLiteral doc, Fn fn) {
    return addCall(name, parameters, doc, false, +fn);
  }
  template <typename Fn>
  Native &rewrite(llvm::StringLiteral name, Names parameters, llvm::StringLiteral doc, Fn fn) {
    return addCall(name, parameters, doc, true, +fn);
  }
  /// What the loader itself understands.
  Native &marker(llvm::StringLiteral name, Names parameters, llvm::StringLiteral doc,
                 llvm::StringLiteral arguments, bool isRewrite);

  const Native *find(llvm::StringRef name, bool isRewrite) const;
  /// Of constraints, or of rewrites, sorted.
  std::vector<llvm::StringRef> names(bool isRewrite) const;
  /// By name; constraints first.
  const std::map<std::pair<bool, std::string>, Native> &all() const { return natives; }

private:
  Native &add(llvm::StringLiteral name, Names parameters, llvm::StringLiteral doc, bool isRewrite);

  template <typename R> static mlir::LogicalResult give(mlir::PDLResultList &list, R result) {
    if (!result)
      return mlir::failure();
    if constexpr (!std::is_same_v<R, bool>)
      list.push_back(result);
    return mlir::success();
  }
  template <typename R> static std::string resultLetters() {
    if constexpr (std::is_same_v<R, bool>)
      return "";
    else
      return {PdlKind<R>::letter};
  }
  template <typename R, typename... Args>
  Native &addCall(llvm::StringLiteral name, Names parameters, llvm::StringLiteral doc,
                  bool isRewrite, R (*fn)(Args...)) {
    return addFunction<R, Args...>(
        name, parameters, doc, isRewrite,
        [fn](mlir::PatternRewriter &, Args... args) { return fn(args...); });
  }
  template <typename R, typename... Args>
  Native &addCall(llvm::StringLiteral name, Names parameters, llvm::StringLiteral doc,
                  bool isRewrite, R (*fn)(mlir::PatternRewriter &, Args...)) {
    return addFunction<R, Args...>(name, parameters, doc, isRewrite, fn);
  }
  template <typename R, typename... Args, typename Fn>
  Native &addFunction(llvm::StringLiteral name, Names parameters, llvm::StringLiteral doc,
                      bool isRewrite, Fn fn) {
    static_assert(sizeof...(Args) > 0, "a native looks at something");
    Native &native = add(name, parameters, doc, isRewrite);
    native.arguments = {PdlKind<Args>::letter...};
    native.results = resultLetters<R>();
    native.run = [fn](mlir::PatternRewriter &rewriter, mlir::PDLResultList &list,
                      llvm::ArrayRef<mlir::PDLValue> values) {
      return call<R, Args...>(fn, rewriter, list, values, std::index_sequence_for<Args...>());
    };
    return native;
  }
  template <typename R, typename... Args, typename Fn, size_t... I>
  static mlir::LogicalResult call(Fn fn, mlir::PatternRewriter &rewriter, mlir::PDLResultList &list,
                                  llvm::ArrayRef<mlir::PDLValue> values,
                                  std::index_sequence<I...>) {
    return give<R>(list, fn(rewriter, values[I].template cast<Args>()...));
  }

  std::map<std::pair<bool, std::string>, Native> natives;
};

/// A number that an exporter may have meant by another: they write 0.7071,
/// 1.4142135 and the like, and constants may be of half type.
bool isMeantBy(double wanted, double number);

/// Asks every file of patterns/constraints and patterns/rewrites; generated
/// from the folders.
void registerNatives(NativeTable &table);

/// patterns/natives.pdll.
void writeDeclarations(const NativeTable &table, llvm::raw_ostream &os);

} // namespace kiln

#endif // KILN_PATTERNS_NATIVES_H
