//===- kiln-opt.cpp - Runs passes on kiln and plan IR ---------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/IR/KilnDialect.h"
#include "dialects/Plan/IR/PlanDialect.h"
#include "kiln/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<kiln::KilnDialect, kiln::plan::PlanDialect, mlir::func::FuncDialect>();
  mlir::registerTransformsPasses();
  kiln::ReferenceTable references;
  kiln::registerReferences(references);
  kiln::KernelTable kernels;
  kiln::registerKernels(kernels);
  kiln::VectorTarget target;
  kiln::registerTransformPasses(references, kernels, target);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Kiln's optimizer driver\n", registry));
}
