//===- Compilation.cpp - From an ONNX file to an artefact -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Pipeline/Compilation.h"
#include "Phases.h"
#include <map>

using namespace mlir;
using namespace kiln;

StringRef kiln::producerName() { return "kiln " KILN_VERSION; }

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerAllDialects(registry);
  return registry;
}

struct Compiler::State {
  State() : context(makeRegistry(), MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
  }

  /// Null, reported, when the CPU is unknown.
  KernelCompiler *compilerFor(const CompileOptions &options, kiln::DiagnosticEngine &diags) {
    auto &compiler = compilers[{options.cpu, options.minimalFiltering}];
    if (compiler)
      return compiler.get();
    auto target = CPUTarget::create(options.cpu);
    if (!target) {
      diags.report(Diag::UnknownCPU, llvm::toString(target.takeError()));
      return nullptr;
    }
    target->vector.minimalFiltering = options.minimalFiltering;
    compiler = std::make_unique<KernelCompiler>(context, tables.kernels, *target);
    return compiler.get();
  }

  /// Runs `work` on a new compilation.
  bool with(StringRef model, const CompileOptions &options, kiln::DiagnosticEngine &diags,
            function_ref<bool(Compilation &)> work) {
    KernelCompiler *compiler = compilerFor(options, diags);
    if (!compiler)
      return false;
    Compilation compilation(context, tables, *compiler, model, options, diags);
    if (!options.tempsStem.empty())
      compilation.keepText();
    return work(compilation);
  }

  MLIRContext context;
  CompilerTables tables;
  /// By CPU and minimalFiltering.
  std::map<std::pair<std::string, bool>, std::unique_ptr<KernelCompiler>> compilers;
};

Compiler::Compiler() : state(std::make_unique<State>()) {}
Compiler::~Compiler() = default;

/// The artefact in one of its forms, and its header.
static bool writeBoth(Compilation &c, Stage form, StringRef output, StringRef header) {
  if (!c.readSigningKey() || !c.announceOutput(output) ||
      (!header.empty() && !c.announceOutput(header)))
    return false;
  return c.run(Phase::Generate, Phase::Link) && c.link(form, output, header);
}

bool Compiler::compile(StringRef model, StringRef output, StringRef header,
                       const CompileOptions &options, kiln::DiagnosticEngine &diags) {
  return state->with(model, options, diags,
                     [&](Compilation &c) { return writeBoth(c, Stage::So, output, header); });
}

bool Compiler::compileStatic(StringRef model, Stage objOrArchive, StringRef output,
                             StringRef header, const CompileOptions &options,
                             kiln::DiagnosticEngine &diags) {
  return state->with(model, options, diags,
                     [&](Compilation &c) { return writeBoth(c, objOrArchive, output, header); });
}

bool Compiler::compileGraph(function_ref<OwningOpRef<ModuleOp>(MLIRContext &)> make,
                            StringRef output, const CompileOptions &options,
                            kiln::DiagnosticEngine &diags) {
  return state->with("graph", options, diags, [&](Compilation &c) {
    return c.startFrom(make(state->context)) && writeBoth(c, Stage::So, output, "");
  });
}

std::optional<GraphSummary>
Compiler::summarizeGraph(function_ref<OwningOpRef<ModuleOp>(MLIRContext &)> make,
                         const CompileOptions &options, kiln::DiagnosticEngine &diags) {
  std::optional<GraphSummary> summary;
  state->with("graph", options, diags, [&](Compilation &c) {
    if (c.startFrom(make(state->context)) && c.run(Phase::Plan, Phase::Plan))
      summary = c.summarize();
    return summary.has_value();
  });
  return summary;
}

bool Compiler::emit(StringRef model, Stage stage, StringRef output, const CompileOptions &options,
                    kiln::DiagnosticEngine &diags) {
  return state->with(model, options, diags, [&](Compilation &c) {
    Phase goal = phaseOf(stage);
    if (stage == Stage::LLVM || stage == Stage::Asm)
      c.keepText();
    return c.announceOutput(output) && c.run(goal, goal) && c.writeText(stage, output);
  });
}

bool Compiler::print(StringRef model, Stage stage, raw_ostream &os, const CompileOptions &options,
                     kiln::DiagnosticEngine &diags) {
  return state->with(model, options, diags, [&](Compilation &c) {
    Phase goal = phaseOf(stage);
    if (stage == Stage::LLVM || stage == Stage::Asm)
      c.keepText();
    return c.run(goal, goal) && c.print(stage, os);
  });
}

bool Compiler::check(StringRef model, Phase last, const CompileOptions &options,
                     kiln::DiagnosticEngine &diags) {
  return state->with(model, options, diags, [&](Compilation &c) { return c.run(last, last); });
}
