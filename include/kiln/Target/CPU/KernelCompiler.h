//===- KernelCompiler.h - Kernels to machine code ---------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan.kernel becomes the C function
//
//     void <name>(const void *args, int64_t begin, int64_t end, void *scratch)
//
// where args points to 8-byte slots: a pointer for each input, one for each
// result, one int64 for each of the kernel's symbols. It computes units
// [begin, end) of those that KernelFacts counts.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_CPU_KERNELCOMPILER_H
#define KILN_TARGET_CPU_KERNELCOMPILER_H

#include "dialects/Plan/IR/PlanDialect.h"
#include "kiln/Codegen/KernelTable.h"
#include "kiln/Target/CPU/ObjectEmitter.h"
#include "kiln/Target/KernelFacts.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
} // namespace llvm

namespace kiln {

struct CompiledKernel {
  std::string name;
  KernelFacts facts;
  llvm::SmallVector<char, 0> object;
  /// Only when asked for.
  std::string llvmIR, assembly;
};

struct KernelOptions {
  unsigned optLevel = 2;
  /// Threads that optimise and emit; 0 is one a core.
  unsigned threads = 0;
  bool keepLLVMIR = false;
  bool keepAssembly = false;
};

class KernelCompiler {
public:
  KernelCompiler(mlir::MLIRContext &context, const KernelTable &table, const CPUTarget &target);

  /// Every dialect, interface and translation that this class uses. Append to
  /// the context's registry before constructing one.
  static void registerDialects(mlir::DialectRegistry &registry);

  //===-- Whole way -------------------------------------------------------===//

  /// Compiles kernels, several at once. Results are in the kernels' order and
  /// do not depend on the number of threads. On failure the reason has been
  /// reported.
  mlir::FailureOr<std::vector<CompiledKernel>> compile(llvm::ArrayRef<plan::KernelOp> kernels,
                                                       const KernelOptions &options = {});

  //===-- Steps -----------------------------------------------------------===//

  /// Builds the kernel's function into a module. Only reads `kernel`.
  mlir::FailureOr<KernelFacts> build(plan::KernelOp kernel, mlir::ModuleOp into);
  /// Lowers everything in a module to the LLVM dialect and adds the C entry
  /// points of the kernels in it.
  mlir::LogicalResult lower(mlir::ModuleOp module);
  /// A lowered module as LLVM IR for the target; null on failure.
  std::unique_ptr<llvm::Module> translate(mlir::ModuleOp module, llvm::LLVMContext &context);

  const CPUTarget &target() const { return cpu; }

private:
  const KernelTable &table;
  CPUTarget cpu;
  mlir::PassManager passes;
};

} // namespace kiln

#endif // KILN_TARGET_CPU_KERNELCOMPILER_H
