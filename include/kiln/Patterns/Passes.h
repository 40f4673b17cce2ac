//===- Passes.h - Passes that apply rules -----------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_PATTERNS_PASSES_H
#define KILN_PATTERNS_PASSES_H

#include "kiln/Codegen/KernelTable.h"
#include "kiln/Patterns/RuleReport.h"
#include "kiln/Reference/ReferenceTable.h"
#include "mlir/Pass/Pass.h"

namespace kiln {

/// What the passes read; all must outlive them.
struct RuleTables {
  const RuleLibrary &library;
  const ReferenceTable &references;
  const KernelTable &kernels;
};

// `report` holds the rules to apply, and gets what they did. Without one, the
// pass's options say which.
std::unique_ptr<mlir::Pass> createApplyAlgebraPass(const RuleTables &tables,
                                                   RuleReport *report = nullptr);
std::unique_ptr<mlir::Pass> createApplyRulesPass(const RuleTables &tables,
                                                 RuleReport *report = nullptr);

void registerRulePasses(const RuleTables &tables);

/// The dialects that rules are made of.
void registerRuleDialects(mlir::DialectRegistry &registry);

} // namespace kiln

#endif // KILN_PATTERNS_PASSES_H
