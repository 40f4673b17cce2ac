//===- Options.cpp - kilnc's options --------------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "kiln/Target/CUDA/Toolchain.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

using namespace llvm;
using namespace kiln;

static cl::OptionCategory category("kilnc options");

static cl::opt<std::string> model(cl::Positional, cl::desc("<model.onnx>"), cl::cat(category));
static cl::opt<std::string> output(
    "o", cl::value_desc("file"),
    cl::desc("Output (default: for so, obj and a the model's name with .so, .o or .a, in the "
             "current folder; for other stages standard output)"),
    cl::cat(category));
static cl::opt<std::string>
    header("header", cl::value_desc("file"),
           cl::desc("C header of the artefact (default: beside it; \"\" for none)"),
           cl::cat(category));
static cl::opt<std::string>
    target("target", cl::value_desc("name"), cl::init("cpu"),
           cl::desc("Target: cpu (default), or cuda: kernels for GPUs beside "
                    "those for the CPU"),
           cl::cat(category));
static cl::list<std::string>
    architectures("arch", cl::CommaSeparated, cl::value_desc("sm_NN,..."),
                  cl::desc("GPU architectures of --target=cuda, compute_NN for PTX, which later "
                           "devices compile when they load it (default: sm_80, sm_90a; with "
                           "--device=sim alone none)"),
                  cl::cat(category));
static cl::opt<std::string> device("device", cl::value_desc("sim:sm_NN"),
                                   cl::desc("Also make kernels for the simulator of a GPU"),
                                   cl::cat(category));
static cl::opt<Precision> precision(
    "precision", cl::init(Precision::Fp32),
    cl::desc("What products on a GPU may round their operands to (default: fp32); sums stay fp32:"),
    cl::values(clEnumValN(Precision::Fp32, "fp32", "nothing: as the model says"),
               clEnumValN(Precision::Tf32, "tf32", "10 bits of fraction, on tensor cores"),
               clEnumValN(Precision::Bf16, "bf16", "7 bits of fraction"),
               clEnumValN(Precision::Fp16, "fp16", "10 bits of fraction, numbers to 65504")),
    cl::cat(category));
static cl::opt<std::string> cudaPath("cuda-path", cl::value_desc("folder"),
                                     cl::desc("The CUDA toolkit (default: $CUDA_HOME, nvcc in "
                                              "$PATH, /usr/local/cuda)"),
                                     cl::cat(category));
static cl::opt<std::string> cpu("cpu", cl::value_desc("name"), cl::init("native"),
                                cl::desc("Processor: native (default), x86-64-v2, x86-64-v3, "
                                         "x86-64-v4, or a name that LLVM knows"),
                                cl::cat(category));
static cl::opt<bool> minimalFiltering(
    "minimal-filtering", cl::init(true),
    cl::desc("Compute 3 x 3 convolutions with fewer products where that is faster (default); "
             "=false for the smaller error of the direct sum"),
    cl::cat(category));
static cl::list<std::string>
    dims("dim", cl::value_desc("NAME=N or NAME=LO..HI"),
         cl::desc("Fix a dimension, or state its range (may be given again). An unnamed one is "
                  "called <input>_<axis>"),
         cl::cat(category));
static cl::opt<std::string>
    batchDim("batch-dim", cl::value_desc("NAME"),
             cl::desc("The dimension that is the batch: proves that requests may share runs"),
             cl::cat(category));
static cl::opt<unsigned> optLevel("O", cl::Prefix, cl::init(2), cl::value_desc("0-3"),
                                  cl::desc("Optimization level (default 2)"), cl::cat(category));
static cl::opt<unsigned> jobs("j", cl::init(0), cl::value_desc("N"),
                              cl::desc("Threads that generate code (default: one a core)"),
                              cl::cat(category));
