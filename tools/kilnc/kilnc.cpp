//===- kilnc.cpp - The compiler's command line ----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Crash.h"
#include "Options.h"
#include "kiln/Pipeline/Compilation.h"
#include "kiln/Pipeline/DeviceReport.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace llvm;
using namespace kiln;

namespace {
/// One line a phase: what, n of m, elapsed.
class Progress {
public:
  void start(StringRef phase, unsigned index, unsigned total) {
    end();
    running = true;
    began = Clock::now();
    errs() << "[" << index << "/" << total << "] " << phase << " ";
  }
  void end() {
    using Milliseconds = std::chrono::duration<double, std::milli>;
    if (std::exchange(running, false))
      errs() << format("%.0f ms\n", Milliseconds(Clock::now() - began).count());
  }

private:
  using Clock = std::chrono::steady_clock;
  bool running = false;
  Clock::time_point began;
};
} // namespace

static void compile(const Invocation &invocation, kiln::DiagnosticEngine &diags) {
  Compiler compiler;
  const CompileOptions &options = invocation.options;
  if (invocation.last)
    compiler.check(invocation.model, *invocation.last, options, diags);
  else if (invocation.stage == Stage::So)
    compiler.compile(invocation.model, invocation.output, invocation.header, options, diags);
  else if (invocation.stage == Stage::Obj || invocation.stage == Stage::Archive)
    compiler.compileStatic(invocation.model, invocation.stage, invocation.output, invocation.header,
                           options, diags);
  else
    compiler.emit(invocation.model, invocation.stage, invocation.output, options, diags);
}

/// An error of Kiln's own is worth a report.
static void mentionReproducer(kiln::DiagnosticEngine &diags) {
  for (const kiln::Diagnostic &diag : diags.all())
    if (diagInfo(diag.diag).exit == ExitCode::Internal) {
      std::string file = crash::writeReproducer(diag.message);
      if (!file.empty())
        diags.report(Diag::ReproducerWritten, file);
      return;
    }
}

int main(int argc, char **argv) {
  PhaseTimer timer;
  crash::install(ArrayRef(argv, argc));
  kiln::DiagnosticEngine diags;
  Invocation invocation;
  if (parseOptions(argc, argv, invocation, diags)) {
    diags.setFile(invocation.model);
    crash::setModel(invocation.model, invocation.jsonDiagnostics);
    Progress progress;
    bool shown = !invocation.quiet && sys::Process::StandardErrIsDisplayed();
    invocation.options.timer = &timer;
    invocation.options.progress = [&](StringRef phase, unsigned index, unsigned total) {
      crash::setPhase(phase);
      if (shown)
        progress.start(phase, index, total);
      if (phase == phaseName(Phase::Fuse) && invocation.crash == "internal")
        diags.report(Diag::Internal, "as asked for");
      else if (phase == phaseName(Phase::Fuse))
        crash::provoke(invocation.crash);
    };
    RuleReport report;
    DeviceReport deviceReport;
    if (invocation.explain != Explain::No) {
      invocation.options.ruleReport = &report;
      invocation.options.deviceReport = &deviceReport;
    }
    compile(invocation, diags);
    progress.end();
    if (invocation.explain == Explain::Text) {
      report.printText(outs());
      deviceReport.printText(outs());
    } else if (invocation.explain == Explain::JSON) {
      report.printJSON(outs(), [&](json::OStream &json) {
        if (invocation.options.cuda.isWanted)
          deviceReport.writeJSON(json);
      });
    }
  }
  mentionReproducer(diags);
  if (invocation.timing)
    timer.print(errs());
  if (invocation.jsonDiagnostics)
    diags.printJSON(errs());
  else
    diags.printText(errs());
  return static_cast<int>(diags.exitCode());
}
