//===- Compilation.cpp - From an ONNX file to an artefact -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Pipeline/Compilation.h"
#include "Printing.h"
#include "Weights.h"
#include "kiln/Import/ONNX/Load.h"
#include "kiln/Target/Link/Artefact.h"
#include "kiln/Target/Link/Link.h"
#include "kiln/Target/RuntimeObject.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace kiln;

StringRef kiln::producerName() { return "kiln " KILN_VERSION; }

static constexpr unsigned numPhases = 6;

namespace {
DialectRegistry makeRegistry() {
  DialectRegistry registry;
  KernelCompiler::registerDialects(registry);
  return registry;
}
} // namespace

/// The tables of a compiler and, for one compilation, what the phases made.
struct Compiler::State {
  State() : context(makeRegistry(), MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
    registerImporters(importers);
    registerReferences(references);
    registerKernels(kernels);
  }

  MLIRContext context;
  ImportTable importers;
  ReferenceTable references;
  KernelTable kernels;
  std::map<std::string, std::unique_ptr<KernelCompiler>> kernelCompilers; // by CPU

  KernelCompiler *compilerFor(StringRef cpu, kiln::DiagnosticEngine &diags) {
    auto &compiler = kernelCompilers[cpu.str()];
    if (!compiler) {
      auto target = CPUTarget::create(cpu);
      if (!target) {
        diags.report(Diag::UnknownCPU, llvm::toString(target.takeError()));
        return nullptr;
      }
      compiler = std::make_unique<KernelCompiler>(context, kernels, *target);
    }
    return compiler.get();
  }
};

namespace {

/// One compilation.
class Compilation {
public:
  Compilation(MLIRContext &context, const ImportTable &importers, const ReferenceTable &references,
              const KernelTable &kernels, KernelCompiler &compiler, const CompileOptions &options,
              kiln::DiagnosticEngine &diags)
      : context(context), importers(importers), references(references), kernels(kernels),
        compiler(compiler), options(options), diags(diags) {}

  bool load(StringRef path) {
    start("load");
    modelName = llvm::sys::path::stem(path).str();
    model = onnx::loadModel(path, {}, diags);
    return model != nullptr;
  }

  bool import() {
    start("import");
    module = importModel(*model, options.import, importers, context, diags);
    if (!module)
      return false;
    return run(Diag::Internal, [&](PassManager &pm) {
      // Folding exposes more to fold: canonical forms make constants of shapes,
      // constants make shapes of canonical forms.
      pm.addNestedPass<func::FuncOp>(createCanonicalizerPass());
      pm.addNestedPass<func::FuncOp>(createFoldConstantsPass(references));
      pm.addNestedPass<func::FuncOp>(createCanonicalizerPass());
      pm.addNestedPass<func::FuncOp>(createCSEPass());
    });
  }

  bool fuse() {
    start("fuse");
    return run(Diag::Internal,
               [&](PassManager &pm) { pm.addNestedPass<func::FuncOp>(createFusePass(kernels)); });
  }

  bool plan() {
    start("plan");
    return run(Diag::NoKernel, [&](PassManager &pm) {
      pm.addPass(createPlanPass(kernels, compiler.target().vector));
    });
  }

  bool generate(bool keepText) {
    start("generate");
    auto program = *module->getOps<plan::ProgramOp>().begin();
    auto kernelOps = llvm::to_vector(module->getOps<plan::KernelOp>());
    KernelOptions kernelOptions;
    kernelOptions.optLevel = options.optLevel;
    kernelOptions.threads = options.threads;
    kernelOptions.keepLLVMIR = kernelOptions.keepAssembly = keepText;
    ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diag) { return note(diag); });
    auto compiled = compiler.compile(kernelOps, kernelOptions);
    if (failed(compiled))
      return fail(Diag::Internal, "a kernel could not be compiled");
    compiledKernels = std::move(*compiled);