static cl::opt<Stage>
    emitStage("emit", cl::desc("Print or write a stage instead of the artefact:"),
              cl::init(Stage::So),
              cl::values(clEnumValN(Stage::Onnx, "onnx", "the checked model"),
                         clEnumValN(Stage::Kiln, "kiln", "kiln dialect, simplified"),
                         clEnumValN(Stage::Fused, "fused", "fused groups"),
                         clEnumValN(Stage::Plan, "plan", "buffers, kernels, launches"),
                         clEnumValN(Stage::Kernels, "kernels", "the kernels' loops"),
                         clEnumValN(Stage::Cu, "cu", "the kernels for GPUs in CUDA C++"),
                         clEnumValN(Stage::LLVM, "llvm", "LLVM IR of kernels and program"),
                         clEnumValN(Stage::Asm, "asm", "assembly of kernels and program"),
                         clEnumValN(Stage::Obj, "obj", "the artefact as one relocatable object"),
                         clEnumValN(Stage::Archive, "a", "that object in a static archive"),
                         clEnumValN(Stage::So, "so", "the artefact (default)")),
              cl::cat(category));
/// Made late: LLVM's code generator has an option of this name, which means
/// another thing and goes first.
static cl::opt<Phase> &stopAfter() {
  static bool freed = [] {
    auto &options = cl::getRegisteredOptions();
    if (auto other = options.find("stop-after"); other != options.end())
      other->second->removeArgument();
    return true;
  }();
  (void)freed;
  static cl::opt<Phase> option(
      "stop-after", cl::desc("Stop when a phase is done, and write no output:"),
      cl::values(clEnumValN(Phase::Load, "load", "the model is read and checked"),
                 clEnumValN(Phase::Import, "import", "it is kiln dialect, simplified"),
                 clEnumValN(Phase::Fuse, "fuse", "ops are grouped"),
                 clEnumValN(Phase::Plan, "plan", "buffers and launches are planned"),
                 clEnumValN(Phase::Generate, "generate", "code is generated")),
      cl::cat(category));
  return option;
}
static cl::list<std::string> ruleFolders("rules", cl::value_desc("folder"),
                                         cl::desc("Use the rules (.pdll) in a folder, too"),
                                         cl::cat(category));
static cl::list<std::string> disabledRules("disable-rule", cl::value_desc("name"),
                                           cl::desc("Leave a rule out"), cl::cat(category));
static cl::list<std::string> onlyRules("only-rule", cl::value_desc("name"),
                                       cl::desc("Use this rule and no other"), cl::cat(category));
static cl::opt<bool> disableAllRules("disable-all-rules", cl::desc("Use no rule"),
                                     cl::cat(category));
static cl::list<std::string>
    recordFolders("records", cl::value_desc("folder"),
                  cl::desc("Use the records of measurements in a folder, too; they go before "
                           "built-in ones of the same device and rule"),
                  cl::cat(category));
static cl::opt<bool> noRecords("no-records", cl::desc("Decide about rules by predictions alone"),
                               cl::cat(category));
static cl::opt<std::string> recordDevice(
    "record-device", cl::value_desc("name"),
    cl::desc("Device whose records decide about rules, such as amd-zen4-avx512 (default: "
             "that of --cpu)"),
    cl::cat(category));
static cl::opt<double> minSpeedup("min-speedup", cl::value_desc("X"), cl::init(1.03),
                                  cl::desc("What a rule must gain to fire, as a record says "
                                           "(default 1.03); as fast and less memory will do, too"),
                                  cl::cat(category));
static cl::opt<Explain> explain(
    "explain", cl::ValueOptional, cl::init(Explain::No),
    cl::desc("Say on standard output which rules matched where, which fired, and why not, and "
             "what became of a GPU's kernels:"),
    cl::values(clEnumValN(Explain::Text, "", ""),
               clEnumValN(Explain::Text, "text", "for people (default)"),
               clEnumValN(Explain::JSON, "json", "one JSON document")),
    cl::cat(category));
static cl::opt<std::string>
    signingKey("sign", cl::value_desc("key.pem"),
               cl::desc("Sign the artefact with this Ed25519 private key; a program can then "
                        "insist on the public one"),
               cl::cat(category));
