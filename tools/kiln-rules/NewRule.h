//===- NewRule.h - A rule and its test, ready to run ------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TOOLS_KILN_RULES_NEWRULE_H
#define KILN_TOOLS_KILN_RULES_NEWRULE_H

#include "kiln/Patterns/RuleLibrary.h"

namespace kiln {

struct NewRule {
  std::string name, folder;
  RuleKind kind = RuleKind::Fusion;
};

/// Writes `folder`/NAME.pdll and `folder`/NAME.mlir and prints what to do next.
/// Nothing is overwritten. Returns the exit status.
int writeNewRule(const NewRule &rule, const RuleLibrary &library);

} // namespace kiln

#endif // KILN_TOOLS_KILN_RULES_NEWRULE_H
