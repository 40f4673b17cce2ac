//===- Lowering.h - Kernel IR to the LLVM dialect ---------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_TARGET_CPU_LOWERING_H
#define KILN_LIB_TARGET_CPU_LOWERING_H

#include "kiln/Codegen/VectorTarget.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace kiln {

/// On a kernel's body (func.func): the name of its C entry point.
inline constexpr llvm::StringLiteral entryAttrName = "kiln.entry";

/// Passes from scf, vector, memref, arith, math, index and func to LLVM.
void addLoweringPasses(mlir::OpPassManager &passes, const VectorTarget &target);

/// Adds the entry point of every body in a lowered module.
void addEntryPoints(mlir::ModuleOp module);

} // namespace kiln

#endif // KILN_LIB_TARGET_CPU_LOWERING_H
