//===- Check.cpp - Rules on random graphs ---------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "Artefact.h"
#include "kiln/Patterns/Instance.h"
#include "kiln/Pipeline/Compilation.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "tools/kiln-run/Simulated.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace mlir;
using namespace kiln;

/// Draws of operands and attributes until a pattern matches.
static constexpr unsigned maxDraws = 60;

/// Empty, or why the artefact did not run.
static std::string runArtefact(const std::string &path, const std::string &device,
                               const Tensors &inputs, Tensors &outputs) {
  std::string why;
  auto artefact = Artefact::open(path, /*threads=*/0, why, device.c_str());
  if (!artefact)
    return why;
  Arguments arguments(inputs, outputs);
  if (kiln_status_t status = artefact->run(arguments); status != KILN_OK)
    return kiln_status_name(status);
  outputs = arguments.outputs();
  return run::simulatorFindings() == 0 ? "" : run::simulatorReport();
}

namespace {
class RuleCheck {
public:
  RuleCheck(std::shared_ptr<const Rule> rule, const PassTables &tables, MLIRContext &context,
            const CheckOptions &options, Compiler &compiler, StringRef folder)
      : rule(std::move(rule)), tables(tables), context(context), options(options),
        compiler(compiler), folder(folder.str()), random(options.seed) {}

  /// Prints, and says whether the rule is good.
  bool run() {
    auto pdl = parseSourceString<ModuleOp>(rule->bytecode, &context);
    if (!pdl)
      return false;
    std::map<std::string, SmallVector<pdl::PatternOp>> variants;
    for (auto pattern : pdl->getOps<pdl::PatternOp>())
      variants[pattern.getSymName()->split('#').first.str()].push_back(pattern);
    for (auto &[name, patterns] : variants)
      checkPattern(name, patterns);
    llvm::outs() << (faults.empty() ? "ok      " : "FAIL    ") << rule->name << ": " << matched
                 << " instances, " << misses << " near misses";
    if (missesThatMatched)
      llvm::outs() << " (" << missesThatMatched << " matched, with equal values)";
    if (ran)
      llvm::outs() << ", " << ran << " run";
    llvm::outs() << llvm::format(", error %.2g of what is allowed\n", worst);
    for (const std::string &fault : faults)
      llvm::outs() << "    " << fault << "\n";
    return faults.empty();
  }

private:
  void checkPattern(const std::string &name, ArrayRef<pdl::PatternOp> variants);
  bool checkInstance(const std::string &name, pdl::PatternOp pattern, Miss miss, bool compile);
  size_t apply(ModuleOp module);
  void compileAndRun(const std::string &name, ModuleOp module, const Tensors &inputs,
                     const Tensors &want);
  void note(const std::string &name, StringRef what, double error, ModuleOp module);

  std::shared_ptr<const Rule> rule;
  const PassTables &tables;
  MLIRContext &context;
  const CheckOptions &options;
  Compiler &compiler;
  std::string folder;
  Random random;
  unsigned matched = 0, misses = 0, missesThatMatched = 0, ran = 0;
  double worst = 0;
  std::vector<std::string> faults;
};
} // namespace

/// Runs the rule alone on a graph; the number of places where it was used.
size_t RuleCheck::apply(ModuleOp module) {
  RuleReport report;
  report.rules = {rule};
  PassManager pm(&context);
  pm.addNestedPass<func::FuncOp>(rule->kind == RuleKind::Algebra
                                     ? createApplyAlgebraPass(tables.rules, &report)
                                     : createApplyRulesPass(tables.rules, &report));
  if (failed(pm.run(module)))
    return 0;
  for (const auto &[name, text] : report.switchedOff)
    faults.push_back("it was switched off: " + text + ", on\n" + textOf(module));
  return static_cast<size_t>(llvm::count_if(report.matches, [](const RuleMatch &match) {
    return match.verdict == Verdict::Fired || match.verdict == Verdict::Rewrote;
  }));
}

void RuleCheck::note(const std::string &name, StringRef what, double error, ModuleOp module) {
  worst = std::max(worst, error);
  if (error <= 1)
    return;
  std::string text;
  llvm::raw_string_ostream(text) << "pattern " << name << ": " << what << " differs by "
                                 << llvm::format("%.2g", error) << " times what is allowed, on\n";
  faults.push_back(text + textOf(module));
}

