//===- Options.h - kilnc's options ------------------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TOOLS_KILNC_OPTIONS_H
#define KILN_TOOLS_KILNC_OPTIONS_H

#include "kiln/Pipeline/Compilation.h"

namespace kiln {

enum class Explain : uint8_t { No, Text, JSON };

/// The command line, copied out of llvm::cl: lld resets every option of the
/// process when it links.
struct Invocation {
  std::string model, output, header;
  Stage stage = Stage::So;
  /// --stop-after: no output.
  std::optional<Phase> last;
  CompileOptions options;
  Explain explain = Explain::No;
  bool quiet = false, timing = false, jsonDiagnostics = false;
  /// --crash-for-test.
  std::string crash;
};

/// False when the command line is wrong (reported). Exits for --help and
/// --version.
bool parseOptions(int argc, char **argv, Invocation &invocation, DiagnosticEngine &diags);

} // namespace kiln

#endif // KILN_TOOLS_KILNC_OPTIONS_H
