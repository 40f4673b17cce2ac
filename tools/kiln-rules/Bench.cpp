//===- Bench.cpp - Measures what rules are worth --------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bench.h"
#include "Artefact.h"
#include "kiln/Pipeline/Compilation.h"
#include "kiln/Target/CPU/CPUTarget.h"
#include "kiln/Target/Link/OutputFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <ctime>
#include <map>
#include <set>
#include <unistd.h>

using namespace mlir;
using namespace kiln;

/// Draws of what a pattern leaves open until the rule has something to do.
static constexpr uint64_t maxSeeds = 12;
/// Measurements in a row that noise spoils before giving up.
static constexpr unsigned maxRefusals = 3;

//===----------------------------------------------------------------------===//
// Interruption and progress
//===----------------------------------------------------------------------===//

static volatile std::sig_atomic_t interrupted = 0;

/// The first interrupt ends the measuring, the second one the program.
static void onInterrupt(int) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL);
}

static bool isInterrupted() { return interrupted != 0; }

namespace {
/// On a terminal one line that changes, else a line a rule.
class Progress {
public:
  explicit Progress(size_t total) : total(total), terminal(::isatty(STDERR_FILENO) != 0) {}
  ~Progress() { clear(); }

  void start(StringRef rule, StringRef job) {
    bool isNewRule = rule != lastRule;
    lastRule = rule.str();
    ++at;
    if (!terminal && !isNewRule)
      return;
    llvm::errs() << (terminal ? "\r\033[K" : "") << "[" << at << "/" << total << "] "
                 << (terminal ? job : rule) << timeLeft() << (terminal ? "" : "\n");
  }
  void clear() const {
    if (terminal)
      llvm::errs() << "\r\033[K";
  }
  /// What was skipped says nothing about the time that the rest takes.
  void skipped() {
    ++skips;
    begin = at == skips ? std::time(nullptr) : begin;
  }

private:
  std::string timeLeft() const {
    auto done = static_cast<double>(at - 1 - skips);
    if (done < 3)
      return "";
    double seconds =
        std::difftime(std::time(nullptr), begin) / done * static_cast<double>(total - at + 1);
    return seconds < 90 ? llvm::formatv(", {0:F0} s left", seconds).str()
                        : llvm::formatv(", {0:F0} min left", seconds / 60).str();
  }

  size_t total, at = 0, skips = 0;
  bool terminal;
  std::string lastRule;
  std::time_t begin = std::time(nullptr);
};

/// What to measure.
struct Job {
  std::shared_ptr<const Rule> rule;
  std::string pattern;
  InstanceSpec spec;

  std::string str() const {
    return rule->name + " " + pattern + " " + spec.dtype + " " + sizeName(spec.size).str();
  }
};

//===----------------------------------------------------------------------===//
// Bench
//===----------------------------------------------------------------------===//

class Bench {
public:
  Bench(const PassTables &tables, MLIRContext &context, const BenchOptions &options,
        kiln::DiagnosticEngine &diags)
      : tables(tables), context(context), options(options), diags(diags) {}

  bool prepare();
  int run(const RuleList &rules);
  int listMissing(const RuleList &rules);

private:
  enum class Outcome { Recorded, Failed, TooNoisy, Stopped };

  bool makeWritable(const std::string &records);
  CompileOptions compileOptions(const Rule &rule, bool withRule) const;
  bool findInstance(Job &job, GraphSummary &summary);
  Outcome measure(Job &job, Measurement &result);
  std::string pathOf(bool withRule) const {
    return (folder + (withRule ? "/fused.so" : "/unfused.so")).str();
  }
  bool compileSides(const Job &job);
  void runRule(const std::shared_ptr<const Rule> &rule, std::vector<Job> jobs, Progress &progress);
  RuleRecord startRecord(const Rule &rule);
  bool write(RuleRecord record, ArrayRef<Measurement> notReached);
  Outcome fail(Diag diag, const Job &job, const llvm::Twine &why) {
    auto &fault = diags.report(diag, job.str(), why.str());
    if (diag == Diag::RuleFails)
      fault.inFile(job.rule->file);
    return Outcome::Failed;
  }

