//===- kiln-rules.cpp - The rule database's tool --------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bench.h"
#include "Check.h"
#include "NewRule.h"
#include "Show.h"
#include "Why.h"
#include "kiln/Patterns/Names.h"
#include "kiln/Pipeline/Compilation.h"
#include "kiln/Pipeline/Registration.h"
#include "kiln/Target/CUDA/Toolchain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace kiln;

static cl::OptionCategory category("kiln-rules options");
static cl::SubCommand listCommand("list", "Print every rule: name, kind, what it is for"),
    showCommand("show", "Print what a rule matches, wants and is worth"),
    newCommand("new", "Write a rule and its test, ready to run"),
    checkCommand("check", "Try rules on random instances of their patterns, near misses included"),
    benchCommand("bench", "Measure rules and record what they are worth"),
    explainCommand("explain", "Print which rules match in a model, which fire, and why not"),
    whyCommand("why", "Print how the decisions of two artefacts differ");

static cl::list<std::string> folders("rules", cl::value_desc("folder"),
                                     cl::desc("Rules of a folder, too"), cl::cat(category),
                                     cl::sub(listCommand), cl::sub(showCommand),
                                     cl::sub(checkCommand), cl::sub(benchCommand),
                                     cl::sub(explainCommand));

static cl::opt<std::string> shown(cl::Positional, cl::desc("<rule>"), cl::cat(category),
                                  cl::sub(showCommand));
static cl::opt<bool> natives("natives", cl::desc("Print what rules may call"), cl::cat(category),
                             cl::sub(showCommand));

static cl::list<std::string>
    recordFolders("records", cl::value_desc("folder"),
                  cl::desc("Records of a folder, too; they take the place of built-in ones"),
                  cl::cat(category), cl::sub(showCommand), cl::sub(explainCommand));

static cl::opt<std::string> newName(cl::Positional, cl::Required, cl::desc("<name>"),
                                    cl::cat(category), cl::sub(newCommand));
static cl::opt<RuleKind> newKind(
    "kind", cl::desc("What the rule does:"), cl::init(RuleKind::Fusion),
    cl::values(clEnumValN(RuleKind::Fusion, "fusion", "asks for a kernel of several ops (default)"),
               clEnumValN(RuleKind::Algebra, "algebra", "replaces ops by others")),
    cl::cat(category), cl::sub(newCommand));
static cl::opt<std::string> newFolder("into", cl::value_desc("folder"), cl::init("."),
                                      cl::desc("Where (default: the current folder)"),
                                      cl::cat(category), cl::sub(newCommand));

static cl::list<std::string> checked(cl::Positional, cl::desc("[<rule>...]"), cl::cat(category),
                                     cl::sub(checkCommand));
static cl::opt<unsigned> instances("n", cl::init(4), cl::value_desc("N"),
                                   cl::desc("Instances of each pattern (default 4)"),
                                   cl::cat(category), cl::sub(checkCommand));
static cl::opt<uint64_t> seed("seed", cl::init(1), cl::value_desc("N"),
                              cl::desc("Of the random choices (default 1)"), cl::cat(category),
                              cl::sub(checkCommand));
static cl::opt<bool> noRun("no-run",
                           cl::desc("Compile nothing: compare reference evaluations only"),
                           cl::cat(category), cl::sub(checkCommand));

static cl::list<std::string> benched(cl::Positional, cl::desc("[<rule>...]"), cl::cat(category),
                                     cl::sub(benchCommand));
static cl::opt<std::string> recordFolder("out", cl::value_desc("folder"), cl::init("measurements"),
                                         cl::desc("Write <device>/<rule>.json there (default: "
                                                  "measurements)"),
                                         cl::cat(category), cl::sub(benchCommand));
static cl::opt<std::string> device("device", cl::value_desc("device"), cl::init("cpu"),
                                   cl::desc("Where to measure or check: cpu (default); check also "
                                            "sim:sm_80, kernels for CUDA on the simulator"),
                                   cl::cat(category), cl::sub(benchCommand), cl::sub(checkCommand));
