//===- Bench.h - Measures what rules are worth ------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TOOLS_KILN_RULES_BENCH_H
#define KILN_TOOLS_KILN_RULES_BENCH_H

#include "Stopwatch.h"
#include "kiln/Pipeline/Registration.h"

namespace kiln {

struct BenchOptions {
  /// Records go to `folder`/<device>/<rule>.json.
  std::string folder;
  PairOptions pairs;
  /// Keeps what is recorded there already with the code that is emitted now.
  bool resume = false;
  /// Only prints what is not recorded there, of any device, and could be.
  bool listMissing = false;
};

/// Measures each pattern of the rules in three sizes and every element type that
/// it matches: the graph compiled with this rule alone and with none, the generic
/// fuser at work in both. Prints a line a measurement. A file is written, whole,
/// after each. Returns the exit status.
int benchRules(const RuleList &rules, const PassTables &tables, mlir::MLIRContext &context,
               const BenchOptions &options, DiagnosticEngine &diags);

} // namespace kiln

#endif // KILN_TOOLS_KILN_RULES_BENCH_H
