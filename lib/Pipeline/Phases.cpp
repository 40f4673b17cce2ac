//===- Phases.cpp - What a compilation does, in order ---------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Phases.h"
#include "Printing.h"
#include "Weights.h"
#include "dialects/Kiln/IR/ModelAttributes.h"
#include "kiln/Import/ONNX/Load.h"
#include "kiln/Transforms/Passes.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Path.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;
using namespace kiln;

StringRef kiln::phaseName(Phase phase) {
  static constexpr StringLiteral names[] = {"load", "import", "fuse", "plan", "generate", "link"};
  return names[static_cast<size_t>(phase)];
}

Phase kiln::phaseOf(Stage stage) {
  switch (stage) {
  case Stage::Onnx:
    return Phase::Load;
  case Stage::Kiln:
    return Phase::Import;
  case Stage::Fused:
    return Phase::Fuse;
  case Stage::Plan:
  case Stage::Kernels:
  case Stage::Cu:
    return Phase::Plan;
  case Stage::LLVM:
  case Stage::Asm:
    return Phase::Generate;
  case Stage::Obj:
  case Stage::Archive:
  case Stage::So:
    return Phase::Link;
  }
  llvm_unreachable("unknown stage");
}

//===----------------------------------------------------------------------===//
// Failures and times
//===----------------------------------------------------------------------===//

/// The ONNX nodes that an op came from.
static std::string nodeOf(Location loc) {
  auto name = dyn_cast<NameLoc>(loc);
  return name ? name.getName().str() : "";
}

LogicalResult Compilation::note(mlir::Diagnostic &diag) {
  if (diag.getSeverity() == DiagnosticSeverity::Error)
    complaints.push_back({diag.str(), nodeOf(diag.getLocation())});
  return success();
}

bool Compilation::fail(Diag diag, StringRef text) {
  if (complaints.empty())
    complaints.push_back({text.str(), ""});
  for (const Complaint &complaint : std::exchange(complaints, {})) {
    if (diag == Diag::NoKernel) {
      StringRef what = complaint.text;
      what.consume_back(" has no kernel on this target");
      diags.report(diag, what, "cpu").atNode(complaint.node);
    } else {
      diags.report(diag, complaint.text).atNode(complaint.node);
    }
  }
  return false;
}

namespace {
struct TimePasses final : PassInstrumentation {
  explicit TimePasses(PhaseTimer &timer) : timer(timer) {}

  // Those without a flag only run other passes.
  void runBeforePass(Pass *pass, Operation *) override {
    if (!pass->getArgument().empty())
      timer.begin(pass->getArgument());
  }
  void runAfterPass(Pass *pass, Operation *) override {
    if (!pass->getArgument().empty())
      timer.end();
  }
  void runAfterPassFailed(Pass *pass, Operation *op) override { runAfterPass(pass, op); }

  PhaseTimer &timer;
};
} // namespace

bool Compilation::runPasses(ModuleOp on, Diag onFailure,
                            function_ref<void(PassManager &)> addPasses) {
  complaints.clear();
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diag) { return note(diag); });
  PassManager pm(&context);
  pm.addInstrumentation(std::make_unique<TimePasses>(timer));
  addPasses(pm);
  return succeeded(pm.run(on)) || fail(onFailure, "a pass failed");
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

bool Compilation::within(Phase phase, Phase goal, function_ref<bool()> work) {
  auto number = [](Phase p) { return static_cast<unsigned>(p) + 1; };
  if (options.progress)
    options.progress(phaseName(phase), number(phase), number(goal));
  PhaseTimer::Scope scope(timer, phaseName(phase));
  return work();
}

bool Compilation::run(Phase last, Phase goal) {
  for (unsigned i = 0; i <= static_cast<unsigned>(last); ++i) {
    auto phase = static_cast<Phase>(i);
    if (!within(phase, goal, [&] { return runPhase(phase) && writeTemps(phase); }))
      return false;
  }
  return true;
}

bool Compilation::runPhase(Phase phase) {
  switch (phase) {
  case Phase::Load:
    return load();
  case Phase::Import:
    return import();
  case Phase::Fuse:
    return fuse();
  case Phase::Plan:
    return plan();
  case Phase::Generate:
    return generate();
  case Phase::Link:
    break;
  }
  llvm_unreachable("the caller links");
}

