//===- RuleFile.h - From a .pdll file to a rule -----------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_PATTERNS_RULEFILE_H
#define KILN_LIB_PATTERNS_RULEFILE_H

#include "kiln/Patterns/RuleLibrary.h"
#include "llvm/Support/ErrorOr.h"

namespace kiln {

/// Compiles rule files, one child process each.
class RuleCompiler {
public:
  RuleCompiler(mlir::MLIRContext &context, const NativeTable &natives, llvm::StringRef declarations,
               const RuleStore &store, DiagnosticEngine &diags)
      : context(context), natives(natives), declarations(declarations), store(store), diags(diags) {
  }
  ~RuleCompiler();

  /// Null, reported, when the rule is broken.
  std::shared_ptr<Rule> compile(llvm::StringRef file);
  /// There is no mlir-pdll; was reported.
  bool lacksTool() const { return toolIsMissing; }

private:
  struct Process;
  std::shared_ptr<Rule> compileText(llvm::StringRef file, llvm::StringRef text);
  std::string materialOf(llvm::StringRef file, llvm::StringRef text) const;
  std::shared_ptr<Rule> fromStore(llvm::StringRef material) const;
  bool findTool();
  bool makeIncludeFolder();
  /// `place` is a file, maybe with line and column; empty: the current one.
  bool fail(llvm::StringRef place, llvm::StringRef text, llvm::ArrayRef<std::string> notes = {});
  bool failAsTheToolSaid(llvm::StringRef output);

  mlir::MLIRContext &context;
  const NativeTable &natives;
  llvm::StringRef declarations;
  const RuleStore &store;
  DiagnosticEngine &diags;
  std::string tool, includeFolder, current;
  bool toolIsMissing = false;
};

/// Every rule file below a folder, sorted by path. Fails when it cannot be read.
llvm::ErrorOr<std::vector<std::string>> findRuleFiles(llvm::StringRef folder);

// Rules as bytes.
void encodeField(std::string &bytes, llvm::StringRef field);
/// Empty, and `bytes` too, when there is no whole field left.
llvm::StringRef decodeField(llvm::StringRef &bytes);
std::string encodeRule(const Rule &rule);
std::shared_ptr<Rule> decodeRule(llvm::StringRef bytes);

} // namespace kiln

#endif // KILN_LIB_PATTERNS_RULEFILE_H
