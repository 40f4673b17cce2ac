//===- Passes.td - Passes that apply rules -----------------*- tablegen -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_PATTERNS_PASSES_TD
#define KILN_PATTERNS_PASSES_TD

include "mlir/Pass/PassBase.td"

class RulePass<string flag> : Pass<flag, "::mlir::func::FuncOp"> {
  // Made by create...Pass, which takes the tables that the pass reads.
  let constructor = "nullptr";
  let options = [
    ListOption<"folders", "rules", "std::string", "Folders of more rules">,
    ListOption<"only", "only", "std::string", "Use these rules alone">,
    ListOption<"disabled", "disable", "std::string", "Leave these rules out">,
    ListOption<"recordFolders", "records", "std::string", "Folders of records (Records.h)">,
    Option<"device", "device", "std::string", "", "Device whose records count as measured">,
    Option<"minSpeedup", "min-speedup", "double", "1.03", "What a fusion must gain to fire">,
    Option<"explain", "explain", "bool", "false", "Print what each rule did to standard error">
  ];
  // Code is built to see what pulling an op costs (pullCost).
  let dependentDialects = ["::mlir::pdl::PDLDialect", "::mlir::pdl_interp::PDLInterpDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def ApplyAlgebraPass : RulePass<"kiln-apply-algebra"> {
  let summary = "Rewrites the graph by algebra rules";
  let description = [{
    Applies the rules whose rewrites replace ops, until none matches. It works
    on a copy: a rule that rewrites without end, changes a type or erases what
    is used is reported and left out, and the others start again.
  }];
  let statistics = [Statistic<"numRewrites", "rewrites", "Number of rewrites">];
}

def ApplyRulesPass : RulePass<"kiln-apply-rules"> {
  let summary = "Outlines the kernels that fusion rules ask for";
  let description = [{
    Collects the matches of all fusion rules, drops those that are not legal or
    that no kernel takes, chooses among those that overlap, and outlines the
    chosen ones into kiln.fusion. What is left is for kiln-fuse.
  }];
  let statistics = [Statistic<"numFusions", "fusions", "Number of fusions made">];
}

#endif // KILN_PATTERNS_PASSES_TD
