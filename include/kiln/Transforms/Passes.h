//===- Passes.h - Passes on the kiln dialect --------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TRANSFORMS_PASSES_H
#define KILN_TRANSFORMS_PASSES_H

#include "dialects/Plan/IR/PlanDialect.h"
#include "kiln/Codegen/KernelBuilder.h"
#include "kiln/Codegen/KernelTable.h"
#include "kiln/Reference/ReferenceTable.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace kiln {

// The tables must outlive the passes.
std::unique_ptr<mlir::Pass> createFoldConstantsPass(const ReferenceTable &table);
/// `type`: "f16" or "bf16".
std::unique_ptr<mlir::Pass> createLowerPrecisionPass(llvm::StringRef type = "bf16");
/// `batchDim`: as the model names it.
std::unique_ptr<mlir::Pass> createProveBatchPass(const KernelTable &table,
                                                 llvm::StringRef batchDim = "");
std::unique_ptr<mlir::Pass> createFusePass(const KernelTable &table);
std::unique_ptr<mlir::Pass> createPlanPass(const KernelTable &table, const VectorTarget &target);
std::unique_ptr<mlir::Pass> createShareBuffersPass(const KernelTable &table);

/// Makes every pass of this library known to a tool by its flag.
void registerTransformPasses(const ReferenceTable &references, const KernelTable &kernels,
                             const VectorTarget &target);

} // namespace kiln

#endif // KILN_TRANSFORMS_PASSES_H
