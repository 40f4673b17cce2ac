//===- Registration.h - Dialects and passes of the tools --------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One place says what IR of Kiln is made of, so that kilnc, kiln-opt and
// kiln-lsp-server read the same files.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_PIPELINE_REGISTRATION_H
#define KILN_PIPELINE_REGISTRATION_H

#include "kiln/Codegen/KernelTable.h"
#include "kiln/Codegen/VectorTarget.h"
#include "kiln/Patterns/Passes.h"
#include "kiln/Reference/ReferenceTable.h"
#include "mlir/IR/DialectRegistry.h"

namespace kiln {

/// Everything that a stage of a compilation can hold: kiln, plan, and what
/// kernels are written in and lowered to.
void registerAllDialects(mlir::DialectRegistry &registry);

/// What op families say about their ops, as passes read it.
struct PassTables {
  PassTables();
  PassTables(const PassTables &) = delete;

  ReferenceTable references;
  KernelTable kernels;
  RuleLibrary library;
  RuleTables rules{library, references, kernels};
};

/// Makes Kiln's passes, and MLIR's that are good for any IR, known by their
/// flags. Both arguments must outlive every pass; `target` is read when a pass
/// is made.
void registerAllPasses(const PassTables &tables, const VectorTarget &target);

} // namespace kiln

#endif // KILN_PIPELINE_REGISTRATION_H
