//===- RuleLibrary.h - Rules, built in and from folders ---------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rule is one .pdll file; its name is the file's without suffix. Built-in
// rules are completed and checked when Kiln is built, and embedded; those of a
// folder take the same way at run time. A rule that is broken is reported, and
// left out.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_PATTERNS_RULELIBRARY_H
#define KILN_PATTERNS_RULELIBRARY_H

#include "kiln/Patterns/Natives.h"
#include "kiln/Support/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include <functional>
#include <memory>
#include <optional>

namespace kiln {

/// Of a pdl.operation in a completed module: there is a variant without it.
inline constexpr llvm::StringLiteral optionalOpAttr = "kiln.optional";

/// Fusion rules propose kernels; algebra rules rewrite the graph before.
enum class RuleKind : uint8_t { Fusion, Algebra };

/// A pattern of a completed module, in its order.
struct RulePattern {
  std::string name;
  /// What a graph must hold (RuleModule.h, needsOf).
  std::vector<std::string> needs;
};

struct Rule {
  std::string name;
  /// The folder that the file is in.
  std::string anchor;
  std::string file;
  /// The comment that the file begins with.
  std::string doc;
  /// Exporters and the ONNX operators that they write for what the rule is about:
  /// the comment's lines below "Seen in models:".
  std::vector<std::string> spellings;
  RuleKind kind = RuleKind::Fusion;
  /// Kernel families that a fusion rule asks for.
  std::vector<std::string> kernels;
  std::vector<RulePattern> patterns;
  /// BLAKE3 of its text and of all that it includes, in hexadecimal digits.
  std::string digest;
  /// The completed module, as MLIR bytecode.
  std::string bytecode;
  bool builtIn = false;
};

struct RuleOptions {
  std::vector<std::string> folders;
  /// When not empty: no other rule.
  std::vector<std::string> only;
  std::vector<std::string> disabled;
  bool disableAll = false;
};

/// Keeps bytes by the text that they were made from, from one run to the next.
struct RuleStore {
  std::function<std::optional<std::string>(llvm::StringRef material)> load;
  std::function<void(llvm::StringRef material, llvm::StringRef bytes)> store;
};

/// Rules in the order of their names.
using RuleList = std::vector<std::shared_ptr<const Rule>>;

class RuleLibrary {
public:
  /// `pack` is what packRules() made, and outlives the library; empty: nothing
  /// is built in.
  explicit RuleLibrary(llvm::StringRef pack);

  const NativeTable &natives() const { return table; }
  /// patterns/kiln.pdll, which rules include.
  llvm::StringRef declarations() const { return shared; }
  const RuleList &builtIn() const { return builtInRules; }

  /// The rules that are asked for. False when the options cannot be followed
  /// (reported); a rule that is broken is a warning. `context` must know pdl and
  /// kiln.
  bool select(const RuleOptions &options, mlir::MLIRContext &context, const RuleStore &store,
              DiagnosticEngine &diags, RuleList &rules) const;

private:
  NativeTable table;
  std::string shared;
  RuleList builtInRules;
};

/// Compiles files, which include `declarations` as kiln.pdll. Broken rules and
/// second ones of a name are reported and left out; the others are added in the
/// order of their names.
void compileRules(llvm::ArrayRef<char *> files, mlir::MLIRContext &context,
                  const NativeTable &natives, llvm::StringRef declarations, DiagnosticEngine &diags,
                  RuleList &rules);

/// The bytes of a library's rules.
std::string packRules(llvm::StringRef declarations, const RuleList &rules);

/// The pack of the rules in patterns/rules.
llvm::StringRef builtInRulePack();

} // namespace kiln

#endif // KILN_PATTERNS_RULELIBRARY_H
