//===- Show.h - What a rule matches, wants and is worth ---------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TOOLS_KILN_RULES_SHOW_H
#define KILN_TOOLS_KILN_RULES_SHOW_H

#include "kiln/Patterns/Records.h"
#include "kiln/Patterns/RuleLibrary.h"

namespace kiln {

/// "fusion" or "algebra".
llvm::StringRef kindName(RuleKind kind);

/// Prints the rule's comment, its patterns drawn before and after, what they ask
/// for, and its records, as text or as one JSON document. `context` must know pdl
/// and kiln.
void showRule(const Rule &rule, const NativeTable &natives, RecordLibrary &records,
              mlir::MLIRContext &context, DiagnosticEngine &diags, bool json,
              llvm::raw_ostream &os);

} // namespace kiln

#endif // KILN_TOOLS_KILN_RULES_SHOW_H
