//===- KernelCompiler.cpp - Kernels to machine code -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/CPU/KernelCompiler.h"
#include "Lowering.h"
#include "kiln/Target/KernelFunction.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ThreadPool.h"
#include <deque>

using namespace mlir;
using namespace kiln;

void KernelCompiler::registerDialects(DialectRegistry &registry) {
  registry.insert<KilnDialect, plan::PlanDialect, func::FuncDialect, arith::ArithDialect,
                  math::MathDialect, memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect,
                  cf::ControlFlowDialect, ub::UBDialect, LLVM::LLVMDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

KernelCompiler::KernelCompiler(MLIRContext &context, const KernelTable &table,
                               const CPUTarget &target)
    : table(table), cpu(target), passes(&context) {
  context.loadAllAvailableDialects();
#ifdef NDEBUG
  passes.enableVerifier(false);
#endif
  addLoweringPasses(passes, target.vector);
}

FailureOr<KernelFacts> KernelCompiler::build(plan::KernelOp kernel, ModuleOp into) {
  auto built = buildKernelFunction(kernel, table, cpu.vector, into);
  if (failed(built))
    return failure();
  built->function->setAttr(entryAttrName, kernel.getSymNameAttr());
  built->function.setName((kernel.getSymName() + "_body").str());
  return built->facts;
}

LogicalResult KernelCompiler::lower(ModuleOp module) {
  if (failed(passes.run(module)))
    return failure();
  addEntryPoints(module);
  return success();
}

std::unique_ptr<llvm::Module> KernelCompiler::translate(ModuleOp module,
                                                        llvm::LLVMContext &context) {
  return translateModuleToLLVMIR(module, context, module.getName().value_or("kiln"),
                                 /*disableVerification=*/true);
}

//===----------------------------------------------------------------------===//
// Compile
//===----------------------------------------------------------------------===//

namespace {
/// One kernel on its way through LLVM, in a context of its own.
struct Job {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  CompiledKernel *result = nullptr;
  std::string error;

  void run(const CPUTarget &target, const KernelOptions &options) {
    EmitOptions emit{options.optLevel, result->facts.vectorize};
    optimize(*module, target, emit);
    if (options.keepLLVMIR) {
      llvm::raw_string_ostream out(result->llvmIR);
      module->print(out, nullptr);
    }
    // The back end changes the module: text comes from a run of its own.
    if (options.keepAssembly) {
      auto text = emitAssembly(*module, target, emit);
      if (!text) {
        error = llvm::toString(text.takeError());
        return;
      }
      result->assembly = std::move(*text);
    }
    auto object = emitObject(*module, target, emit);
    if (!object)
      error = llvm::toString(object.takeError());
    else
      result->object = std::move(*object);
    module.reset();
  }
};
} // namespace

FailureOr<std::vector<CompiledKernel>> KernelCompiler::compile(ArrayRef<plan::KernelOp> kernels,
                                                               const KernelOptions &options) {
  std::vector<CompiledKernel> results(kernels.size());
  std::deque<Job> jobs;
  // MLIR work stays on this thread: it is a fifth of LLVM's.
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(options.threads));
  for (auto [i, op] : llvm::enumerate(kernels)) {
    plan::KernelOp kernel = op;
    CompiledKernel &result = results[i];
    OwningOpRef<ModuleOp> module = ModuleOp::create(kernel->getLoc(), kernel.getSymName());
    auto facts = build(kernel, *module);
    Job &job = jobs.emplace_back();
    if (failed(facts) || failed(lower(*module)) ||
        !(job.module = translate(*module, job.context))) {
      pool.wait();
      return kernel.emitError("cannot generate code for this kernel");
    }
    result.name = kernel.getSymName().str();
    result.facts = *facts;
    job.result = &result;
    pool.async([&job, &options, this] { job.run(cpu, options); });
  }
  pool.wait();
  for (auto [i, job] : llvm::enumerate(jobs))
    if (!job.error.empty())
      return plan::KernelOp(kernels[i]).emitError("cannot emit this kernel: ") << job.error;
  return results;
}
