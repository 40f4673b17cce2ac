//===- Crash.h - What kilnc says when it fails itself -----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A crash, a failed assertion, LLVM's fatal errors and an overflown stack end
// the process with exit code 70, one diagnostic, and a reproducer: a small text
// file in the folder for temporary files that says what was asked for and how
// far it went. A process without memory ends with exit code 4.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TOOLS_KILNC_CRASH_H
#define KILN_TOOLS_KILNC_CRASH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace kiln::crash {

void install(llvm::ArrayRef<char *> arguments);

// What reports say from now on. A handler may not allocate: texts are made here.
void setModel(llvm::StringRef path, bool jsonDiagnostics);
void setPhase(llvm::StringRef phase);

/// For errors that were noticed in time. The path of the file; empty when it
/// could not be written.
std::string writeReproducer(llvm::StringRef reason);

/// Fails in the way that `how` names: abort, segv, stack, fatal or memory.
void provoke(llvm::StringRef how);

} // namespace kiln::crash

#endif // KILN_TOOLS_KILNC_CRASH_H
