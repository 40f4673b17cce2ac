//===- Diagnostics.cpp - Errors and warnings for the user -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kiln/Support/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace kiln;
using llvm::StringRef;

// A broken file can have as many faults as nodes; nobody reads more than this.
static constexpr size_t maxStored = 10000;
static constexpr size_t maxPrinted = 200;
static constexpr size_t maxNodesInText = 8;

static const DiagInfo table[] = {
#define KILN_DIAG(number, name, severity, exit, form, cause, cure)                                 \
  {Diag::name, #name, Severity::severity, ExitCode::exit, form, cause, cure},
#include "kiln/Support/Diagnostics.def"
};

llvm::ArrayRef<DiagInfo> kiln::allDiagnostics() { return table; }

const DiagInfo &kiln::diagInfo(Diag diag) {
  auto it =
      llvm::lower_bound(table, diag, [](const DiagInfo &info, Diag d) { return info.diag < d; });
  if (it == std::end(table) || it->diag != diag)
    llvm_unreachable("a diagnostic that is not in the table");
  return *it;
}

std::string kiln::diagCode(Diag diag) {
  std::string digits = std::to_string(static_cast<unsigned>(diag));
  return "K" + std::string(3 - std::min<size_t>(3, digits.size()), '0') + digits;
}

std::string kiln::printable(StringRef text, size_t limit) {
  std::string cut;
  if (text.size() > limit) {
    cut = "... (" + std::to_string(text.size()) + " bytes)";
    text = text.take_front(limit);
    // Do not cut a character in two: it would print as escapes.
    while (!text.empty() && (text.back() & 0xc0) == 0x80)
      text = text.drop_back();
    if (!text.empty() && (text.back() & 0x80))
      text = text.drop_back();
  }
  bool valid = llvm::json::isUTF8(text);
  std::string result;
  for (unsigned char c : text) {
    if (c < 0x20 || c == 0x7f || (c >= 0x80 && !valid))
      result += "\\x" + llvm::toHex(StringRef(reinterpret_cast<char *>(&c), 1), /*LowerCase=*/true);
    else
      result += static_cast<char>(c);
  }
  return result + cut;
}

Diagnostic &Diagnostic::inFile(StringRef path) {
  file = path.str();
  return *this;
}
Diagnostic &Diagnostic::atNode(StringRef label) {
  node = label.str();
  return *this;
}
Diagnostic &Diagnostic::withOp(StringRef type, StringRef domain, int64_t version) {
  opType = type.str();
  opDomain = domain.str();
  opset = version;
  return *this;
}
Diagnostic &Diagnostic::nearestSupported(const llvm::Twine &text) {
  supported = text.str();
  return *this;
}
Diagnostic &Diagnostic::note(const llvm::Twine &text) {
  notes.push_back(text.str());
  return *this;
}

static std::string substitute(StringRef form, llvm::ArrayRef<std::string> args) {
  std::string result;
  for (size_t i = 0; i != form.size(); ++i) {
    if (form[i] == '{' && i + 2 < form.size() && llvm::isDigit(form[i + 1]) && form[i + 2] == '}') {
      size_t index = form[i + 1] - '0';
      assert(index < args.size() && "a diagnostic has too few arguments");
      if (index < args.size())
        result += args[index];
      i += 2;
    } else {
      result += form[i];
    }
  }
  return result;
}

Diagnostic &DiagnosticEngine::add(Diag diag, std::vector<std::string> args, bool asWarning) {
  const DiagInfo &info = diagInfo(diag);
  Diagnostic d{};
  d.diag = diag;
  d.severity = asWarning ? Severity::Warning : info.severity;
  d.message = substitute(info.form, args);
  return add(std::move(d));
}

Diagnostic &DiagnosticEngine::add(Diagnostic d) {
  if (d.severity == Severity::Error) {
    ++errors;
    ExitCode exit = diagInfo(d.diag).exit;
    if (worst == ExitCode::Done || exit < worst)
      worst = exit;
  }
  if (list.size() == maxStored) {
    ++dropped;
    return overflow = {};
  }
  return list.emplace_back(std::move(d));
}

void DiagnosticEngine::append(const DiagnosticEngine &other) {
  for (const Diagnostic &d : other.list)
    add(d);
  // What the other did not keep still counts.
  errors += other.dropped;
  dropped += other.dropped;
  if (worst == ExitCode::Done || (other.worst != ExitCode::Done && other.worst < worst))
    worst = other.worst;
}

ExitCode DiagnosticEngine::exitCode() const { return worst; }

static const char *severityText(Severity severity) {
  switch (severity) {
  case Severity::Error:
    return "error";
  case Severity::Warning:
    return "warning";
  case Severity::Note:
    return "note";
  }
  llvm_unreachable("unknown severity");
}

namespace {
/// Diagnostics that differ only in their node.
struct Group {
  const Diagnostic *first;
  std::vector<StringRef> nodes;
  size_t count = 0;
};
} // namespace

static std::vector<Group> group(const std::deque<Diagnostic> &list) {
  std::vector<Group> groups;
  llvm::StringMap<size_t> index;
  for (const Diagnostic &d : list) {
    std::string key = diagCode(d.diag) + severityText(d.severity) + std::to_string(d.opset);
    auto append = [&](const std::string &part) { (key += '\0') += part; };
    for (const std::string *part : {&d.message, &d.file, &d.opType, &d.opDomain, &d.supported})
      append(*part);
    llvm::for_each(d.notes, append);
    auto [it, isNew] = index.try_emplace(key, groups.size());
    if (isNew)
      groups.push_back({&d, {}, 0});
    Group &g = groups[it->second];
    ++g.count;
    if (!d.node.empty())
      g.nodes.push_back(d.node);
  }
  return groups;
}

void DiagnosticEngine::printText(llvm::raw_ostream &os) const {
  std::vector<Group> groups = group(list);
  size_t printed = 0;
  for (const Group &g : groups) {
    if (printed++ == maxPrinted)
      break;
    const Diagnostic &d = *g.first;
    StringRef where = d.file.empty() ? StringRef(mainFile) : StringRef(d.file);
    if (!where.empty())
      os << printable(where, 4096) << ": ";
    os << severityText(d.severity) << ' ' << diagCode(d.diag) << ": ";
    if (!g.nodes.empty()) {
      os << (g.nodes.size() == 1 ? "node " : "nodes ");
      llvm::interleaveComma(llvm::ArrayRef(g.nodes).take_front(maxNodesInText), os);
      if (g.nodes.size() > maxNodesInText)
        os << " and " << g.nodes.size() - maxNodesInText << " more";
      os << ": ";
    }
    os << d.message;
    if (g.count > 1 && g.nodes.empty())
      os << " (" << g.count << " times)";
    os << '\n';
    for (const std::string &note : d.notes)
      os << "  note: " << note << '\n';
    if (!d.supported.empty())
      os << "  supported: " << d.supported << '\n';
  }
  size_t rest = (groups.size() > maxPrinted ? groups.size() - maxPrinted : 0) + dropped;
  if (rest)
    os << (mainFile.empty() ? "" : printable(mainFile, 4096) + ": ") << "note: " << rest
       << " more are not shown\n";
}

void DiagnosticEngine::printJSON(llvm::raw_ostream &os) const {
  llvm::json::OStream json(os, 2);
  auto text = [&](StringRef key, StringRef value) { json.attribute(key, printable(value, 65536)); };
  json.object([&] {
    json.attribute("version", 1);
    text("file", mainFile);
    json.attribute("exitCode", static_cast<int>(worst));
    json.attribute("errors", static_cast<int64_t>(errors));
    json.attribute("dropped", static_cast<int64_t>(dropped));
    json.attributeArray("diagnostics", [&] {
      for (const Group &g : group(list)) {
        const Diagnostic &d = *g.first;
        json.object([&] {
          text("code", diagCode(d.diag));
          text("name", diagInfo(d.diag).name);
          text("severity", severityText(d.severity));
          text("message", d.message);
          text("file", d.file.empty() ? mainFile : d.file);
          json.attributeArray("nodes", [&] {
            for (StringRef node : g.nodes)
              json.value(printable(node, 65536));
          });
          if (!d.opType.empty())
            json.attributeObject("op", [&] {
              text("type", d.opType);
              text("domain", d.opDomain);
              json.attribute("opset", d.opset);
            });
          json.attributeArray("notes", [&] {
            for (const std::string &note : d.notes)
              json.value(printable(note, 65536));
          });
          if (!d.supported.empty())
            text("supported", d.supported);
          text("cure", diagInfo(d.diag).cure);
        });
      }
    });
  });
  os << '\n';
}

void kiln::writeDiagnosticsPage(llvm::raw_ostream &os) {
  static const struct {
    unsigned hundred;
    const char *title;
  } areas[] = {{0, "Usage, files and the system"},
               {1, "Invalid models"},
               {2, "Refused: valid, but not supported"},
               {3, "Rules"},
               {4, "Code generation"},
               {5, "CUDA"},
               {6, "Artefacts and run time"}};
  os << "# Diagnostics\n\n"
     << "Generated from `include/kiln/Support/Diagnostics.def`; do not edit.\n\n"
     << "An error prints as `file: error Knnn: node 'name' (Op): message`, with notes indented "
        "below it. Faults that\n"
     << "differ only in their node are one entry. The exit code of several errors is the "
        "smallest.\n\n"
     << "`--json-diagnostics` prints one document instead: `version` (1), `file`, `exitCode`, "
        "`errors`, `dropped`\n"
     << "(faults past the limit of " << maxStored
     << ") and `diagnostics`, an array of objects with `code`, `name`, `severity`\n"
     << "(`error`, `warning`, `note`), `message`, `file`, `nodes`, `notes`, `cure` and, where they "
        "apply, `op` (`type`,\n"
     << "`domain`, `opset`) and `supported` (the nearest form that Kiln takes). Fields are only "
        "ever added.\n";
  for (const auto &area : areas) {
    bool first = true;
    for (const DiagInfo &info : table) {
      if (static_cast<unsigned>(info.diag) / 100 != area.hundred)
        continue;
      if (first)
        os << "\n## K" << area.hundred << "xx: " << area.title << '\n';
      first = false;
      os << "\n### " << diagCode(info.diag) << " " << info.name << "\n\n`" << info.form << "`\n\n"
         << severityText(info.severity) << ", exit code " << static_cast<int>(info.exit) << ". "
         << info.cause << ' ' << info.cure << '\n';
    }
  }
}
