//===- RuleLibrary.cpp - Rules, built in and from folders -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Patterns/RuleLibrary.h"
#include "RuleFile.h"
#include "kiln/Patterns/Names.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace mlir;
using namespace kiln;

RuleLibrary::RuleLibrary(StringRef pack) {
  registerNatives(table);
  shared = decodeField(pack).str();
  while (!pack.empty())
    if (auto rule = decodeRule(decodeField(pack))) {
      rule->builtIn = true;
      builtInRules.push_back(std::move(rule));
    }
}

llvm::ErrorOr<std::vector<std::string>> kiln::findRuleFiles(StringRef folder) {
  namespace fs = llvm::sys::fs;
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error, /*follow_symlinks=*/false), end;
  for (; it != end && !error; it.increment(error))
    // A name that begins with _ is of a file that rules include.
    if (StringRef name = llvm::sys::path::filename(it->path());
        name.ends_with(".pdll") && !name.starts_with("_") && !fs::is_directory(it->path()))
      files.push_back(it->path());
  if (error)
    return error;
  llvm::sort(files);
  return files;
}

using RulesByName = std::map<std::string, std::shared_ptr<const Rule>>;

static void addFile(StringRef file, RuleCompiler &compiler, kiln::DiagnosticEngine &diags,
                    RulesByName &rules) {
  auto rule = compiler.compile(file);
  if (!rule)
    return;
  auto [place, fresh] = rules.try_emplace(rule->name, rule);
  if (fresh)
    return;
  const Rule &other = *place->second;
  if (!other.builtIn && llvm::sys::fs::equivalent(file, other.file))
    return; // found by two ways
  diags
      .report(Diag::DuplicateRule, rule->name,
              other.builtIn ? "a built-in rule" : "'" + other.file + "'")
      .inFile(file);
}

static bool addFolder(StringRef folder, RuleCompiler &compiler, kiln::DiagnosticEngine &diags,
                      RulesByName &rules) {
  auto files = findRuleFiles(folder);
  if (!files) {
    diags.report(Diag::RuleFolderUnreadable, folder, files.getError().message());
    return false;
  }
  if (files->empty())
    diags.report(Diag::NoRules, folder);
  for (const std::string &file : *files)
    if (!compiler.lacksTool())
      addFile(file, compiler, diags, rules);
  return true;
}

static bool checkNames(ArrayRef<std::string> asked, StringRef option, const RulesByName &rules,
                       kiln::DiagnosticEngine &diags) {
  SmallVector<StringRef> known;
  for (const auto &[name, rule] : rules)
    known.push_back(name);
  bool good = true;
  for (const std::string &name : asked) {
    if (rules.count(name))
      continue;
    diags.report(Diag::UnknownRule, option, name, didYouMean(name, known));
    good = false;
  }
  return good;
}

void kiln::compileRules(ArrayRef<char *> files, MLIRContext &context, const NativeTable &natives,
                        StringRef declarations, kiln::DiagnosticEngine &diags, RuleList &rules) {
  RulesByName byName;
  RuleStore none;
  RuleCompiler compiler(context, natives, declarations, none, diags);
  for (StringRef file : files)
    addFile(file, compiler, diags, byName);
  for (auto &[name, rule] : byName)
    rules.push_back(rule);
}

bool RuleLibrary::select(const RuleOptions &options, MLIRContext &context, const RuleStore &store,
                         kiln::DiagnosticEngine &diags, RuleList &rules) const {
  RulesByName all;
  for (const auto &rule : builtInRules)
    all.emplace(rule->name, rule);
  RuleCompiler compiler(context, table, shared, store, diags);
  for (const std::string &folder : options.folders)
    if (!compiler.lacksTool() && !addFolder(folder, compiler, diags, all))
      return false;
  // Without the tool the names of its rules are not known.
  if (!compiler.lacksTool() && (!checkNames(options.only, "--only-rule", all, diags) ||
                                !checkNames(options.disabled, "--disable-rule", all, diags)))
    return false;
  for (const auto &[name, rule] : all) {
    bool wanted = options.only.empty() || llvm::is_contained(options.only, name);
    if (wanted && !options.disableAll && !llvm::is_contained(options.disabled, name))
      rules.push_back(rule);
  }
  return true;
}