  const PassTables &tables;
  MLIRContext &context;
  const BenchOptions &options;
  kiln::DiagnosticEngine &diags;
  Compiler compiler;
  DeviceFacts device;
  SmallString<128> folder;
  RecordLibrary old;
  unsigned measured = 0, kept = 0, refusals = 0;
  bool stopped = false;
};
} // namespace

/// Types of inputs and constants as the ops take them: `16x128xf32, const 128xf32`.
static std::string describe(ModuleOp graph) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::SmallPtrSet<void *, 8> seen;
  auto main = *graph.getOps<func::FuncOp>().begin();
  for (Operation &op : main.getBody().front().without_terminator())
    for (Value operand : op.getOperands()) {
      Operation *producer = operand.getDefiningOp();
      bool isConstant = producer && producer->hasTrait<OpTrait::ConstantLike>();
      if ((producer && !isConstant) || !seen.insert(operand.getAsOpaquePointer()).second)
        continue;
      auto type = cast<RankedTensorType>(operand.getType());
      os << (text.empty() ? "" : ", ") << (isConstant ? "const " : "");
      for (int64_t size : type.getShape())
        os << size << "x";
      os << type.getElementType();
    }
  return text;
}

static bool isOf(const Measurement &m, const Job &job) {
  return m.pattern == job.pattern && m.bucket.dtype == job.spec.dtype &&
         m.size == sizeName(job.spec.size);
}

static Bucket bucketOfGraph(ModuleOp graph) {
  SmallVector<Operation *> ops;
  auto main = *graph.getOps<func::FuncOp>().begin();
  for (Operation &op : main.getBody().front().without_terminator())
    if (!op.hasTrait<OpTrait::ConstantLike>())
      ops.push_back(&op);
  return bucketOf(ops);
}

bool Bench::makeWritable(const std::string &records) {
  if (std::error_code error = llvm::sys::fs::create_directories(records)) {
    diags.report(Diag::FileUnwritable, records, error.message());
    return false;
  }
  // Better now than after the first minute.
  if (::access(records.c_str(), W_OK | X_OK) != 0) {
    diags.report(Diag::FileUnwritable, records, std::generic_category().message(errno));
    return false;
  }
  return true;
}

bool Bench::prepare() {
  auto target = CPUTarget::create("native");
  if (!target) {
    diags.report(Diag::UnknownCPU, llvm::toString(target.takeError()));
    return false;
  }
  SmallVector<StringRef> isa;
  std::string features = target->featureList();
  StringRef(features).split(isa, ',', -1, /*KeepEmpty=*/false);
  device = thisDevice(deviceSlug(target->cpu, target->vector.vectorBits), {isa.begin(), isa.end()});
  if (!options.listMissing && !makeWritable(options.folder + "/" + device.slug))
    return false;
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("kiln-rules", folder)) {
    diags.report(Diag::FileUnwritable, "the folder of temporary files", error.message());
    return false;
  }
  if (options.resume || options.listMissing)
    (void)old.addFolder(options.folder, diags);
  return true;
}

CompileOptions Bench::compileOptions(const Rule &rule, bool withRule) const {
  CompileOptions compile;
  // What was measured before must not decide whether it can be measured again.
  compile.records.use = false;
  compile.rules.disableAll = !withRule;
  if (withRule)
    compile.rules.only = {rule.name};
  if (withRule && !rule.builtIn)
    compile.rules.folders = {llvm::sys::path::parent_path(rule.file).str()};
  // Both sides often share kernels.
  compile.cacheFolder = (folder + "/cache").str();
  return compile;
}