bool Compilation::load() {
  if (module)
    return true;
  model = onnx::loadModel(path, {}, diags);
  return model != nullptr;
}

bool Compilation::import() {
  if (!module) {
    PhaseTimer::Scope scope(timer, "convert");
    module = importModel(*model, options.import, tables.importers, context, diags);
  }
  return module && setBatchSymbol() &&
         runPasses(*module, Diag::Internal,
                   [&](PassManager &pm) {
                     // Folding exposes more to fold: canonical forms make constants of shapes,
                     // constants make shapes of canonical forms.
                     pm.addNestedPass<func::FuncOp>(createCanonicalizerPass());
                     pm.addNestedPass<func::FuncOp>(createFoldConstantsPass(tables.references));
                     pm.addNestedPass<func::FuncOp>(createCanonicalizerPass());
                     pm.addNestedPass<func::FuncOp>(createCSEPass());
                     if (!options.batchDim.empty())
                       pm.addPass(createProveBatchPass(tables.kernels, options.batchDim));
                   }) &&
         noteBatch();
}

bool Compilation::setBatchSymbol() {
  info.batchSymbol = options.batchDim;
  auto names = module->getOperation()->getAttrOfType<ArrayAttr>(symbolNamesAttr);
  auto isBatch = [&](Attribute name) {
    return cast<StringAttr>(name).getValue() == options.batchDim;
  };
  if (options.batchDim.empty() || (names && llvm::any_of(names, isBatch)))
    return true;
  std::string known;
  if (names)
    for (Attribute name : names)
      known += (known.empty() ? "" : ", ") + cast<StringAttr>(name).str();
  diags.report(Diag::Usage, "--batch-dim " + options.batchDim +
                                ": the model has no such dynamic dimension" +
                                (known.empty() ? "" : " (it has " + known + ")"));
  return false;
}

bool Compilation::noteBatch() {
  Operation *op = module->getOperation();
  if (auto axes = op->getAttrOfType<DenseI32ArrayAttr>(batchAxesAttr))
    info.batchAxes.assign(axes.asArrayRef().begin(), axes.asArrayRef().end());
  if (auto obstacle = op->getAttrOfType<StringAttr>(batchObstacleAttr)) {
    info.batchObstacle = obstacle.str();
    diags.report(Diag::NotSeparable, options.batchDim, info.batchObstacle);
  }
  return true;
}

/// Compiled rules of folders are kept with kernels.
RuleStore Compilation::ruleStore() {
  if (options.cacheFolder.empty())
    return {};
  auto cache = std::make_shared<ContentCache>(options.cacheFolder, options.cacheLimit);
  auto keyOf = [](StringRef material) { return ContentCache::keyOf({"rule", material}); };
  return {[=](StringRef material) -> std::optional<std::string> {
            std::string key = keyOf(material);
            return key.empty() ? std::nullopt : cache->loadBytes(key);
          },
          [=](StringRef material, StringRef bytes) {
            if (std::string key = keyOf(material); !key.empty())
              cache->storeBytes(key, bytes);
            cache->trim();
          }};
}

/// `onlyTemplates`: with the rules whose kernels only templates compute.
bool Compilation::fuseForDevice(bool onlyTemplates) {
  device->module = module->clone();
  report.device = std::make_shared<RuleReport>();
  report.device->rules = report.rules;
  report.device->rates = deviceRates();
  // Rows are made or finished beside a product by processors only, but for those that are
  // normalised on their way into one in fp32 (NormLinear).
  bool normLinear = onlyTemplates && options.cuda.precision == Precision::Fp32;
  llvm::erase_if(report.device->rules, [&](const auto &rule) {
    return (rule->anchor == "rows" &&
            !(normLinear && StringRef(rule->name).ends_with("_linear"))) ||
           (rule->anchor == "attention" && !onlyTemplates);
  });
  return fuse(*device->module, *report.device, options.cuda.precision);
}

