//===- Crash.cpp - What kilnc says when it fails itself -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Crash.h"
#include "kiln/Pipeline/Compilation.h"
#include "kiln/Support/Diagnostics.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <execinfo.h>
#include <fcntl.h>
#include <new>
#include <unistd.h>

using namespace llvm;
using namespace kiln;

namespace {
/// A text that is there before it is needed. What does not fit is cut.
template <size_t capacity> struct Prepared {
  char bytes[capacity];
  size_t size = 0;

  void operator=(StringRef text) {
    size = std::min(text.size(), capacity - 1);
    std::memcpy(bytes, text.data(), size);
    bytes[size] = 0;
  }
  void write(int fd) const { (void)!::write(fd, bytes, size); }
};
} // namespace

static Prepared<4096> reproducerPath;
/// First lines of the reproducer.
static Prepared<16384> facts;
static Prepared<64> currentPhase;
/// The diagnostics, with a reproducer and without one, and out of memory.
static Prepared<16384> crashed, crashedSilently, outOfMemory;

static std::string command;
static bool asJSON = false;

/// Only async-signal-safe calls here.
static void writeLiteral(int fd, StringRef text) { (void)!::write(fd, text.data(), text.size()); }

/// Only async-signal-safe calls here.
static bool writeFile(StringRef reason) {
  int fd = ::open(reproducerPath.bytes, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    return false;
  facts.write(fd);
  writeLiteral(fd, "phase: ");
  currentPhase.write(fd);
  writeLiteral(fd, "\nreason: ");
  writeLiteral(fd, reason);
  writeLiteral(fd, "\nstack:\n");
  void *frames[64];
  ::backtrace_symbols_fd(frames, ::backtrace(frames, 64), fd);
  ::close(fd);
  return true;
}

static StringRef signalName(int signal) {
  switch (signal) {
  case SIGSEGV:
    return "segmentation fault";
  case SIGBUS:
    return "bus error";
  case SIGFPE:
    return "arithmetic fault";
  case SIGILL:
    return "illegal instruction";
  default:
    return "aborted";
  }
}

/// Only async-signal-safe calls here.
static void onSignal(int signal) {
  // A second fault, in here or on another thread, ends the process.
  for (int other : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    ::signal(other, SIG_DFL);
  writeLiteral(STDERR_FILENO, asJSON ? "" : "\n");
  (writeFile(signalName(signal)) ? crashed : crashedSilently).write(STDERR_FILENO);
  _exit(static_cast<int>(ExitCode::Internal));
}

static std::string print(const kiln::DiagnosticEngine &diags) {
  std::string text;
  raw_string_ostream os(text);
  if (asJSON)
    diags.printJSON(os);
  else
    diags.printText(os);
  return text;
}

static std::string report(StringRef model, StringRef reason, StringRef reproducer) {
  kiln::DiagnosticEngine diags(model);
  diags.report(Diag::Internal, reason);
  if (!reproducer.empty())
    diags.report(Diag::ReproducerWritten, reproducer);
  return print(diags);
}

static void onFatalError(void *, const char *reason, bool) {
  std::string file = crash::writeReproducer(reason);
  errs() << report("", reason, file);
  _exit(static_cast<int>(ExitCode::Internal));
}

static void onOutOfMemory() {
  outOfMemory.write(STDERR_FILENO);
  _exit(static_cast<int>(ExitCode::File));
}

void crash::install(ArrayRef<char *> arguments) {
  SmallString<128> path;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, path);
  sys::path::append(path, "kilnc-" + Twine(::time(nullptr)) + "-" + Twine(::getpid()) + ".txt");
  reproducerPath = path;
  for (StringRef argument : arguments)
    command += (command.empty() ? "'" : " '") + argument.str() + "'";
  setModel("", false);
  setPhase("command line");

  // The first call loads a library, which a handler may not.
  void *frame;
  (void)::backtrace(&frame, 1);
  install_fatal_error_handler(onFatalError);
  install_bad_alloc_error_handler([](void *, const char *, bool) { onOutOfMemory(); });
  std::set_new_handler(onOutOfMemory);
  // A stack of its own, for an overflown one has no room.
  static char stack[1 << 16];
  stack_t alternative = {};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof(stack);
  ::sigaltstack(&alternative, nullptr);
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    ::sigaction(signal, &action, nullptr);
}

void crash::setModel(StringRef path, bool jsonDiagnostics) {
  asJSON = jsonDiagnostics;
  std::string text;
  raw_string_ostream os(text);
  os << "This file says what " << producerName()
     << " was doing when it failed. It holds nothing of the model.\n";
  os << "version: " << producerName() << ", LLVM " LLVM_VERSION_STRING "\n";
  SmallString<128> folder;
  sys::fs::current_path(folder);
  os << "command: " << command << "\nfolder: " << folder << "\nmodel: " << path;
  uint64_t size;
  if (!sys::fs::file_size(path, size))
    os << ", " << size << " bytes";
  os << "\n";
  facts = text;
  crashed = report(path, "the compiler crashed", reproducerPath.bytes);
  crashedSilently = report(path, "the compiler crashed", "");
  kiln::DiagnosticEngine diags(path);
  diags.report(Diag::OutOfMemory, "compiling");
  outOfMemory = print(diags);
}

void crash::setPhase(StringRef phase) { currentPhase = phase; }

std::string crash::writeReproducer(StringRef reason) {
  return writeFile(reason) ? reproducerPath.bytes : "";
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

static volatile bool goDeeper = true;
static void *volatile unused;

/// Uses the stack up: the frame is needed after the call.
__attribute__((noinline)) static int overflow(volatile const char *above) {
  volatile char frame[4096];
  frame[0] = above ? above[0] : 0;
  return goDeeper ? overflow(frame) + frame[0] : 0;
}

void crash::provoke(StringRef how) {
  if (how == "abort")
    std::abort();
  if (how == "segv")
    ::raise(SIGSEGV);
  if (how == "stack")
    (void)overflow(nullptr);
  if (how == "fatal")
    reportFatalInternalError("as asked for");
  if (how == "memory")
    unused = ::operator new(size_t(1) << 60);
}
