//===- Check.h - Rules on random graphs -------------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TOOLS_KILN_RULES_CHECK_H
#define KILN_TOOLS_KILN_RULES_CHECK_H

#include "kiln/Patterns/RuleLibrary.h"
#include "kiln/Pipeline/Registration.h"

namespace kiln {

struct CheckOptions {
  /// Of each pattern.
  unsigned instances = 4;
  uint64_t seed = 1;
  /// Compile one instance of each pattern and run it, too.
  bool run = true;
  /// "cpu", or "sim:sm_80": kernels for CUDA on the simulator.
  std::string device = "cpu";
};

/// Compares on random instances of each pattern, and on near misses, the graph
/// as it was, the graph after the rule, and what the compiled artefact of that
/// gives. Prints a line a rule. Returns the exit status: 1 when a rule changes
/// values, or matches nothing that its patterns describe.
int checkRules(const RuleList &rules, const PassTables &tables, mlir::MLIRContext &context,
               const CheckOptions &options);

} // namespace kiln

#endif // KILN_TOOLS_KILN_RULES_CHECK_H
