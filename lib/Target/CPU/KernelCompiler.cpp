//===- KernelCompiler.cpp - Kernels to machine code -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/CPU/KernelCompiler.h"
#include "Lowering.h"
#include "kiln/Codegen/KernelBuilder.h"
#include "kiln/Codegen/Overwrite.h"
#include "kiln/Codegen/StoredType.h"
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

//===----------------------------------------------------------------------===//
// Build
//===----------------------------------------------------------------------===//

namespace {
/// The body function of a kernel while it is being made.
class BodyFunction {
public:
  BodyFunction(plan::KernelOp kernel, ModuleOp into)
      : kernel(kernel), b(into.getContext()), loc(kernel.getLoc()),
        block(kernel.getBody().front()) {
    b.setInsertionPointToEnd(into.getBody());
  }

  func::FuncOp create(const KernelTable &table) {
    // A launch may give an operand and the result the same memory.
    SmallVector<bool> isAlone(block.getNumArguments() + 1, true);
    for (unsigned i = 0; i < block.getNumArguments(); ++i)
      if (mayOverwrite(block, i, table))
        isAlone[i] = isAlone.back() = false;
    SmallVector<Type> types;
    for (auto [i, argument] : llvm::enumerate(block.getArguments()))
      types.push_back(pointerType(storedType(argument, layout(i))));
    for (Value result : block.getTerminator()->getOperands())
      types.push_back(pointerType(storedType(result, "")));
    size_t pointers = types.size();
    types.append(kernel.getSymbols().size() + 2, b.getIndexType());
    types.push_back(pointerType(b.getI8Type()));
    auto function = func::FuncOp::create(b, loc, (kernel.getSymName() + "_body").str(),
                                         b.getFunctionType(types, {}));
    function.setPrivate();
    function->setAttr(entryAttrName, kernel.getSymNameAttr());
    function.setArgAttr(types.size() - 1, "llvm.noalias", b.getUnitAttr());
    for (size_t i = 0; i < pointers; ++i) {
      if (isAlone[std::min(i, isAlone.size() - 1)])
        function.setArgAttr(i, "llvm.noalias", b.getUnitAttr());
      if (i < block.getNumArguments())
        function.setArgAttr(i, "llvm.readonly", b.getUnitAttr());
    }
    b.setInsertionPointToEnd(function.addEntryBlock());
    func::ReturnOp::create(b, loc);
    b.setInsertionPointToStart(&function.front());
    return function;
  }

  /// Tells the builder where its operands are.
  void describe(func::FuncOp function, KernelBuilder &k) {
    Block &entry = function.front();
    unsigned inputs = block.getNumArguments(), next = inputs;
    ValueRange results = block.getTerminator()->getOperands();
    next += results.size();
    for (Attribute name : kernel.getSymbols())
      k.symbols[cast<StringAttr>(name).getValue()] = entry.getArgument(next++);
    k.begin = entry.getArgument(next++);
    k.end = entry.getArgument(next++);
    k.scratch = flat(entry.getArgument(next), k.size(int64_t(INT64_MAX)), b.getI8Type());
    for (auto [i, argument] : llvm::enumerate(block.getArguments())) {
      k.inputs.push_back(buffer(k, entry.getArgument(i), argument, layout(i)));
      k.layouts.push_back(layout(i).str());
    }
    for (auto [i, result] : llvm::enumerate(results))
      k.outputs.push_back(buffer(k, entry.getArgument(inputs + i), result, ""));
    k.b = b;
  }

  OpBuilder &builder() { return b; }

private:
  StringRef layout(unsigned input) {
    return input < kernel.getLayouts().size()
               ? cast<StringAttr>(kernel.getLayouts()[input]).getValue()
               : "";
  }

  /// Packed constants are bytes: their layout knows what they hold.
  Type storedType(Value tensor, StringRef layout) {
    return layout.empty() ? kiln::storedType(elementTypeOf(tensor)) : b.getI8Type();
  }

  Type pointerType(Type stored) { return MemRefType::get({1}, stored); }

  /// The flat, unbounded buffer at a bare pointer.
  Value flat(Value pointer, Value size, Type stored) {
    auto type = MemRefType::get({ShapedType::kDynamic}, stored);
    return memref::ReinterpretCastOp::create(b, loc, type, pointer, b.getIndexAttr(0),
                                             ArrayRef<OpFoldResult>{size},
                                             ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
  }

  Buffer buffer(KernelBuilder &k, Value pointer, Value tensor, StringRef layout) {
    Buffer buffer;
    buffer.elementType = elementTypeOf(tensor);
    for (const Expr &dim : shapeOf(tensor))
      buffer.sizes.push_back(k.size(dim));
    buffer.memref =
        flat(pointer, k.size(elementCount(shapeOf(tensor))), storedType(tensor, layout));
    return buffer;
  }

  plan::KernelOp kernel;
  OpBuilder b;
  Location loc;
  Block &block;
};
} // namespace

/// The op of the region whose kernel is the family that the plan names.
static std::pair<Operation *, KernelFn> anchorOf(plan::KernelOp kernel, const KernelTable &table) {
  for (Operation &op : kernel.getBody().front())
    if (const OpKernels *entry = table.find(&op))
      if (entry->kernel && entry->family == kernel.getFamily())
        return {&op, entry->kernel};
  return {nullptr, nullptr};
}

FailureOr<KernelFacts> KernelCompiler::build(plan::KernelOp kernel, ModuleOp into) {
  auto [anchor, emitter] = anchorOf(kernel, table);
  auto attempt = [&, anchor = anchor, emitter = emitter](bool plain) -> FailureOr<KernelFacts> {
    BodyFunction body(kernel, into);
    func::FuncOp function = body.create(table);
    KernelBuilder k(body.builder(), kernel.getLoc(), table, cpu.vector, &kernel.getBody().front());
    body.describe(function, k);
    if (failed(emitter && !plain ? emitter(k, anchor) : buildLoopKernel(k))) {
      function.erase();
      return failure();
    }
    return KernelFacts{k.unitCount, k.unitCost, k.scratchBytes, k.gaveUpLanes};
  };
  FailureOr<KernelFacts> facts = attempt(false);
  // An emitter may decline (a form that it has no code for yet).
  if (failed(facts) && emitter)
    facts = attempt(true);
  if (failed(facts))
    return kernel.emitError("no kernel for this fusion");
  return facts;
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
