//===- TrialLowering.cpp - A rule's lowering, tried in a child ------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrialLowering.h"
#include "RuleModule.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace kiln;

/// The child is a copy of this process, whose handlers would report the crash as
/// one of Kiln's, and whose memory would be dumped.
static void makeHarmless(unsigned seconds) {
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, SIGALRM, SIGXCPU})
    std::signal(signal, SIG_DFL);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_UNBLOCK, &all, nullptr);
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  alarm(seconds);
  // LLVM writes to standard error before it aborts.
  int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    dup2(nowhere, stream);
}

static bool lowersHere(StringRef bytecode, const DialectRegistry &registry) {
  // Of its own: threads of another one are not in the child.
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler silent(&context, [](mlir::Diagnostic &) { return success(); });
  auto pdl = parseSourceString<ModuleOp>(bytecode, &context);
  return pdl && succeeded(lowerToInterp(*pdl));
}

Trial kiln::tryLowering(StringRef bytecode, const DialectRegistry &registry, unsigned seconds) {
  pid_t child = fork();
  if (child < 0)
    return Trial::Untried;
  if (child == 0) {
    makeHarmless(seconds);
    // No destructors and no exit handlers: they belong to the parent.
    _exit(lowersHere(bytecode, registry) ? 0 : 1);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return Trial::Untried;
  if (!WIFEXITED(status))
    return Trial::Crashes;
  return WEXITSTATUS(status) == 0 ? Trial::Lowers : Trial::Fails;
}