static cl::opt<unsigned> pairs("pairs", cl::init(PairOptions().pairs), cl::value_desc("N"),
                               cl::desc("Pairs of samples, without and with the rule (default 25)"),
                               cl::cat(category), cl::sub(benchCommand));
static cl::opt<double> maxNoise("max-noise", cl::init(PairOptions().maxNoise * 100),
                                cl::value_desc("percent"),
                                cl::desc("Record nothing whose times vary by more (default 6)"),
                                cl::cat(category), cl::sub(benchCommand));
static cl::opt<bool> resume("resume",
                            cl::desc("Keep what is recorded in --out with the code of now"),
                            cl::cat(category), cl::sub(benchCommand));
static cl::opt<bool> missing("missing",
                             cl::desc("Measure nothing: print what --out has no record of, exit "
                                      "code 1 when there is any"),
                             cl::cat(category), cl::sub(benchCommand));

static cl::opt<std::string> model(cl::Positional, cl::Required, cl::desc("<model.onnx>"),
                                  cl::cat(category), cl::sub(explainCommand));
static cl::opt<bool> asJson("json", cl::desc("One JSON document"), cl::cat(category),
                            cl::sub(showCommand), cl::sub(explainCommand), cl::sub(whyCommand));

static cl::opt<std::string>
    explainDevice("record-device", cl::value_desc("name"),
                  cl::desc("Device whose records decide (default: this one)"), cl::cat(category),
                  cl::sub(explainCommand));

static cl::opt<std::string> whyLeft(cl::Positional, cl::Required, cl::desc("<a.so>"),
                                    cl::cat(category), cl::sub(whyCommand));
static cl::opt<std::string> whyRight(cl::Positional, cl::Required, cl::desc("<b.so>"),
                                     cl::cat(category), cl::sub(whyCommand));

static int fail(const Twine &text) {
  errs() << "kiln-rules: " << text << "\n";
  return 2;
}

//===----------------------------------------------------------------------===//
// list, show
//===----------------------------------------------------------------------===//

/// The first sentence of a rule's comment, in one line.
static std::string summary(const Rule &rule) {
  std::string text;
  for (char c : rule.doc)
    text += c == '\n' ? ' ' : c;
  size_t end = text.find(". ");
  return end == std::string::npos ? text : text.substr(0, end + 1);
}

static int listRules(const RuleList &rules) {
  for (const auto &rule : rules)
    outs() << formatv("{0,-22} {1,-8} {2,-12} {3}\n", rule->name, kindName(rule->kind),
                      rule->builtIn ? rule->anchor : rule->file, summary(*rule));
  return 0;
}

static int showNatives(const NativeTable &table) {
  for (const auto &[key, native] : table.all())
    outs() << native.declaration() << "\n    " << native.doc << "\n";
  return 0;
}

/// The rules of these names; all where none is asked for. Nothing where one does
/// not exist (reported).
static std::optional<RuleList> named(const RuleList &rules, ArrayRef<std::string> names) {
  if (names.empty())
    return rules;
  SmallVector<StringRef> known;
  for (const auto &rule : rules)
    known.push_back(rule->name);
  bool good = true;
  for (const std::string &name : names) {
    if (is_contained(known, name))
      continue;
    fail("there is no rule '" + name + "'" + didYouMean(name, known));
    good = false;
  }
  if (!good)
    return std::nullopt;
  RuleList chosen;
  copy_if(rules, std::back_inserter(chosen),
          [&](const auto &rule) { return is_contained(names, rule->name); });
  return chosen;
}

static int show(const RuleList &rules, const NativeTable &table, mlir::MLIRContext &context) {
  if (natives)
    return showNatives(table);
  if (shown.empty())
    return fail("show: name a rule (kiln-rules list), or give --natives");
  auto chosen = named(rules, {shown});
  if (!chosen)
    return 2;
  kiln::DiagnosticEngine diags;
  RecordLibrary records(builtInRecordPack());
  for (const std::string &folder : recordFolders)
    (void)records.addFolder(folder, diags);
  showRule(*chosen->front(), table, records, context, diags, asJson, outs());
  diags.printText(errs());
  return 0;
}

//===----------------------------------------------------------------------===//
// explain
//===----------------------------------------------------------------------===//

