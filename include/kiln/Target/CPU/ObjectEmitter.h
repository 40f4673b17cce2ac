//===- ObjectEmitter.h - LLVM modules to machine code -----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_CPU_OBJECTEMITTER_H
#define KILN_TARGET_CPU_OBJECTEMITTER_H

#include "kiln/Target/CPU/CPUTarget.h"
#include "llvm/ADT/SmallVector.h"

namespace llvm {
class Module;
} // namespace llvm

namespace kiln {

struct EmitOptions {
  /// 0: instruction selection at its default, no IR passes (fast builds);
  /// 1 to 3: LLVM's pipelines of that name.
  unsigned optLevel = 2;
  /// LLVM's loop and SLP vectoriser and unroller. Kernels built from vectors
  /// are better without: they only grow.
  bool vectorize = false;
};

/// Runs LLVM's IR passes. Safe for different modules (in different contexts)
/// at once.
void optimize(llvm::Module &module, const CPUTarget &target, const EmitOptions &options);

/// Machine code of an optimised module. The same input gives the same bytes.
llvm::Expected<llvm::SmallVector<char, 0>> emitObject(llvm::Module &module, const CPUTarget &target,
                                                      const EmitOptions &options);
llvm::Expected<std::string> emitAssembly(llvm::Module &module, const CPUTarget &target,
                                         const EmitOptions &options);

} // namespace kiln

#endif // KILN_TARGET_CPU_OBJECTEMITTER_H
