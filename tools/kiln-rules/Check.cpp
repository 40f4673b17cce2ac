//===- Check.cpp - Rules on random graphs ---------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "Instance.h"
#include "dialects/Kiln/ops/Fusion/Fusion.h"
#include "kiln-c/Loader.h"
#include "kiln/Pipeline/Compilation.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace mlir;
using namespace kiln;

/// Draws of operands and attributes until a pattern matches.
static constexpr unsigned maxDraws = 60;

using Tensors = std::vector<TensorData>;

//===----------------------------------------------------------------------===//
// Reference
//===----------------------------------------------------------------------===//

static FailureOr<Tensors> evaluateBlock(Block &block, const Tensors &arguments,
                                        const ReferenceTable &table) {
  llvm::DenseMap<Value, TensorData> values;
  for (auto [argument, data] : llvm::zip(block.getArguments(), arguments))
    values[argument] = data;
  Tensors operands;
  for (Operation &op : block) {
    operands.clear();
    for (Value operand : op.getOperands())
      operands.push_back(values.lookup(operand));
    if (op.hasTrait<OpTrait::IsTerminator>())
      break;
    if (ElementsAttr constant = op.getNumResults() ? constantOf(op.getResult(0)) : nullptr) {
      values[op.getResult(0)] = *tensorDataOf(constant);
      continue;
    }
    FailureOr<Tensors> results = failure();
    if (auto fusion = dyn_cast<FusionOp>(op)) {
      results = evaluateBlock(fusion.getBody().front(), operands, table);
    } else if (auto evaluated = evaluate(table, &op, operands); succeeded(evaluated)) {
      results = Tensors(evaluated->begin(), evaluated->end());
    }
    if (failed(results))
      return failure();
    for (auto [result, data] : llvm::zip(op.getResults(), *results))
      values[result] = data;
  }
  return operands;
}

static func::FuncOp mainOf(ModuleOp module) { return *module.getOps<func::FuncOp>().begin(); }

static Tensors randomInputs(ModuleOp module, Random &random) {
  Tensors inputs;
  for (Type type : mainOf(module).getArgumentTypes()) {
    TensorData data(cast<RankedTensorType>(type));
    for (int64_t i = 0; i < data.size(); ++i) {
      double value = static_cast<double>(random() >> 11) * 0x1p-53 * 4 - 2;
      if (isa<FloatType>(data.elementType()))
        data.setFloat(i, value);
      else
        data.setInt(i, static_cast<int64_t>(value * 4));
    }
    inputs.push_back(std::move(data));
  }
  return inputs;
}

/// The largest difference, of what is allowed for the element type; NaN equals
/// NaN.
static double difference(const Tensors &got, const Tensors &want) {
  double worst = 0;
  for (auto [a, b] : llvm::zip(got, want)) {
    unsigned bits = b.elementType().getIntOrFloatBitWidth();
    double allowed = !isa<FloatType>(b.elementType()) ? 0.5 : bits == 16 ? 2e-2 : 2e-4;
    for (int64_t i = 0; i < b.size(); ++i) {
      double x = a.getFloat(i), y = b.getFloat(i);
      if (std::isnan(x) && std::isnan(y))
        continue;
      double error = x == y ? 0 : std::abs(x - y) / std::max(1.0, std::abs(y)) / allowed;
      worst = std::isnan(error) ? HUGE_VAL : std::max(worst, error);
    }
  }
  return worst;
}

//===----------------------------------------------------------------------===//
// Artefacts
//===----------------------------------------------------------------------===//

static DLDataType dataType(Type type) {
  auto bits = static_cast<uint8_t>(std::max(8u, type.getIntOrFloatBitWidth()));
  uint8_t code = type.isBF16()              ? kDLBfloat
                 : isa<FloatType>(type)     ? kDLFloat
                 : type.isInteger(1)        ? kDLBool
                 : type.isUnsignedInteger() ? kDLUInt
                                            : kDLInt;
  return {code, bits, 1};
}

namespace {
/// A tensor in the form that an artefact takes.
struct Argument {
  explicit Argument(TensorData &data) : shape(data.shape()) {
    view.data = data.mutableBytes();
    view.device = {kDLCPU, 0};
    view.ndim = static_cast<int32_t>(shape.size());
    view.dtype = dataType(data.elementType());
    view.shape = shape.data();
  }
  SmallVector<int64_t> shape;
  DLTensor view = {};
};
} // namespace

/// Empty, or why the artefact did not run.
static std::string runArtefact(StringRef path, Tensors inputs, Tensors &outputs) {
  kiln_artefact *artefact = nullptr;
  kiln_model *model = nullptr;
  kiln_session *session = nullptr;
  kiln_status_t status = kiln_open(path.str().c_str(), nullptr, &artefact);
  if (status == KILN_OK)
    status = kiln_model_open(kiln_artefact_api(artefact), nullptr, &model);
  if (status == KILN_OK)
    status = kiln_session_create(model, nullptr, &session);
  if (status == KILN_OK) {
    std::deque<Argument> views;
    SmallVector<const DLTensor *> in;
    SmallVector<DLTensor *> out;
    for (TensorData &input : inputs)
      in.push_back(&views.emplace_back(input).view);
    for (TensorData &output : outputs)
      out.push_back(&views.emplace_back(output).view);
    status = kiln_run(session, in.data(), static_cast<uint32_t>(in.size()), out.data(),
                      static_cast<uint32_t>(out.size()), nullptr);
  }
  kiln_session_destroy(session);
  kiln_model_close(model);
  (void)kiln_close(artefact);
  return status == KILN_OK ? "" : kiln_status_name(status);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
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
  compile.rules.only = {rule->name};
  if (!rule->builtIn)
    compile.rules.folders = {llvm::sys::path::parent_path(rule->file).str()};
  compile.cacheFolder = folder + "/cache";
  compile.threads = 1;
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
  std::string failure = runArtefact(path, inputs, got);
  if (!failure.empty())
    faults.push_back("pattern " + name + ": its artefact does not run: " + failure);
  else
    note(name, "the compiled kernel", difference(got, want), module);
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
  auto want = evaluateBlock(mainOf(*before).getBody().front(), inputs, tables.references);
  auto got = evaluateBlock(mainOf(*after).getBody().front(), inputs, tables.references);
  if (failed(want) || failed(got))
    return false;
  note(name, miss == Miss::None ? "the graph after the rule" : "a near miss",
       difference(*got, *want), *before);
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
  Compiler compiler;
  bool good = true;
  for (const auto &rule : rules)
    good &= RuleCheck(rule, tables, context, options, compiler, folder).run();
  llvm::sys::fs::remove_directories(folder);
  return good ? 0 : 1;
}
