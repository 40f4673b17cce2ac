//===- Registration.cpp - Dialects and passes of the tools ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Pipeline/Registration.h"
#include "kiln/Target/CPU/KernelCompiler.h"
#include "kiln/Target/CUDA/KernelEmitter.h"
#include "kiln/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace kiln;

void kiln::registerAllDialects(mlir::DialectRegistry &registry) {
  KernelCompiler::registerDialects(registry);
  KernelEmitter::registerDialects(registry);
  registerRuleDialects(registry);
}

PassTables::PassTables() : library(builtInRulePack()) {
  registerReferences(references);
  registerKernels(kernels);
}

void kiln::registerAllPasses(const PassTables &tables, const VectorTarget &target) {
  mlir::registerTransformsPasses();
  registerRulePasses(tables.rules);
  registerTransformPasses(tables.references, tables.kernels, target);
}