void RuleCheck::compileAndRun(const std::string &name, ModuleOp module, const Tensors &inputs,
                              const Tensors &want) {
  std::string text = textOf(module);
  std::string path = folder + "/" + rule->name + "-" + std::to_string(ran) + ".so";
  CompileOptions compile;
  // Whether the rule is right, and not whether it pays.
  compile.records.use = false;
  compile.rules.only = {rule->name};
  if (!rule->builtIn)
    compile.rules.folders = {llvm::sys::path::parent_path(rule->file).str()};
  compile.cacheFolder = folder + "/cache";
  compile.threads = 1;
  if (StringRef architecture = options.device; architecture.consume_front("sim:")) {
    compile.cuda.isWanted = true;
    compile.cuda.simulated = architecture.str();
  }
  kiln::DiagnosticEngine diags;
  bool good = compiler.compileGraph(
      [&](MLIRContext &into) { return parseSourceString<ModuleOp>(text, &into); }, path, compile,
      diags);
  if (!good) {
    std::string why;
    llvm::raw_string_ostream reasons(why);
    diags.printText(reasons);
    faults.push_back("pattern " + name + ": it does not compile: " + why);
    return;
  }
  Tensors got;
  for (const TensorData &tensor : want)
    got.emplace_back(tensor.type());
  std::string failure = runArtefact(path, options.device, inputs, got);
  if (!failure.empty())
    faults.push_back("pattern " + name + ": its artefact does not run: " + failure);
  else
    note(name, "the compiled kernel", difference(got, want).ofAllowed, module);
  ++ran;
}

/// False when the draw did not fit or the rule did not match.
bool RuleCheck::checkInstance(const std::string &name, pdl::PatternOp pattern, Miss miss,
                              bool compile) {
  ScopedDiagnosticHandler silent(&context, [](mlir::Diagnostic &) { return success(); });
  auto before = makeInstance(pattern, miss, random);
  if (!before)
    return false;
  OwningOpRef<ModuleOp> after = before->clone();
  size_t used = apply(*after);
  if (miss == Miss::None && used == 0)
    return false;
  misses += miss != Miss::None;
  missesThatMatched += miss != Miss::None && used != 0;
  Tensors inputs = randomInputs(*before, random);
  auto want = evaluateGraph(*before, inputs, tables.references);
  auto got = evaluateGraph(*after, inputs, tables.references);
  if (failed(want) || failed(got))
    return false;
  note(name, miss == Miss::None ? "the graph after the rule" : "a near miss",
       difference(*got, *want).ofAllowed, *before);
  if (compile)
    compileAndRun(name, *before, inputs, *want);
  return true;
}

void RuleCheck::checkPattern(const std::string &name, ArrayRef<pdl::PatternOp> variants) {
  auto anyVariant = [&] { return variants[random() % variants.size()]; };
  unsigned found = 0;
  for (unsigned draw = 0; draw < maxDraws * options.instances && found < options.instances; ++draw)
    found += checkInstance(name, anyVariant(), Miss::None, options.run && found == 0);
  matched += found;
  if (found == 0)
    faults.push_back("pattern " + name + ": nothing that was drawn for it matched");
  for (Miss miss : {Miss::Number, Miss::Reader, Miss::Order})
    for (unsigned i = 0; i < options.instances; ++i)
      checkInstance(name, anyVariant(), miss, false);
}

int kiln::checkRules(const RuleList &rules, const PassTables &tables, MLIRContext &context,
                     const CheckOptions &options) {
  SmallString<128> folder;
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("kiln-rules", folder)) {
    llvm::errs() << "kiln-rules: no temporary folder: " << error.message() << "\n";
    return 4;
  }
  if (StringRef(options.device).starts_with("sim:"))
    run::findSimulator();
  Compiler compiler;
  bool good = true;
  for (const auto &rule : rules)
    good &= RuleCheck(rule, tables, context, options, compiler, folder).run();
  llvm::sys::fs::remove_directories(folder);
  return good ? 0 : 1;
}
