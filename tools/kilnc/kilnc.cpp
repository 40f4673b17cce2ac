//===- kilnc.cpp - The compiler's command line ----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "kiln/Pipeline/Compilation.h"
#include "kiln/Target/Link/OutputFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace llvm;
using namespace kiln;

namespace {
/// One line a phase on a terminal; times for --timing.
class Progress {
public:
  Progress(const Invocation &invocation)
      : show(!invocation.quiet && sys::Process::StandardErrIsDisplayed()),
        times(invocation.timing) {}

  void start(StringRef phase, unsigned index, unsigned total) {
    end();
    current = phase.str();
    began = Clock::now();
    if (show)
      errs() << "[" << index << "/" << total << "] " << phase << " ";
  }
  void end() {
    if (current.empty())
      return;
    double ms = std::chrono::duration<double, std::milli>(Clock::now() - began).count();
    if (show)
      errs() << format("%.0f ms\n", ms);
    if (times && !show)
      errs() << format("%9.1f ms  ", ms) << current << "\n";
    current.clear();
  }

private:
  using Clock = std::chrono::steady_clock;
  bool show, times;
  std::string current;
  Clock::time_point began;
};

int finish(kiln::DiagnosticEngine &diags, const Invocation &invocation) {
  if (invocation.jsonDiagnostics)
    diags.printJSON(errs());
  else
    diags.printText(errs());
  return static_cast<int>(diags.exitCode());
}

bool emitText(Compiler &compiler, const Invocation &invocation, kiln::DiagnosticEngine &diags) {
  std::string text;
  raw_string_ostream os(text);
  if (!compiler.print(invocation.model, invocation.stage, os, invocation.options, diags))
    return false;
  if (Error error = writeFileAtomically(invocation.output, text)) {
    diags.report(Diag::FileUnwritable, invocation.output, toString(std::move(error)));
    return false;
  }
  return true;
}
} // namespace

int main(int argc, char **argv) {
  installCrashHandlers(argc, argv);
  kiln::DiagnosticEngine diags;
  Invocation invocation;
  if (!parseOptions(argc, argv, invocation, diags))
    return finish(diags, invocation);
  diags.setFile(invocation.model);

  Progress progress(invocation);
  invocation.options.progress = [&](StringRef phase, unsigned index, unsigned total) {
    progress.start(phase, index, total);
  };
  Compiler compiler;
  if (invocation.stage == Stage::So)
    compiler.compile(invocation.model, invocation.output, invocation.header, invocation.options,
                     diags);
  else
    emitText(compiler, invocation, diags);
  progress.end();
  return finish(diags, invocation);
}