/// The first draw in which the rule does something.
bool Bench::findInstance(Job &job, GraphSummary &summary) {
  CompileOptions compile = compileOptions(*job.rule, /*withRule=*/true);
  RuleReport report;
  compile.ruleReport = &report;
  for (job.spec.seed = 0; job.spec.seed < maxSeeds; ++job.spec.seed) {
    kiln::DiagnosticEngine silent;
    auto found = compiler.summarizeGraph(
        [&](MLIRContext &into) { return makeInstance(*job.rule, job.pattern, job.spec, into); },
        compile, silent);
    bool fired = llvm::any_of(report.matches, [&](const RuleMatch &match) {
      return StringRef(match.pattern).split('#').first == job.pattern &&
             (match.verdict == Verdict::Fired || match.verdict == Verdict::Rewrote);
    });
    if (found && fired) {
      summary = *found;
      return true;
    }
  }
  return false;
}

bool Bench::compileSides(const Job &job) {
  for (bool withRule : {false, true}) {
    kiln::DiagnosticEngine problems;
    bool good = compiler.compileGraph(
        [&](MLIRContext &into) { return makeInstance(*job.rule, job.pattern, job.spec, into); },
        pathOf(withRule), compileOptions(*job.rule, withRule), problems);
    if (!good) {
      std::string why;
      llvm::raw_string_ostream os(why);
      problems.printText(os);
      fail(Diag::RuleFails, job, "it does not compile: " + why);
      return false;
    }
  }
  return true;
}

namespace {
/// Both artefacts and the tensors that they share.
struct Sides {
  std::unique_ptr<Artefact> sides[2];
  std::unique_ptr<Arguments> arguments;

  /// Opens both again, the one that was second first, and runs them once; the
  /// fused one last, so that its results are there. Empty, or why not.
  std::string open(const std::string (&paths)[2], bool swap, const Tensors &inputs,
                   const Tensors &outputs) {
    std::string why;
    for (auto &side : sides)
      side.reset();
    arguments = std::make_unique<Arguments>(inputs, outputs);
    for (unsigned i : {swap ? 1u : 0u, swap ? 0u : 1u})
      if (!(sides[i] = Artefact::open(paths[i], /*threads=*/1, why)))
        return "its artefact does not load: " + why;
    for (auto &side : sides)
      if (kiln_status_t status = side->run(*arguments); status != KILN_OK)
        return std::string("its artefact does not run: ") + kiln_status_name(status);
    return "";
  }
  void run(unsigned side) { (void)sides[side]->run(*arguments); }
};
} // namespace