    layout = layoutProgram(program);
    segments = collectWeights(layout, kernels);
    auto checksums = checksumWeights(segments);
    if (!checksums)
      return fail(Diag::Internal, llvm::toString(checksums.takeError()));
    for (auto [weight, segment, crc] : llvm::zip(layout.weights, segments, *checksums)) {
      weight.offset = segment.offset;
      weight.bytes = segment.size;
      weight.crc32c = crc;
    }
    return generateProgram(program, keepText);
  }

  bool link(StringRef output, StringRef header) {
    start("link");
    LinkInputs inputs;
    EmbeddedBytes runtime = runtimeObject();
    inputs.objects.push_back({StringRef(runtime.data, runtime.size), "runtime"});
    inputs.objects.push_back({StringRef(programObject.data(), programObject.size()), "program"});
    for (const CompiledKernel &kernel : compiledKernels)
      inputs.objects.push_back(
          {StringRef(kernel.object.data(), kernel.object.size()), kernel.name});
    std::string stem = llvm::sys::path::stem(output).str(),
                hex = llvm::toHex(ArrayRef(info.digest), true);
    inputs.soname = llvm::sys::path::filename(output).str();
    inputs.modelSymbol = modelSymbolName(stem, hex);
    inputs.weightsSize = layout.weightsSize;
    inputs.buildId = hex.substr(0, 40);
    auto linked = linkShared(inputs);
    if (!linked)
      return fail(Diag::Internal, llvm::toString(linked.takeError()));
    if (llvm::Error error = writeArtefact(output, *linked, segments))
      return failToWrite(output, std::move(error));
    if (header.empty())
      return true;
    if (llvm::Error error = writeFileAtomically(header, writeModelHeader(headerInfo(stem, hex))))
      return failToWrite(header, std::move(error));
    return true;
  }

  void print(Stage stage, raw_ostream &os) {
    switch (stage) {
    case Stage::Onnx:
      return printModel(*model, os);
    case Stage::Kiln:
    case Stage::Fused:
    case Stage::Plan:
      return printModule(*module, options.printWeights, os);
    case Stage::Kernels:
      return printKernels(*module, compiler, os);
    case Stage::LLVM:
      for (const CompiledKernel &kernel : compiledKernels)
        os << kernel.llvmIR << '\n';
      os << programIR;
      return;
    case Stage::Asm:
      for (const CompiledKernel &kernel : compiledKernels)
        os << kernel.assembly << '\n';
      return;
    case Stage::Obj:
      os.write(programObject.data(), programObject.size());
      return;
    case Stage::So:
      llvm_unreachable("the artefact is a file");
    }
  }

