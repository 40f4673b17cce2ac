//===- GenericWork.h - What a generic kernel does -----------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_TARGET_CUDA_GENERICWORK_H
#define KILN_LIB_TARGET_CUDA_GENERICWORK_H

#include "dialects/Plan/IR/PlanDialect.h"
#include "kiln/Target/CUDA/Schedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kiln {

/// A launch of one thread a unit, as far as the code of a unit tells: an op is an
/// instruction, a loop whose length only the run knows has TemplateWriter::guess's,
/// and neighbouring units' loads are as far apart as their index arithmetic says.
cuda::Work genericWork(plan::KernelOp kernel, mlir::func::FuncOp function, int64_t units,
                       int threads);

/// Instructions of a block's code, by the same measure.
double countOperations(mlir::Block &block);

} // namespace kiln

#endif // KILN_LIB_TARGET_CUDA_GENERICWORK_H