static int explain() {
  if (explainDevice.getNumOccurrences() && !isDeviceSlug(explainDevice))
    return fail("--record-device: '" + explainDevice +
                "' is no device; write VENDOR-PROCESSOR-INSTRUCTIONS, as in amd-zen4-avx512");
  Compiler compiler;
  RuleReport report;
  CompileOptions options;
  options.rules.folders.assign(folders.begin(), folders.end());
  options.records.folders.assign(recordFolders.begin(), recordFolders.end());
  options.records.device = explainDevice;
  options.ruleReport = &report;
  kiln::DiagnosticEngine diags(model);
  compiler.check(model, Phase::Fuse, options, diags);
  diags.printText(errs());
  if (asJson)
    report.printJSON(outs());
  else
    report.printText(outs());
  return static_cast<int>(diags.exitCode());
}

//===----------------------------------------------------------------------===//
// bench
//===----------------------------------------------------------------------===//

static int bench(const RuleList &rules, const PassTables &tables, mlir::MLIRContext &context) {
  kiln::DiagnosticEngine diags;
  if (device != "cpu")
    diags.report(Diag::Usage, "--device " + device + ": this build measures on cpu only");
  if (pairs < 3 || pairs > 10000)
    diags.report(Diag::Usage, "--pairs: give a number from 3 to 10000");
  if (!(maxNoise >= 0 && maxNoise <= 1e6))
    diags.report(Diag::Usage, "--max-noise: give a number of percent");
  if (diags.hasErrors()) {
    diags.printText(errs());
    return static_cast<int>(diags.exitCode());
  }
  BenchOptions options;
  options.folder = recordFolder;
  options.pairs.pairs = pairs;
  options.pairs.maxNoise = maxNoise / 100;
  options.resume = resume;
  options.listMissing = missing;
  return benchRules(rules, tables, context, options, diags);
}

//===----------------------------------------------------------------------===//
// check
//===----------------------------------------------------------------------===//

static int check(const RuleList &rules, const PassTables &tables, mlir::MLIRContext &context) {
  StringRef architecture = device;
  if (device != "cpu" && !architecture.consume_front("sim:"))
    return fail("--device " + device + ": write cpu, or sim:sm_80 for the simulator");
  if (device != "cpu")
    if (auto parsed = CudaArchitecture::parse(architecture); !parsed || parsed->isPtx)
      return fail("--device " + device + ": " +
                  (parsed ? "PTX is compiled by a driver" : toString(parsed.takeError())));
  if (instances == 0)
    return fail("-n: give a number from 1 on");
  return checkRules(rules, tables, context, {instances, seed, !noRun, device});
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  for (cl::SubCommand *command : {&listCommand, &showCommand, &newCommand, &checkCommand,
                                  &benchCommand, &explainCommand, &whyCommand})
    cl::HideUnrelatedOptions(category, *command);
  // With a stream for errors it comes back from them: exit code 1 says other things.
  if (!cl::ParseCommandLineOptions(argc, argv, "Kiln's rule database\n", &errs()))
    return 2;
  if (explainCommand)
    return explain();
  if (whyCommand)
    return compareDecisions(whyLeft, whyRight, asJson);

  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  PassTables tables;
  if (newCommand)
    return writeNewRule({newName, newFolder, newKind}, tables.library);

  RuleOptions options;
  options.folders.assign(folders.begin(), folders.end());
  kiln::DiagnosticEngine diags;
  RuleList rules;
  bool good = tables.library.select(options, context, {}, diags, rules);
  diags.printText(errs());
  if (!good)
    return static_cast<int>(diags.exitCode());
  if (listCommand)
    return listRules(rules);
  if (showCommand)
    return show(rules, tables.library.natives(), context);
  if (checkCommand || benchCommand) {
    auto &names = checkCommand ? checked : benched;
    auto chosen = named(rules, std::vector<std::string>(names.begin(), names.end()));
    if (!chosen)
      return 2;
    return checkCommand ? check(*chosen, tables, context) : bench(*chosen, tables, context);
  }
  errs() << "usage: kiln-rules list|show|new|check|bench|explain|why ...; --help says more\n";
  return 2;
}