static cl::opt<bool> saveTemps("save-temps",
                               cl::desc("Also write every stage to a file beside the output"),
                               cl::cat(category));
static cl::opt<bool> printWeights("print-weights",
                                  cl::desc("Print all elements of constants in stages"),
                                  cl::cat(category));
static cl::opt<std::string>
    cacheDir("cache-dir", cl::value_desc("folder"),
             cl::desc("Where compiled kernels are kept (default: $KILN_CACHE_DIR, else "
                      "kiln/kernels in $XDG_CACHE_HOME or ~/.cache)"),
             cl::cat(category));
static cl::opt<bool> noCache("no-cache", cl::desc("Compile every kernel, and keep none"),
                             cl::cat(category));
static cl::opt<bool> quiet("quiet", cl::desc("No progress lines"), cl::cat(category));
static cl::opt<bool> timing("timing", cl::desc("Print where the time went"), cl::cat(category));
static cl::opt<bool> jsonDiagnostics("json-diagnostics",
                                     cl::desc("Print errors as one JSON document"),
                                     cl::cat(category));
static cl::opt<std::string> crashForTest("crash-for-test", cl::Hidden, cl::cat(category));

/// "N" or "LO..HI".
static bool parseRange(StringRef text, DimRange &range) {
  auto [low, high] = text.split("..");
  if (low.getAsInteger(10, range.lower) || range.lower < 0)
    return false;
  if (!text.contains("..")) {
    range.upper = range.lower;
    return true;
  }
  return !high.getAsInteger(10, range.upper) && range.upper >= range.lower;
}

static bool usage(kiln::DiagnosticEngine &diags, const Twine &text) {
  diags.report(Diag::Usage, text.str());
  return false;
}

static bool parseDims(Invocation &invocation, kiln::DiagnosticEngine &diags) {
  for (StringRef dim : dims) {
    auto [name, value] = dim.rsplit('=');
    DimRange range;
    if (name.empty() || !parseRange(value, range))
      return usage(diags, "--dim " + dim + ": write NAME=N or NAME=LO..HI");
    if (!invocation.options.import.dims.emplace(name.str(), range).second)
      return usage(diags, "--dim " + name + " is given twice");
  }
  return true;
}

/// A header beside a device or a pipe helps nobody.
static bool isOrdinary(StringRef path) {
  sys::fs::file_status status;
  return sys::fs::status(path, status) || status.type() == sys::fs::file_type::regular_file;
}

static bool chooseOutputs(Invocation &invocation, kiln::DiagnosticEngine &diags) {
  bool linked = phaseOf(emitStage.getValue()) == Phase::Link;
  SmallString<128> path(output.getValue());
  if (output.getNumOccurrences() && path.empty())
    return usage(diags, "-o: the path is empty");
  if (path.empty() && !linked) {
    path = "-";
  } else if (path.empty()) {
    path = sys::path::filename(model);
    sys::path::replace_extension(path, emitStage == Stage::So    ? "so"
                                       : emitStage == Stage::Obj ? "o"
                                                                 : "a");
  }
  invocation.output = std::string(path);
  SmallString<128> stem(path == "-" ? sys::path::filename(model) : StringRef(path));
  sys::path::replace_extension(stem, "");
  if (saveTemps)
    invocation.options.tempsStem = std::string(stem);
  if (header.getNumOccurrences() && !linked)
    return usage(diags, "--header: only the artefact has one, as so, obj or a");
  if (signingKey.getNumOccurrences() && (emitStage != Stage::So || stopAfter().getNumOccurrences()))
    return usage(diags, "--sign: only a shared object can be signed");
  if (signingKey.getNumOccurrences() && signingKey.empty())
    return usage(diags, "--sign: the path is empty");
  if (header.getNumOccurrences())
    invocation.header = header;
  else if (linked && path != "-" && isOrdinary(path))
    invocation.header = std::string(stem) + ".h";
  if (invocation.header == invocation.output)
    return usage(diags, "output and header are the same file '" + path + "'");
  return true;
}

