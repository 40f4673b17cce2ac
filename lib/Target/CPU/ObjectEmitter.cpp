//===- ObjectEmitter.cpp - LLVM modules to machine code -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/CPU/ObjectEmitter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace kiln;

static CodeGenOptLevel codegenLevel(const EmitOptions &options) {
  return options.optLevel >= 3 ? CodeGenOptLevel::Aggressive : CodeGenOptLevel::Default;
}

/// Gives every function the machine's attributes.
static void prepare(Module &module, const CPUTarget &target, TargetMachine &machine) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  for (Function &function : module)
    if (!function.isDeclaration() && !function.hasFnAttribute("target-cpu"))
      target.attach(function);
}

void kiln::optimize(Module &module, const CPUTarget &target, const EmitOptions &options) {
  auto machine = target.machine(codegenLevel(options));
  prepare(module, target, *machine);
  if (options.optLevel == 0)
    return;
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = options.vectorize;
  tuning.SLPVectorization = options.vectorize;
  tuning.LoopUnrolling = options.vectorize;
  tuning.LoopInterleaving = options.vectorize;
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager calls;
  ModuleAnalysisManager modules;
  PassBuilder builder(machine.get(), tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  OptimizationLevel level = options.optLevel == 1   ? OptimizationLevel::O1
                            : options.optLevel == 2 ? OptimizationLevel::O2
                                                    : OptimizationLevel::O3;
  builder.buildPerModuleDefaultPipeline(level).run(module, modules);
}

static Error emit(Module &module, const CPUTarget &target, const EmitOptions &options,
                  CodeGenFileType type, raw_pwrite_stream &out) {
  auto machine = target.machine(codegenLevel(options));
  prepare(module, target, *machine);
  legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, out, nullptr, type))
    return createStringError("the back end cannot write this kind of file");
  passes.run(module);
  return Error::success();
}

Expected<SmallVector<char, 0>> kiln::emitObject(Module &module, const CPUTarget &target,
                                                const EmitOptions &options) {
  SmallVector<char, 0> bytes;
  raw_svector_ostream out(bytes);
  if (Error error = emit(module, target, options, CodeGenFileType::ObjectFile, out))
    return error;
  return bytes;
}

Expected<std::string> kiln::emitAssembly(Module &module, const CPUTarget &target,
                                         const EmitOptions &options) {
  SmallVector<char, 0> bytes;
  raw_svector_ostream out(bytes);
  if (Error error = emit(module, target, options, CodeGenFileType::AssemblyFile, out))
    return error;
  return std::string(bytes.data(), bytes.size());
}
