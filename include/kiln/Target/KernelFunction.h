//===- KernelFunction.h - A kernel as an MLIR function ----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_KERNELFUNCTION_H
#define KILN_TARGET_KERNELFUNCTION_H

#include "dialects/Plan/IR/PlanDialect.h"
#include "kiln/Codegen/KernelTable.h"
#include "kiln/Codegen/VectorTarget.h"
#include "kiln/Target/KernelFacts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kiln {

/// A private function in scf, memref, vector, arith and math. Arguments: a
/// memref<1xT> for each input and each result, which is the bare pointer to a
/// buffer that begins there; an index for each of the kernel's symbols; begin and
/// end of the units to compute; memref<1xi8>, the scratch area.
struct KernelFunction {
  mlir::func::FuncOp function;
  KernelFacts facts;
};

/// Builds the function of a kernel, named like it, into a module. Only reads
/// `kernel`. On failure the reason has been reported.
mlir::FailureOr<KernelFunction> buildKernelFunction(plan::KernelOp kernel, const KernelTable &table,
                                                    const VectorTarget &target,
                                                    mlir::ModuleOp into);

/// Builds a function of a kernel's buffers and symbols, in that order, and of
/// `parameters` behind them, which returns what `body` computes from the latter;
/// fails when that is null.
mlir::FailureOr<mlir::func::FuncOp> buildElementFunction(
    plan::KernelOp kernel, const KernelTable &table, const VectorTarget &target,
    mlir::ModuleOp into, llvm::StringRef name, mlir::TypeRange parameters,
    llvm::function_ref<mlir::Value(KernelBuilder &k, mlir::ValueRange parameters)> body);

} // namespace kiln

#endif // KILN_TARGET_KERNELFUNCTION_H