bool Compilation::fuse() {
  report = {};
  {
    PhaseTimer::Scope scope(timer, "rules");
    if (!tables.library.select(options.rules, context, ruleStore(), diags, report.rules))
      return false;
    prepareEvidence();
  }
  if (options.cuda.isWanted) {
    if (!checkPrecision())
      return false;
    device.emplace();
    if (!fuseForDevice(/*onlyTemplates=*/true) ||
        (!haveTemplates(*device->module) && !fuseForDevice(/*onlyTemplates=*/false))) {
      finishEvidence();
      return false;
    }
  }
  bool fused = fuse(*module, report, Precision::Fp32);
  timer.add("rules made ready (of which, processor time)", report.times.prepare);
  timer.add("rules matched (of which, processor time)", report.times.match);
  timer.add("matches chosen (of which, processor time)", report.times.choose);
  for (const auto &[name, text] : report.switchedOff) {
    auto &fault = diags.report(Diag::RuleSwitchedOff, name, text);
    for (const auto &rule : report.rules)
      if (rule->name == name && !rule->builtIn)
        fault.inFile(rule->file);
  }
  finishEvidence();
  return fused;
}

bool Compilation::fuse(ModuleOp graph, RuleReport &report, Precision precision) {
  return runPasses(graph, Diag::Internal, [&](PassManager &pm) {
    auto simplify = [&] {
      pm.addNestedPass<func::FuncOp>(createCanonicalizerPass());
      pm.addNestedPass<func::FuncOp>(createCSEPass());
    };
    if (!report.rules.empty()) {
      pm.addNestedPass<func::FuncOp>(createApplyAlgebraPass(tables.rules, &report));
      // What algebra leaves: folded shapes, constants that are equal.
      simplify();
    }
    // Behind algebra, which knows no casts between the ops that it looks for.
    if (precision == Precision::Bf16 || precision == Precision::Fp16) {
      pm.addNestedPass<func::FuncOp>(
          createLowerPrecisionPass(precision == Precision::Bf16 ? "bf16" : "f16"));
      pm.addNestedPass<func::FuncOp>(createFoldConstantsPass(tables.references));
      simplify();
    }
    if (!report.rules.empty())
      pm.addNestedPass<func::FuncOp>(createApplyRulesPass(tables.rules, &report));
    pm.addNestedPass<func::FuncOp>(createFusePass(tables.kernels));
  });
}

bool Compilation::plan() {
  auto planFor = [&](ModuleOp graph, const VectorTarget &target) {
    return runPasses(graph, Diag::NoKernel, [&](PassManager &pm) {
      pm.addPass(createPlanPass(tables.kernels, target));
      pm.addPass(createShareBuffersPass(tables.kernels));
    });
  };
  return planFor(*module, compiler.target().vector) &&
         (!device || (planFor(*device->module, VectorTarget::device()) && checkDeviceMemory() &&
                      emitDeviceKernels()));
}

bool Compilation::generate() {
  complaints.clear();
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diag) { return note(diag); });
  if (!generateKernels())
    return false;
  if (device && !compileDeviceKernels())
    return false;
  {
    PhaseTimer::Scope scope(timer, "weights");
    if (!layoutWeightsOfPlans())
      return false;
    fillInfo();
  }
  PhaseTimer::Scope scope(timer, "program");
  return generateProgram(program());
}

bool Compilation::layoutWeightsOfPlans() {
  layout = layoutProgram(program());
  SmallVector<ProgramLayout *> layouts;
  if (device) {
    device->layout = layoutProgram(programOf(*device->module));
    // First: what goes to the device is one piece.
    layouts.push_back(&device->layout);
  }
  layouts.push_back(&layout);
  segments = collectWeights(layouts, tables.kernels);
  auto checksums = checksumWeights(segments);
  if (!checksums)
    return fail(Diag::Internal, llvm::toString(checksums.takeError()));
  for (ProgramLayout *each : layouts)
    for (ProgramLayout::Weight &weight : each->weights)
      weight.crc32c = (*checksums)[weight.segment];
  return true;
}