Bench::Outcome Bench::measure(Job &job, Measurement &result) {
  auto graph = makeInstance(*job.rule, job.pattern, job.spec, context);
  kiln::DiagnosticEngine problems;
  auto without = compiler.summarizeGraph(
      [&](MLIRContext &into) { return makeInstance(*job.rule, job.pattern, job.spec, into); },
      compileOptions(*job.rule, /*withRule=*/false), problems);
  if (!graph || !without)
    return fail(Diag::RuleFails, job, "it does not compile without the rule");
  if (!compileSides(job))
    return Outcome::Failed;
  Random random(job.spec.seed);
  Tensors inputs = randomInputs(*graph, random);
  auto want = evaluateWidened(*graph, inputs, tables.references);
  if (failed(want))
    return fail(Diag::RuleFails, job, "the reference does not evaluate its graph");

  Sides both;
  Tensors outputs = resultsOf(*graph);
  const std::string paths[] = {pathOf(false), pathOf(true)};
  if (std::string why = both.open(paths, false, inputs, outputs); !why.empty())
    return fail(Diag::RuleFails, job, why);
  result.pattern = job.pattern;
  result.instance = describe(*graph);
  result.size = sizeName(job.spec.size).str();
  result.seed = job.spec.seed;
  result.bucket = bucketOfGraph(*graph);
  result.savedBytes = without->trafficBytes - result.savedBytes;
  result.peakBytesChange = both.sides[1]->arenaBytes() - both.sides[0]->arenaBytes();
  result.maxError = difference(both.arguments->outputs(), *want).error;
  result.errorBound = allowedError(outputs.front().elementType());
  if (!(result.maxError <= result.errorBound))
    return fail(Diag::RuleFails, job,
                llvm::formatv("its values differ from the reference by {0:e2}, and {1:e2} are "
                              "allowed",
                              result.maxError, result.errorBound)
                    .str());

  PairOptions pairs = options.pairs;
  pairs.areSame = without->kernelHash == result.kernelHash;
  PairTimes times = timePairs(
      {[&](unsigned round) { return both.open(paths, round % 2 != 0, inputs, outputs).empty(); },
       [&] { both.run(0); }, [&] { both.run(1); }},
      pairs, isInterrupted);
  if (isInterrupted())
    return Outcome::Stopped;
  if (!times.noise.empty()) {
    fail(Diag::NoisyMachine, job, "the machine is too noisy: " + times.noise);
    return Outcome::TooNoisy;
  }
  result.pairs = pairs.pairs;
  result.unfused = times.first;
  result.fused = times.second;
  return Outcome::Recorded;
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

RuleRecord Bench::startRecord(const Rule &rule) {
  RuleRecord record;
  record.rule = rule.name;
  record.device = device;
  record.clock = clockMethod().str();
  std::time_t now = std::time(nullptr);
  char date[16];
  std::strftime(date, sizeof(date), "%Y-%m-%d", std::gmtime(&now));
  record.date = date;
  record.kiln = producerName().str();
  record.compiler = "LLVM " LLVM_VERSION_STRING;
  return record;
}

bool Bench::write(RuleRecord record, ArrayRef<Measurement> notReached) {
  llvm::append_range(record.measurements, notReached);
  if (record.measurements.empty())
    return true;
  std::string path = options.folder + "/" + device.slug + "/" + record.rule + ".json";
  if (llvm::Error error = writeFileAtomically(path, writeRecord(record))) {
    diags.report(Diag::FileUnwritable, path, llvm::toString(std::move(error)));
    stopped = true;
    return false;
  }
  return true;
}

static void printLine(const Job &job, const Measurement &m) {
  auto micros = [](const Timing &t) { return static_cast<double>(t.median) * 1e-3; };
  double spread =
      std::max(static_cast<double>(m.unfused.mad) / static_cast<double>(m.unfused.median),
               static_cast<double>(m.fused.mad) / static_cast<double>(m.fused.median));
  llvm::outs() << llvm::formatv("{0,-46} {1,10:F2} us -> {2,10:F2} us  {3:F2}x  MAD {4:F1} %, {5} "
                                "bytes less traffic\n",
                                job.str(), micros(m.unfused), micros(m.fused), m.speedup(),
                                spread * 100, m.savedBytes);
  llvm::outs().flush();
}

void Bench::runRule(const std::shared_ptr<const Rule> &rule, std::vector<Job> jobs,
                    Progress &progress) {
  RuleRecord record = startRecord(*rule);
  // With --resume: what is recorded of jobs that have not been reached.
  std::vector<Measurement> before;
  for (const RuleRecord &one : old.of(rule->name, diags))
    if (one.device.slug == device.slug)
      before = one.measurements;
  std::map<std::string, unsigned> instances;
  std::set<std::pair<std::string, std::string>> without;
  for (Job &job : jobs) {
    progress.start(rule->name, job.str());
    auto at = llvm::find_if(before, [&](const Measurement &m) { return isOf(m, job); });
    std::optional<Measurement> known;
    if (at != before.end()) {
      known = std::move(*at);
      before.erase(at);
    }
    GraphSummary fused;
    // What does not fit a pattern does so in no size.
    bool fits = !without.count({job.pattern, job.spec.dtype}) && findInstance(job, fused);
    instances[job.pattern] += fits;
    if (!fits) {
      without.emplace(job.pattern, job.spec.dtype);
      progress.skipped();
      continue;
    }
    if (known && known->seed == job.spec.seed && known->kernelHash == fused.kernelHash) {
      record.measurements.push_back(std::move(*known));
      ++kept;
      progress.skipped();
      continue;
    }
    Measurement result;
    result.kernelHash = fused.kernelHash;
    // Of the unfused one, once it is known.
    result.savedBytes = fused.trafficBytes;
    Outcome outcome = isInterrupted() ? Outcome::Stopped : measure(job, result);
    progress.clear();
    refusals = outcome == Outcome::TooNoisy ? refusals + 1 : 0;
    stopped |= outcome == Outcome::Stopped || refusals == maxRefusals;
    if (outcome == Outcome::Recorded) {
      printLine(job, result);
      record.measurements.push_back(std::move(result));
      ++measured;
      (void)write(record, before);
    }
    if (stopped)
      return;
  }
  (void)write(record, before);
  for (const auto &[pattern, count] : instances)
    if (count == 0)
      diags
          .report(Diag::NothingToMeasure, rule->name, pattern,
                  "the rule does nothing in graphs that are made for it")
          .inFile(rule->file);
}

static std::vector<Job> jobsOf(const std::shared_ptr<const Rule> &rule) {
  std::vector<Job> jobs;
  for (const std::string &pattern : patternNames(*rule))
    for (StringRef dtype : instanceTypes())
      for (InstanceSize size : allInstanceSizes)
        jobs.push_back({rule, pattern, {size, dtype.str(), 0}});
  return jobs;
}

/// A rule claims what it does something in: a record is missing where no device
/// has one of a graph in which the rule fires.
int Bench::listMissing(const RuleList &rules) {
  size_t missing = 0;
  for (const auto &rule : rules)
    for (Job &job : jobsOf(rule)) {
      bool known = llvm::any_of(old.of(rule->name, diags), [&](const RuleRecord &record) {
        return llvm::any_of(record.measurements,
                            [&](const Measurement &m) { return isOf(m, job); });
      });
      GraphSummary fused;
      if (known || !findInstance(job, fused))
        continue;
      llvm::outs() << job.str() << "\n";
      ++missing;
    }
  llvm::outs() << missing << " missing: " << options.folder << "\n";
  llvm::sys::fs::remove_directories(folder);
  return missing ? 1 : static_cast<int>(diags.exitCode());
}

int Bench::run(const RuleList &rules) {
  std::vector<std::vector<Job>> jobs;
  size_t total = 0;
  for (const auto &rule : rules)
    total += jobs.emplace_back(jobsOf(rule)).size();
  std::signal(SIGINT, onInterrupt);
  {
    Progress progress(total);
    for (auto [rule, own] : llvm::zip(rules, jobs))
      if (!stopped)
        runRule(rule, std::move(own), progress);
  }
  llvm::sys::fs::remove_directories(folder);
  llvm::outs() << measured << " measured";
  if (kept)
    llvm::outs() << ", " << kept << " kept";
  llvm::outs() << ": " << options.folder << "/" << device.slug << "\n";
  llvm::outs().flush();
  if (isInterrupted()) {
    llvm::errs() << "kiln-rules: stopped; --resume continues\n";
    return 128 + SIGINT;
  }
  return static_cast<int>(diags.exitCode());
}

int kiln::benchRules(const RuleList &rules, const PassTables &tables, MLIRContext &context,
                     const BenchOptions &options, kiln::DiagnosticEngine &diags) {
  Bench bench(tables, context, options, diags);
  int status = !bench.prepare()      ? static_cast<int>(diags.exitCode())
               : options.listMissing ? bench.listMissing(rules)
                                     : bench.run(rules);
  diags.printText(llvm::errs());
  return status;
}
