//===- RuleFile.cpp - From a .pdll file to a rule -------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuleFile.h"
#include "RuleModule.h"
#include "SmallFile.h"
#include "TrialLowering.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <set>

using namespace mlir;
using namespace kiln;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// mlir-pdll takes milliseconds, but some rules make it run for ever.
static constexpr unsigned secondsAllowed = 10, megabytesAllowed = 1024;

/// Bytes of a rule, and of what mlir-pdll makes of it.
static constexpr uint64_t largestRule = 1 << 20, largestOutput = 1 << 26;

/// Empty where it cannot be read.
static std::string textOf(StringRef file, uint64_t most = largestRule) {
  std::string why;
  auto buffer = readSmallFile(file, most, why);
  return buffer ? buffer->getBuffer().str() : "";
}

static std::string digestOf(StringRef text) {
  return llvm::toHex(llvm::BLAKE3::hash<32>(llvm::arrayRefFromStringRef(text)),
                     /*LowerCase=*/true);
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

bool RuleCompiler::fail(StringRef place, StringRef text, ArrayRef<std::string> notes) {
  auto &diag = diags.report(Diag::BrokenRule, printable(path::stem(current)), printable(text));
  diag.inFile(place.empty() ? StringRef(current) : place);
  for (const std::string &note : notes)
    // Lines of the file, which may be anything.
    diag.note(printable(note));
  return false;
}

/// A line of a file, counted from 1, and a caret below a column of it.
static void showPlace(StringRef file, size_t line, size_t column, std::vector<std::string> &notes) {
  std::string text = textOf(file);
  SmallVector<StringRef> lines;
  StringRef(text).split(lines, '\n');
  if (line == 0 || line > lines.size())
    return;
  StringRef shown = lines[line - 1].rtrim('\r');
  notes.push_back(shown.str());
  notes.push_back(std::string(std::min(column ? column - 1 : 0, shown.size()), ' ') + "^");
}

/// "rule.pdll:5:3: error: text", then the line and a caret, and other places.
bool RuleCompiler::failAsTheToolSaid(StringRef output) {
  std::string place, text = "mlir-pdll gave no reason";
  std::vector<std::string> notes;
  bool found = false;
  for (StringRef line : llvm::split(output.rtrim(), '\n')) {
    line = line.rtrim();
    auto [where, what] = line.split(": error: ");
    if (found || what.empty()) {
      // Stack dumps help nobody who writes rules.
      if (line.starts_with("PLEASE submit") || line.starts_with("Stack dump"))
        break;
      if (!line.empty())
        notes.push_back(line.str());
      continue;
    }
    found = true;
    text = what.contains("expected a bindable user")
               ? "the root of the pattern does not read this op's result"
               : what.str();
    // The verifier writes loc("rule.pdll":5:3), the parser of attributes and types
    // loc("their text":1:1).
    if (where.consume_front("loc(\"") && where.consume_back(")")) {
      auto [name, rest] = where.rsplit("\":");
      size_t row = 0, column = 0;
      std::string file = name.str(), content = fs::exists(name) ? "" : textOf(current);
      if (size_t at = StringRef(content).find(("<\"" + name + "\">").str());
          at != StringRef::npos) {
        StringRef before = StringRef(content).take_front(at + 1);
        row = before.count('\n') + 1;
        column = at + 1 - before.rfind('\n');
        file = current;
        text = "'" + name.str() + "': " + text;
      } else if (rest.consumeInteger(10, row) || !rest.consume_front(":") ||
                 rest.getAsInteger(10, column)) {
        continue;
      }
      place = file + ":" + std::to_string(row) + ":" + std::to_string(column);
      showPlace(file, row, column, notes);
    } else {
      place = where.str();
    }
  }
  return fail(place, text, notes);
}

//===----------------------------------------------------------------------===//
// The child process
//===----------------------------------------------------------------------===//

RuleCompiler::~RuleCompiler() {
  if (!includeFolder.empty())
    fs::remove_directories(includeFolder);
}

bool RuleCompiler::findTool() {
  if (!tool.empty())
    return true;
  // Of the LLVM that is named or else that Kiln was built with, else on the PATH.
  const char *named = std::getenv("KILN_LLVM_TOOLS");
  const StringRef folder[] = {named ? named : KILN_LLVM_TOOLS};
  for (StringRef name : {"mlir-pdll", "mlir-pdll-22"})
    for (bool anywhere : {false, true})
      if (auto found = llvm::sys::findProgramByName(name, anywhere ? ArrayRef<StringRef>()
                                                                   : ArrayRef<StringRef>(folder))) {
        tool = *found;
        return true;
      }
  toolIsMissing = true;
  diags.report(Diag::NoRuleCompiler);
  return false;
}

bool RuleCompiler::makeIncludeFolder() {
  if (!includeFolder.empty())
    return true;
  SmallString<128> folder;
  std::error_code error = fs::createUniqueDirectory("kiln-rules", folder);
  if (error) {
    diags.report(Diag::FileUnwritable, "kiln-rules", error.message());
    return false;
  }
  includeFolder = std::string(folder);
  std::string natives_;
  llvm::raw_string_ostream os(natives_);
  writeDeclarations(natives, os);
  for (auto [name, text] : {std::pair<StringRef, StringRef>("kiln.pdll", declarations),
                            std::pair<StringRef, StringRef>("natives.pdll", natives_)}) {
    SmallString<128> file(folder);
    path::append(file, name);
    llvm::raw_fd_ostream out(file, error);
    out << text;
    out.close();
    if (error || out.has_error()) {
      out.clear_error();
      diags.report(Diag::FileUnwritable, file.str(), error.message());
      return false;
    }
  }
  return true;
}

/// A run of mlir-pdll.
struct RuleCompiler::Process {
  std::string module, errors, why;
  std::vector<std::string> filesRead;
  int status = -1;

  Process(StringRef tool, StringRef file, ArrayRef<StringRef> includes, StringRef folder) {
    SmallString<128> out(folder), err(folder), deps(folder);
    path::append(out, "out.mlir");
    path::append(err, "errors.txt");
    path::append(deps, "out.d");
    SmallVector<StringRef> arguments{tool, "-x", "mlir", file, "-o", out, "-d", deps};
    for (StringRef include : includes)
      arguments.append({"-I", include});
    // Not this process's standard streams.
    std::optional<StringRef> redirects[] = {StringRef(""), StringRef(""), StringRef(err)};
    status = llvm::sys::ExecuteAndWait(tool, arguments, std::nullopt, redirects, secondsAllowed,
                                       megabytesAllowed, &why);
    module = textOf(out, largestOutput);
    errors = textOf(err, largestOutput);
    // "out.mlir: rule.pdll \\ included.pdll"
    std::string dependencies = textOf(deps);
    for (StringRef name : llvm::split(StringRef(dependencies).split(": ").second, ' '))
      if (name = name.trim(" \n\\"); !name.empty())
        filesRead.push_back(name.str());
    for (StringRef made : {StringRef(out), StringRef(err), StringRef(deps)})
      fs::remove(made);
  }
};

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// Takes the first comment of a file, but the licence.
static void readComment(StringRef text, Rule &rule) {
  bool isSpelling = false;
  for (StringRef line : llvm::split(text, '\n')) {
    line = line.trim();
    if (!line.consume_front("//")) {
      if (!rule.doc.empty())
        return;
      continue;
    }
    line = line.trim();
    if (line.contains("SPDX-License-Identifier") || line.empty())
      continue;
    if (line == "Seen in models:")
      isSpelling = true;
    else if (isSpelling)
      rule.spellings.push_back(line.str());
    else
      rule.doc += (rule.doc.empty() ? "" : "\n") + line.str();
  }
}

namespace {
/// What MLIR says, as notes that show the place in the .pdll file.
struct Complaints {
  std::string place, text;
  std::vector<std::string> notes;

  void take(mlir::Diagnostic &diag) {
    if (diag.getSeverity() == DiagnosticSeverity::Error && text.empty()) {
      text = diag.str();
      show(diag.getLocation());
    } else {
      notes.push_back(diag.str());
    }
    for (auto &note : diag.getNotes())
      // The PDL op is not what the author wrote.
      if (std::string said = note.str(); !StringRef(said).starts_with("see current operation"))
        notes.push_back(said);
  }

private:
  void show(Location loc) {
    auto at = loc->findInstanceOf<FileLineColLoc>();
    if (!at)
      return;
    std::string number = std::to_string(at.getLine()), column = std::to_string(at.getColumn());
    place = at.getFilename().str() + ":" + number + ":" + column;
    showPlace(at.getFilename(), at.getLine(), at.getColumn(), notes);
  }
};
} // namespace

std::shared_ptr<Rule> RuleCompiler::compileText(StringRef file, StringRef text) {
  if (!findTool() || !makeIncludeFolder())
    return nullptr;
  StringRef here = path::parent_path(file);
  Process process(tool, file, {StringRef(includeFolder), here.empty() ? StringRef(".") : here},
                  includeFolder);
  // After an attribute or a type that is none it goes on, or crashes.
  if (process.status > 0 || StringRef(process.errors).contains(": error: ")) {
    failAsTheToolSaid(process.errors);
    return nullptr;
  }
  if (process.status < 0) {
    std::vector<std::string> notes;
    StringRef first = StringRef(process.errors).split('\n').first;
    if (!first.empty() && !first.starts_with("PLEASE"))
      notes.push_back(first.str());
    fail("", "mlir-pdll failed on it: " + StringRef(process.why).trim(" :").str(), notes);
    return nullptr;
  }

  Complaints complaints;
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diag) {
    complaints.take(diag);
    return success();
  });
  auto failed_ = [&](StringRef otherwise) {
    fail(complaints.place, complaints.text.empty() ? otherwise : StringRef(complaints.text),
         complaints.notes);
    return nullptr;
  };
  auto pdl = parseSourceString<ModuleOp>(process.module, &context);
  if (!pdl)
    return failed_("mlir-pdll wrote no module");
  auto rule = std::make_shared<Rule>();
  rule->name = path::stem(file).str();
  rule->anchor = path::filename(here).str();
  rule->file = file.str();
  readComment(text, *rule);
  normalizeResults(*pdl);
  auto kind = classify(*pdl);
  if (failed(kind) || failed(checkModule(*pdl, natives)) ||
      failed(completeModule(*pdl, rule->name, *kind, natives)))
    return failed_("it cannot be completed");
  llvm::raw_string_ostream os(rule->bytecode);
  if (failed(writeBytecodeToFile(*pdl, os)))
    return failed_("its pattern cannot be written");
  switch (tryLowering(rule->bytecode, context.getDialectRegistry(), secondsAllowed)) {
  case Trial::Lowers:
    break;
  case Trial::Crashes:
    return failed_("its pattern crashes the matcher's compiler");
  case Trial::Untried:
    return failed_("it cannot be tried: " + std::generic_category().message(errno));
  case Trial::Fails:
    // Does no harm here, and says why.
    (void)lowerToInterp(*pdl);
    return failed_("its pattern cannot be compiled");
  }
  rule->kind = *kind;
  rule->kernels = kernelsOf(*pdl);
  for (auto pattern : pdl->getOps<pdl::PatternOp>())
    rule->patterns.push_back({pattern.getSymName()->str(), needsOf(pattern)});

  std::string entry, inputs;
  std::set<std::string> contents;
  for (const std::string &name : process.filesRead)
    if (path::parent_path(name) != includeFolder) {
      std::string digest = digestOf(textOf(name));
      encodeField(inputs, name);
      encodeField(inputs, digest);
      contents.insert(std::move(digest));
    }
  // Not of where the files are.
  contents.insert(digestOf(text));
  contents.insert(digestOf(declarations));
  rule->digest = digestOf(llvm::join(contents, ","));
  encodeField(entry, inputs);
  encodeField(entry, encodeRule(*rule));
  if (store.store)
    store.store(materialOf(file, text), entry);
  return rule;
}