bool Compilation::generateKernels() {
  PhaseTimer::Scope scope(timer, "kernels");
  auto ops = llvm::to_vector(module->getOps<plan::KernelOp>());
  KernelOptions kernelOptions;
  kernelOptions.optLevel = options.optLevel;
  kernelOptions.threads = options.threads;
  kernelOptions.keepLLVMIR = kernelOptions.keepAssembly = textIsWanted;
  FailureOr<std::vector<CompiledKernel>> compiled = failure();
  std::string count = std::to_string(ops.size());
  if (options.cacheFolder.empty()) {
    compiled = compiler.compile(ops, kernelOptions);
  } else {
    KernelCache cache(options.cacheFolder, options.cacheLimit);
    compiled = cache.compile(compiler, ops, kernelOptions);
    count += ", " + std::to_string(cache.hits()) + " cached";
    if (options.cacheIsWanted && !cache.problem().empty())
      diags.warn(Diag::CacheUnusable, options.cacheFolder, cache.problem());
  }
  timer.annotate(count);
  if (failed(compiled))
    return fail(Diag::Internal, "a kernel could not be compiled");
  kernels = std::move(*compiled);
  return true;
}

bool Compilation::generateProgram(plan::ProgramOp program) {
  llvm::StringMap<KernelFacts> facts;
  for (const CompiledKernel &kernel : kernels)
    facts[kernel.name] = kernel.facts;
  OwningOpRef<ModuleOp> into = ModuleOp::create(program.getLoc());
  buildProgram(program, layout, facts, *into);
  if (device)
    buildDeviceProgram(*into);
  if (failed(compiler.lower(*into)))
    return fail(Diag::Internal, "the program could not be lowered");
  llvm::LLVMContext llvmContext;
  auto llvmModule = compiler.translate(*into, llvmContext);
  if (!llvmModule)
    return fail(Diag::Internal, "the program could not be translated");
  addModuleTable(program, layout, info, device ? addDevice(*llvmModule) : nullptr, *llvmModule);
  EmitOptions emit;
  // Code around launches: optimising it pays little.
  emit.optLevel = std::min(options.optLevel, 1u);
  if (textIsWanted) {
    llvm::raw_string_ostream os(programIR);
    llvmModule->print(os, nullptr);
    // The back end changes the module.
    auto assembly = emitAssembly(*llvm::CloneModule(*llvmModule), compiler.target(), emit);
    if (!assembly)
      return fail(Diag::Internal, llvm::toString(assembly.takeError()));
    programAssembly = std::move(*assembly);
  }
  auto object = emitObject(*llvmModule, compiler.target(), emit);
  if (!object)
    return fail(Diag::Internal, llvm::toString(object.takeError()));
  programObject = std::move(*object);
  return true;
}

std::string kiln::withoutResourceNames(StringRef text) {
  constexpr StringLiteral start = "dense_resource<";
  std::string result;
  for (size_t at; (at = text.find(start)) != StringRef::npos;) {
    result += text.take_front(at + start.size());
    text = text.drop_front(at + start.size());
    // In quotes, a quote is written as its number.
    if (text.consume_front("\""))
      text = text.drop_until([](char c) { return c == '"'; });
    text = text.drop_until([](char c) { return c == '>'; });
  }
  return result + text.str();
}

void Compilation::fillInfo() {
  info.name = llvm::sys::path::stem(path).str();
  info.producer = producerName().str();
  info.target = "cpu " + compiler.target().cpu;
  info.features = compiler.target().featureList();
  std::string text;
  llvm::raw_string_ostream os(text);
  printModule(*module, /*printWeights=*/false, os);
  llvm::BLAKE3 hash;
  for (StringRef part : {StringRef(info.producer), StringRef(info.target),
                         StringRef(compiler.target().features), StringRef(info.batchSymbol)}) {
    hash.update(part);
    hash.update(StringRef("\0", 1));
  }
  hash.update(std::to_string(options.optLevel));
  hash.update(options.minimalFiltering ? "minimal-filtering" : "");
  if (device)
    for (const DeviceInfo::Image &image : device->info.images) {
      hash.update(image.arch);
      hash.update(image.bytes);
    }
  // What resources hold follows.
  hash.update(withoutResourceNames(text));
  for (const WeightSegment &segment : segments)
    hash.update(segment.data);
  auto digest = hash.final();
  std::copy(digest.begin(), digest.end(), info.digest);
  info.manifest = writeManifest(makeManifest());
}