private:
  void start(StringRef phase) {
    if (options.progress)
      options.progress(phase, ++phaseIndex, numPhases);
  }

  /// Keeps what MLIR says about a failure for fail().
  LogicalResult note(mlir::Diagnostic &diag) {
    if (diag.getSeverity() == DiagnosticSeverity::Error)
      complaints.push_back(diag.str());
    return success();
  }

  bool fail(Diag diag, StringRef text) {
    std::string message = complaints.empty() ? text.str() : complaints.front();
    if (diag == Diag::NoKernel)
      diags.report(diag, message, "cpu");
    else
      diags.report(diag, message);
    return false;
  }

  bool failToWrite(StringRef path, llvm::Error error) {
    diags.report(Diag::FileUnwritable, path, llvm::toString(std::move(error)));
    return false;
  }

  bool run(Diag onFailure, function_ref<void(PassManager &)> addPasses) {
    ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diag) { return note(diag); });
    PassManager pm(&context);
    addPasses(pm);
    return succeeded(pm.run(*module)) || fail(onFailure, "a pass failed");
  }

  bool generateProgram(plan::ProgramOp program, bool keepText) {
    llvm::StringMap<KernelFacts> facts;
    for (const CompiledKernel &kernel : compiledKernels)
      facts[kernel.name] = kernel.facts;
    OwningOpRef<ModuleOp> into = ModuleOp::create(program.getLoc());
    buildProgram(program, layout, facts, *into);
    if (failed(compiler.lower(*into)))
      return fail(Diag::Internal, "the program could not be lowered");
    llvm::LLVMContext llvmContext;
    auto llvmModule = compiler.translate(*into, llvmContext);
    if (!llvmModule)
      return fail(Diag::Internal, "the program could not be translated");
    fillInfo(program);
    addModuleTable(program, layout, info, *llvmModule);
    EmitOptions emit;
    // Straight-line code that runs once a call: optimising it pays little.
    emit.optLevel = std::min(options.optLevel, 1u);
    if (keepText) {
      llvm::raw_string_ostream os(programIR);
      llvmModule->print(os, nullptr);
    }
    auto object = emitObject(*llvmModule, compiler.target(), emit);
    if (!object)
      return fail(Diag::Internal, llvm::toString(object.takeError()));
    programObject = std::move(*object);
    return true;
  }

  void fillInfo(plan::ProgramOp program) {
    info.name = modelName;
    info.producer = producerName().str();
    info.target = "cpu " + compiler.target().cpu;
    info.features = compiler.target().featureList();
    info.batchSymbol = options.batchDim;
    std::string text;
    llvm::raw_string_ostream os(text);
    printModule(*module, /*printWeights=*/false, os);
    llvm::BLAKE3 hash;
    hash.update(info.producer + info.target + compiler.target().features +
                std::to_string(options.optLevel));
    hash.update(text);
    for (const WeightSegment &segment : segments)
      hash.update(segment.data);
    auto digest = hash.final();
    std::copy(digest.begin(), digest.end(), info.digest);
    (void)program;
  }

  ModelHeaderInfo headerInfo(StringRef stem, StringRef hex) {
    auto program = *module->getOps<plan::ProgramOp>().begin();
    ModelHeaderInfo header;
    header.name = stem.str();
    header.digest = hex.str();
    header.producer = producerName().str();
    for (auto [name, argument] :
         llvm::zip(program.getInputNames(), program.getBody().getArguments()))
      header.inputs.push_back(headerTensor(cast<StringAttr>(name).getValue(), argument.getType()));
    for (auto [name, type] : llvm::zip(program.getOutputNames(), layout.outputs))
      header.outputs.push_back(headerTensor(cast<StringAttr>(name).getValue(), type));
    return header;
  }

  MLIRContext &context;
  const ImportTable &importers;
  const ReferenceTable &references;
  const KernelTable &kernels;
  KernelCompiler &compiler;
  const CompileOptions &options;
  kiln::DiagnosticEngine &diags;

  unsigned phaseIndex = 0;
  std::vector<std::string> complaints;
  std::string modelName;
  std::unique_ptr<onnx::Model> model;
  OwningOpRef<ModuleOp> module;
  std::vector<CompiledKernel> compiledKernels;
  ProgramLayout layout;
  std::vector<WeightSegment> segments;
  ModuleInfo info;
  SmallVector<char, 0> programObject;
  std::string programIR;
};
} // namespace

Compiler::Compiler() : state(std::make_unique<State>()) {}
Compiler::~Compiler() = default;

bool Compiler::compile(StringRef model, StringRef output, StringRef header,
                       const CompileOptions &options, kiln::DiagnosticEngine &diags) {
  KernelCompiler *compiler = state->compilerFor(options.cpu, diags);
  if (!compiler)
    return false;
  Compilation c(state->context, state->importers, state->references, state->kernels, *compiler,
                options, diags);
  return c.load(model) && c.import() && c.fuse() && c.plan() && c.generate(false) &&
         c.link(output, header);
}

bool Compiler::print(StringRef model, Stage stage, raw_ostream &os, const CompileOptions &options,
                     kiln::DiagnosticEngine &diags) {
  KernelCompiler *compiler = state->compilerFor(options.cpu, diags);
  if (!compiler)
    return false;
  Compilation c(state->context, state->importers, state->references, state->kernels, *compiler,
                options, diags);
  bool done = c.load(model) && (stage < Stage::Kiln || c.import()) &&
              (stage < Stage::Fused || c.fuse()) && (stage < Stage::Plan || c.plan()) &&
              (stage < Stage::LLVM || c.generate(true));
  if (done)
    c.print(stage, os);
  return done;
}