/// Empty when there is no folder for it.
static std::string chooseCache() {
  if (noCache)
    return "";
  if (cacheDir.getNumOccurrences())
    return cacheDir;
  if (const char *named = std::getenv("KILN_CACHE_DIR"))
    return named;
  SmallString<128> path;
  if (!sys::path::cache_directory(path))
    return "";
  sys::path::append(path, "kiln", "kernels");
  return std::string(path);
}

/// Collects what LLVM says: about some errors it speaks to standard error only.
static bool parseCommandLine(int argc, char **argv, std::string &errors) {
  constexpr StringLiteral overview = "compiles an ONNX model to a shared object\n";
  int standardError = ::dup(STDERR_FILENO), memory = ::memfd_create("kilnc", MFD_CLOEXEC);
  if (standardError < 0 || memory < 0)
    return cl::ParseCommandLineOptions(argc, argv, overview);
  ::dup2(memory, STDERR_FILENO);
  bool parsed = cl::ParseCommandLineOptions(argc, argv, overview, &errs());
  ::dup2(standardError, STDERR_FILENO);
  ::close(standardError);
  char chunk[4096];
  ssize_t size;
  for (off_t at = 0; (size = ::pread(memory, &chunk[0], sizeof(chunk), at)) > 0; at += size)
    errors.append(&chunk[0], size);
  ::close(memory);
  return parsed;
}

/// LLVM's texts, in Kiln's form: "kilnc: Unknown …  Try: 'kilnc --help'".
static bool reportParseErrors(StringRef errors, kiln::DiagnosticEngine &diags) {
  kiln::Diagnostic *last = nullptr;
  for (StringRef line : split(errors.trim(), '\n')) {
    auto [program, text] = line.split(": ");
    if (!program.ends_with("kilnc"))
      text = line;
    text = text.split("  Try: ").first.split(" See: ").first.rtrim(" .:!");
    std::string shown = text.empty() ? "" : toLower(text.front()) + text.drop_front().str();
    if (last)
      last->note(shown);
    else
      last = &diags.report(Diag::Usage, shown);
  }
  if (!last)
    return usage(diags, "the command line is wrong");
  last->note("kilnc --help lists the options");
  return false;
}

/// --target and what only one target has.
static bool parseTarget(Invocation &invocation, kiln::DiagnosticEngine &diags) {
  CudaOptions &cuda = invocation.options.cuda;
  if (target != "cpu" && target != "cuda")
    return usage(diags, "--target: unknown target '" + target + "'; known: cpu, cuda");
  cuda.isWanted = target == "cuda";
  for (auto [given, name] : {std::pair(architectures.getNumOccurrences(), "--arch"),
                             std::pair(device.getNumOccurrences(), "--device"),
                             std::pair(precision.getNumOccurrences(), "--precision"),
                             std::pair(cudaPath.getNumOccurrences(), "--cuda-path")})
    if (given && !cuda.isWanted)
      return usage(diags, Twine(name) + " is for --target=cuda");
  if (emitStage == Stage::Cu && !cuda.isWanted)
    return usage(diags, "--emit=cu is for --target=cuda");
  for (StringRef name : architectures) {
    auto parsed = CudaArchitecture::parse(name);
    if (!parsed)
      return usage(diags, "--arch: " + toString(parsed.takeError()));
    if (is_contained(cuda.architectures, name))
      return usage(diags, "--arch: " + name + " is given twice");
    cuda.architectures.push_back(name.str());
  }
  if (device.getNumOccurrences()) {
    StringRef name = device;
    if (!name.consume_front("sim:"))
      return usage(diags, "--device: write sim:sm_80, for one");
    auto parsed = CudaArchitecture::parse(name);
    if (!parsed)
      return usage(diags, "--device: " + toString(parsed.takeError()));
    if (parsed->isPtx)
      return usage(diags,
                   "--device: PTX is compiled by a driver; write sim:sm_" + Twine(parsed->number));
    cuda.simulated = name.str();
  }
  if (cuda.isWanted && cuda.architectures.empty() && cuda.simulated.empty())
    cuda.architectures = {"sm_80", "sm_90a"};
  cuda.toolkit = cudaPath;
  cuda.precision = precision;
  return true;
}

