//===- Options.cpp - kilnc's options --------------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <unistd.h>

using namespace llvm;
using namespace kiln;

static cl::OptionCategory category("kilnc options");

static cl::opt<std::string> model(cl::Positional, cl::desc("<model.onnx>"), cl::cat(category));
static cl::opt<std::string>
    output("o", cl::value_desc("file"),
           cl::desc("Output: the artefact (default: the model's name with .so), or the text of "
                    "--emit (default: standard output)"),
           cl::cat(category));
static cl::opt<std::string>
    header("header", cl::value_desc("file"),
           cl::desc("C header of the artefact (default: beside it; \"\" for none)"),
           cl::cat(category));
static cl::opt<std::string> target("target", cl::value_desc("name"), cl::init("cpu"),
                                   cl::desc("Target: cpu"), cl::cat(category));
static cl::opt<std::string>
    cpu("cpu", cl::value_desc("name"), cl::init("native"),
        cl::desc("Processor: native, x86-64-v2, x86-64-v3, x86-64-v4, or a name that LLVM knows"),
        cl::cat(category));
static cl::list<std::string>
    dims("dim", cl::value_desc("NAME=N or NAME=LO..HI"),
         cl::desc("Fix a dimension, or state its range (may be given again)"), cl::cat(category));
static cl::opt<std::string> batchDim("batch-dim", cl::value_desc("NAME"),
                                     cl::desc("The dimension that is the batch"),
                                     cl::cat(category));
static cl::opt<unsigned> optLevel("O", cl::Prefix, cl::init(2), cl::value_desc("0-3"),
                                  cl::desc("Optimization level (default 2)"), cl::cat(category));
static cl::opt<unsigned> jobs("j", cl::init(0), cl::value_desc("N"),
                              cl::desc("Threads that generate code (default: one a core)"),
                              cl::cat(category));
static cl::opt<Stage>
    emitStage("emit", cl::desc("Print a stage instead of writing an artefact"), cl::init(Stage::So),
              cl::values(clEnumValN(Stage::Onnx, "onnx", "the checked model"),
                         clEnumValN(Stage::Kiln, "kiln", "kiln dialect, simplified"),
                         clEnumValN(Stage::Fused, "fused", "fused groups"),
                         clEnumValN(Stage::Plan, "plan", "buffers, kernels, launches"),
                         clEnumValN(Stage::Kernels, "kernels", "the kernels' loops"),
                         clEnumValN(Stage::LLVM, "llvm", "LLVM IR"),
                         clEnumValN(Stage::Asm, "asm", "assembly"),
                         clEnumValN(Stage::Obj, "obj", "the program's object file"),
                         clEnumValN(Stage::So, "so", "the artefact (default)")),
              cl::cat(category));
static cl::opt<bool> printWeights("print-weights",
                                  cl::desc("Print all elements of constants with --emit"),
                                  cl::cat(category));
static cl::opt<bool> quiet("quiet", cl::desc("No progress lines"), cl::cat(category));
static cl::opt<bool> timing("timing", cl::desc("Print the time of each phase"), cl::cat(category));
static cl::opt<bool> jsonDiagnostics("json-diagnostics",
                                     cl::desc("Print errors as one JSON document"),
                                     cl::cat(category));

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

bool kiln::parseOptions(int argc, char **argv, Invocation &invocation,
                        kiln::DiagnosticEngine &diags) {
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](raw_ostream &os) { os << producerName() << "\n"; });
  std::string errors;
  raw_string_ostream os(errors);
  if (!cl::ParseCommandLineOptions(argc, argv, "compiles an ONNX model to a shared object\n", &os))
    return usage(diags, StringRef(errors).trim());
  invocation.jsonDiagnostics = jsonDiagnostics;
  invocation.quiet = quiet;
  invocation.timing = timing;
  invocation.stage = emitStage;
  invocation.model = model;
  if (model.empty())
    return usage(diags, "no model given; kilnc --help lists the options");
  if (target != "cpu")
    return usage(diags, "--target: unknown target '" + target + "'; known: cpu");
  if (optLevel > 3)
    return usage(diags, "-O: the level is 0, 1, 2 or 3");
  for (StringRef dim : dims) {
    auto [name, value] = dim.split('=');
    DimRange range;
    if (name.empty() || !parseRange(value, range))
      return usage(diags, "--dim " + dim + ": write NAME=N or NAME=LO..HI");
    if (!invocation.options.import.dims.emplace(name.str(), range).second)
      return usage(diags, "--dim " + name + " is given twice");
  }
  SmallString<128> path(output.getValue());
  if (path.empty() && emitStage != Stage::So) {
    path = "-";
  } else if (path.empty()) {
    path = sys::path::filename(model);
    sys::path::replace_extension(path, "so");
  }
  invocation.output = std::string(path);
  if (header.getNumOccurrences()) {
    invocation.header = header;
  } else if (emitStage == Stage::So && path != "-") {
    sys::path::replace_extension(path, "h");
    invocation.header = std::string(path);
  }
  invocation.options.cpu = cpu;
  invocation.options.batchDim = batchDim;
  invocation.options.optLevel = optLevel;
  invocation.options.threads = jobs;
  invocation.options.printWeights = printWeights;
  return true;
}

//===----------------------------------------------------------------------===//
// Crashes
//===----------------------------------------------------------------------===//

/// Written when the process starts: a handler may not allocate.
static char reproducer[4096];
static size_t reproducerLength;

/// Only async-signal-safe calls here.
static void crash(int) {
  static const char text[] = "kilnc: internal error K099: the compiler crashed. Please report it "
                             "with the model and this command:\n  ";
  (void)!write(2, text, sizeof(text) - 1);
  (void)!write(2, reproducer, reproducerLength);
  _exit(static_cast<int>(ExitCode::Internal));
}

static void fatal(void *, const char *reason, bool) {
  errs() << "kilnc: internal error K099: " << reason << "\n";
  crash(0);
}

void kiln::installCrashHandlers(int argc, char **argv) {
  std::string command;
  for (int i = 0; i < argc; ++i)
    command += std::string(i ? " '" : "'") + argv[i] + "'";
  command = command.substr(0, sizeof(reproducer) - 2) + "\n";
  reproducerLength = command.size();
  std::copy(command.begin(), command.end(), reproducer);
  install_fatal_error_handler(fatal);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    std::signal(signal, crash);
}
