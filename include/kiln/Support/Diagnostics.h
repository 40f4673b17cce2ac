//===- Diagnostics.h - Errors and warnings for the user ---------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A DiagnosticEngine collects what is wrong with one model or one command and
// prints it at the end, as text or as JSON, so that a user sees all faults at
// once. Each phase reports and goes on as far as it can, and its caller asks
// hasErrors() before the next phase.
//
//   diags.report(Diag::UndefinedValue, name).node(label).note("did you mean 'x'?");
//
//===----------------------------------------------------------------------===//
#ifndef KILN_SUPPORT_DIAGNOSTICS_H
#define KILN_SUPPORT_DIAGNOSTICS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include <cstdint>
#include <deque>
#include <string>
#include <type_traits>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace kiln {

/// Values are the numbers behind the K.
enum class Diag : uint16_t {
#define KILN_DIAG(number, name, severity, exit, form, cause, cure) name = number,
#include "kiln/Support/Diagnostics.def"
};

enum class Severity : uint8_t { Error, Warning, Note };

/// The exit codes of kilnc. Of several errors the smallest wins: what is invalid
/// stays invalid however much Kiln supports.
enum class ExitCode : uint8_t {
  Done = 0,
  Invalid = 1,
  Usage = 2,
  Refused = 3,
  File = 4,
  Internal = 70
};

struct DiagInfo {
  Diag diag;
  const char *name;
  Severity severity;
  ExitCode exit;
  const char *form;
  const char *cause;
  const char *cure;
};

/// In the order of their numbers.
llvm::ArrayRef<DiagInfo> allDiagnostics();
const DiagInfo &diagInfo(Diag diag);
/// "K104".
std::string diagCode(Diag diag);

/// One fault. The setters return *this, so that a report is one expression.
class Diagnostic {
public:
  Diag diag;
  Severity severity;
  std::string message;
  std::string file; ///< empty: the engine's
  std::string node; ///< label of the node, as the user can find it
  std::string opType, opDomain;
  int64_t opset = 0;
  std::string supported; ///< the nearest form that Kiln takes
  std::vector<std::string> notes;

  Diagnostic &inFile(llvm::StringRef path);
  Diagnostic &atNode(llvm::StringRef label);
  Diagnostic &withOp(llvm::StringRef type, llvm::StringRef domain, int64_t version);
  Diagnostic &nearestSupported(const llvm::Twine &text);
  Diagnostic &note(const llvm::Twine &text);
};

class DiagnosticEngine {
public:
  /// `file` is what messages start with: the model, usually.
  explicit DiagnosticEngine(llvm::StringRef file = "") : mainFile(file.str()) {}

  void setFile(llvm::StringRef file) { mainFile = file.str(); }
  llvm::StringRef file() const { return mainFile; }

  /// The reference stays valid as long as the engine.
  template <typename... Args> Diagnostic &report(Diag diag, const Args &...args) {
    return add(diag, {toText(args)...});
  }
  /// The same with a severity other than the table's.
  template <typename... Args> Diagnostic &warn(Diag diag, const Args &...args) {
    Diagnostic &d = add(diag, {toText(args)...}, /*asWarning=*/true);
    return d;
  }

  /// Takes over what another engine has collected about the same file.
  void append(const DiagnosticEngine &other);

  bool hasErrors() const { return errors != 0; }
  size_t errorCount() const { return errors; }
  const std::deque<Diagnostic> &all() const { return list; }
  ExitCode exitCode() const;

  /// `model.onnx: error K140: node 'a' (Add): value 'ghost' is not defined`, notes
  /// indented below. Equal messages about several nodes are one entry.
  void printText(llvm::raw_ostream &os) const;
  /// One document; the schema is in docs/diagnostics.md.
  void printJSON(llvm::raw_ostream &os) const;

private:
  Diagnostic &add(Diag diag, std::vector<std::string> args, bool asWarning = false);
  Diagnostic &add(Diagnostic diagnostic);
  static std::string toText(llvm::StringRef text) { return text.str(); }
  static std::string toText(const std::string &text) { return text; }
  static std::string toText(const char *text) { return text; }
  template <typename T>
  static std::enable_if_t<std::is_integral_v<T>, std::string> toText(T value) {
    return std::to_string(value);
  }

  std::string mainFile;
  std::deque<Diagnostic> list;
  Diagnostic overflow{};
  size_t errors = 0, dropped = 0;
  ExitCode worst = ExitCode::Done;
};

/// `text` as a message can hold it: invalid UTF-8 and control characters, which
/// names in a hostile file may contain, are escaped; what is very long is cut.
std::string printable(llvm::StringRef text, size_t limit = 200);

/// The reference page of all diagnostics, in Markdown.
void writeDiagnosticsPage(llvm::raw_ostream &os);

} // namespace kiln

#endif