bool kiln::parseOptions(int argc, char **argv, Invocation &invocation,
                        kiln::DiagnosticEngine &diags) {
  // Also for errors in the command line itself.
  for (StringRef argument : ArrayRef(argv, argc)) {
    if (argument == "--")
      break;
    invocation.jsonDiagnostics |=
        argument == "--json-diagnostics" || argument == "-json-diagnostics";
  }
  (void)stopAfter();
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter(
      [](raw_ostream &os) { os << producerName() << "\nLLVM " LLVM_VERSION_STRING "\n"; });
  std::string errors;
  if (!parseCommandLine(argc, argv, errors))
    return reportParseErrors(errors, diags);
  invocation.quiet = quiet;
  invocation.timing = timing;
  invocation.stage = emitStage;
  invocation.model = model;
  invocation.crash = crashForTest;
  if (model.empty())
    return usage(diags, "no model given; kilnc --help lists the options");
  if (!parseTarget(invocation, diags))
    return false;
  constexpr unsigned mostJobs = 4096;
  if (jobs > mostJobs)
    return usage(diags, "-j: the number of threads is 0 (one a core) to " + Twine(mostJobs));
  if (optLevel > 3)
    return usage(diags, "-O: the level is 0, 1, 2 or 3");
  if (stopAfter().getNumOccurrences()) {
    if (emitStage.getNumOccurrences())
      return usage(diags, "--stop-after and --emit: give one of them");
    invocation.last = stopAfter();
  }
  if (noCache && cacheDir.getNumOccurrences())
    return usage(diags, "--cache-dir and --no-cache: give one of them");
  if (disableAllRules && (!onlyRules.empty() || !disabledRules.empty()))
    return usage(diags, "--disable-all-rules leaves nothing to --only-rule and --disable-rule");
  for (const std::string &name : onlyRules)
    if (llvm::is_contained(disabledRules, name))
      return usage(diags, "--only-rule and --disable-rule both name '" + name + "'");
  if (noRecords && (!recordFolders.empty() || recordDevice.getNumOccurrences()))
    return usage(diags, "--no-records leaves nothing to --records and --record-device");
  if (recordDevice.getNumOccurrences() && !isDeviceSlug(recordDevice))
    return usage(diags, "--record-device: '" + recordDevice +
                            "' is no device; write VENDOR-PROCESSOR-INSTRUCTIONS, as in "
                            "amd-zen4-avx512");
  if (!(minSpeedup > 0 && minSpeedup <= 1000))
    return usage(diags, "--min-speedup: a number above 0 and up to 1000");
  if (!parseDims(invocation, diags) || !chooseOutputs(invocation, diags))
    return false;
  invocation.explain = explain;
  if (explain != Explain::No && !invocation.last && invocation.output == "-")
    return usage(diags, "--explain prints to standard output: give -o FILE");
  CompileOptions &options = invocation.options;
  options.rules.folders.assign(ruleFolders.begin(), ruleFolders.end());
  options.rules.only.assign(onlyRules.begin(), onlyRules.end());
  options.rules.disabled.assign(disabledRules.begin(), disabledRules.end());
  options.rules.disableAll = disableAllRules;
  options.records.use = !noRecords;
  options.records.folders.assign(recordFolders.begin(), recordFolders.end());
  options.records.device = recordDevice;
  options.records.minSpeedup = minSpeedup;
  options.cpu = cpu;
  options.minimalFiltering = minimalFiltering;
  options.batchDim = batchDim;
  options.signingKey = signingKey;
  options.optLevel = optLevel;
  options.threads = jobs;
  options.printWeights = printWeights;
  options.cacheFolder = chooseCache();
  options.cacheIsWanted = cacheDir.getNumOccurrences() != 0;
  return true;
}
