//===- RunBuilder.h - The run function of a program -------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_TARGET_PROGRAM_RUNBUILDER_H
#define KILN_LIB_TARGET_PROGRAM_RUNBUILDER_H

#include "FunctionBuilder.h"

namespace kiln {

/// What launches need, over the program's symbols.
class LaunchCosts {
public:
  LaunchCosts(plan::ProgramOp program, const llvm::StringMap<KernelFacts> &kernels)
      : program(program), kernels(kernels) {}

  Expr unitsOf(plan::LaunchOp launch) const { return inCaller(launch, factsOf(launch).units); }
  Expr picosecondsPerUnitOf(plan::LaunchOp launch) const {
    return inCaller(launch, factsOf(launch).picosecondsPerUnit);
  }
  Expr scratchOf(plan::LaunchOp launch) const {
    return inCaller(launch, factsOf(launch).scratchBytes);
  }

  /// An expression over a kernel's symbols, as the launch fills them.
  Expr inCaller(plan::LaunchOp launch, const Expr &expr) const;

private:
  const KernelFacts &factsOf(plan::LaunchOp launch) const {
    return kernels.find(launch.getKernel())->second;
  }

  plan::ProgramOp program;
  const llvm::StringMap<KernelFacts> &kernels;
};

/// Adds kiln_generated_run.
void buildRun(plan::ProgramOp program, const ProgramLayout &layout,
              const llvm::StringMap<KernelFacts> &kernels, mlir::ModuleOp into);

} // namespace kiln

#endif // KILN_LIB_TARGET_PROGRAM_RUNBUILDER_H