/// All that a rule is made from, but the files that it includes.
std::string RuleCompiler::materialOf(StringRef file, StringRef text) const {
  std::string material;
  encodeField(material, "rule");
  encodeField(material, file);
  encodeField(material, text);
  return material;
}

std::shared_ptr<Rule> RuleCompiler::fromStore(StringRef material) const {
  auto entry = store.load ? store.load(material) : std::nullopt;
  if (!entry)
    return nullptr;
  StringRef bytes = *entry, inputs = decodeField(bytes);
  while (!inputs.empty()) {
    StringRef name = decodeField(inputs);
    if (digestOf(textOf(name)) != decodeField(inputs))
      return nullptr;
  }
  return decodeRule(decodeField(bytes));
}

std::shared_ptr<Rule> RuleCompiler::compile(StringRef file) {
  current = file.str();
  if (StringRef name = path::stem(file);
      path::filename(file) == ".pdll" || printable(name) != name) {
    fail("", "its file's name is none for a rule: it must be printable UTF-8");
    return nullptr;
  }
  std::string why;
  auto buffer = readSmallFile(file, largestRule, why);
  if (!buffer) {
    fail("", "it cannot be read: " + why);
    return nullptr;
  }
  StringRef text = buffer->getBuffer();
  if (auto rule = fromStore(materialOf(file, text)))
    return rule;
  return compileText(file, text);
}
