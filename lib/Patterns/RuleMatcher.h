//===- RuleMatcher.h - Rules, ready to match --------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_PATTERNS_RULEMATCHER_H
#define KILN_LIB_PATTERNS_RULEMATCHER_H

#include "kiln/Patterns/RuleReport.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"
#include "mlir/Rewrite/PatternApplicator.h"
#include "llvm/ADT/StringSet.h"
#include <set>

namespace kiln {

/// What patterns may need of a graph (RuleModule.h, needsOf).
class GraphFeatures {
public:
  /// The block must outlive it.
  explicit GraphFeatures(mlir::Block &block);
  bool meet(llvm::ArrayRef<std::string> needs) const;

private:
  bool holds(llvm::StringRef need) const;
  bool holdsAttribute(llvm::StringRef need) const;
  bool holdsNumber(llvm::StringRef need) const;

  mlir::Block &block;
  llvm::StringSet<> held;
  /// By "kiln.elu{alpha": the texts of the values that the graph has, once they are
  /// asked for.
  mutable llvm::StringMap<llvm::StringSet<>> attributes;
  /// That constants are made of, ascending.
  std::vector<double> numbers;
};

/// A native rewrite that fails ends the process unless its rewriter says that
/// it can recover.
struct RuleRewriter : mlir::PatternRewriter {
  using PatternRewriter::PatternRewriter;
  bool canRecoverFromRewriteFailure() const override { return true; }
};

/// What the natives of RuleModule.h do. They fail when nothing shall happen.
struct RuleActions {
  using Function = Native::Function;
  Function fuse, began, build, replace, erase;
};

class RuleMatcher {
public:
  /// Context and natives outlive the matcher.
  RuleMatcher(mlir::MLIRContext &context, const NativeTable &natives, RuleList rules, RuleKind kind,
              RuleActions actions)
      : context(context), natives(natives), rules(std::move(rules)), kind(kind),
        actions(std::move(actions)) {}

  /// Makes ready the patterns that can match somewhere in the graph. Nothing is
  /// parsed and nothing compiled for the others: most of them, in most graphs.
  /// False when there is none, or no other than the last time.
  bool prepare(const GraphFeatures &graph);

  /// Tries the patterns at an op, those that explain most ops first, until the
  /// rewrite of one succeeds.
  mlir::LogicalResult matchAndRewrite(mlir::Operation *op, RuleRewriter &rewriter);

  const MatcherWork &work() const { return done; }

private:
  void addRule(const Rule &rule, const GraphFeatures &graph, mlir::ModuleOp into);
  void registerFunctions(mlir::PDLPatternModule &module);

  mlir::MLIRContext &context;
  const NativeTable &natives;
  RuleList rules;
  RuleKind kind;
  RuleActions actions;
  std::set<std::pair<std::string, std::string>> chosen; // rule, pattern
  MatcherWork done;
  mlir::FrozenRewritePatternSet patterns;
  std::unique_ptr<mlir::PatternApplicator> applicator;
};

} // namespace kiln

#endif // KILN_LIB_PATTERNS_RULEMATCHER_H
