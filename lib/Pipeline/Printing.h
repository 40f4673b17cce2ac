//===- Printing.h - Stages as text ------------------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_PIPELINE_PRINTING_H
#define KILN_LIB_PIPELINE_PRINTING_H

#include "kiln/Import/ONNX/Graph.h"
#include "kiln/Target/CPU/KernelCompiler.h"
#include "mlir/IR/BuiltinOps.h"

namespace kiln {

void printModel(const onnx::Model &model, llvm::raw_ostream &os);
/// Elements of large tensors only when asked for.
void printModule(mlir::ModuleOp module, bool printWeights, llvm::raw_ostream &os);
/// The kernels' loops, before they are lowered.
mlir::LogicalResult printKernels(mlir::ModuleOp module, KernelCompiler &compiler,
                                 llvm::raw_ostream &os);

} // namespace kiln

#endif // KILN_LIB_PIPELINE_PRINTING_H
