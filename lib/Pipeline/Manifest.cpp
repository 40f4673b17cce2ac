//===- Manifest.cpp - What an artefact was made of ------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Phases.h"
#include "kiln-c/ModuleABI.h"
#include "kiln-c/Version.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <set>

using namespace mlir;
using namespace kiln;

static std::string sortedNames(std::vector<std::string> names) {
  llvm::sort(names);
  return llvm::join(names, ",");
}

/// "N" or "LO..HI", as --dim takes it.
static std::string rangeText(const DimRange &range) {
  std::string low = std::to_string(range.lower);
  return range.lower == range.upper ? low : low + ".." + std::to_string(range.upper);
}

/// Options that are not at their default and change what is made. Folders of
/// rules are not among them: the rules that were used are, by digest.
static std::map<std::string, std::string> optionsThatMatter(const CompileOptions &options) {
  std::map<std::string, std::string> texts;
  texts["O"] = std::to_string(options.optLevel);
  if (!options.minimalFiltering)
    texts["minimal-filtering"] = "false";
  if (!options.batchDim.empty())
    texts["batch-dim"] = options.batchDim;
  for (const auto &[name, range] : options.import.dims)
    texts["dim " + name] = rangeText(range);
  if (options.cuda.isWanted)
    texts["cuda-arch"] = llvm::join(options.cuda.architectures, ",");
  if (!options.cuda.simulated.empty())
    texts["cuda-sim"] = options.cuda.simulated;
  const RuleOptions &rules = options.rules;
  if (rules.disableAll)
    texts["disable-all-rules"] = "true";
  if (!rules.only.empty())
    texts["only-rule"] = sortedNames(rules.only);
  if (!rules.disabled.empty())
    texts["disable-rule"] = sortedNames(rules.disabled);
  const RecordOptions &records = options.records, byDefault;
  if (!records.use)
    texts["no-records"] = "true";
  if (!records.device.empty())
    texts["record-device"] = records.device;
  if (records.use && records.minSpeedup != byDefault.minSpeedup)
    texts["min-speedup"] = llvm::formatv("{0}", records.minSpeedup).str();
  return texts;
}

static Manifest::Decision decisionOf(const RuleMatch &match) {
  Manifest::Decision decision;
  decision.rule = match.rule;
  decision.pattern = match.pattern;
  decision.site = match.nodes.empty() ? match.ops : match.nodes;
  decision.verdict = verdictName(match.verdict).str();
  if (RuleReport::hasEvidence(match))
    decision.evidence = evidenceName(match.basis).str();
  decision.records = match.records;
  decision.reason = match.reason;
  return decision;
}

Manifest Compilation::makeManifest() {
  Manifest manifest;
  manifest.kiln = KILN_VERSION;
  manifest.compiler = "LLVM " LLVM_VERSION_STRING;
  manifest.abiMajor = KILN_ABI_MAJOR;
  manifest.abiMinor = KILN_ABI_MINOR;
  manifest.moduleMajor = KILN_MODULE_ABI_MAJOR;
  manifest.moduleMinor = KILN_MODULE_ABI_MINOR;
  manifest.modelFile = llvm::sys::path::filename(path).str();
  // A graph that was handed over has no file.
  if (model)
    manifest.modelDigest = "blake3:" + llvm::toHex(llvm::BLAKE3::hash<32>(model->bytes),
                                                   /*LowerCase=*/true);
  manifest.digest = llvm::toHex(ArrayRef(info.digest), /*LowerCase=*/true);
  manifest.target = options.cuda.isWanted ? "cpu,cuda" : "cpu";
  manifest.cpu = compiler.target().cpu;
  manifest.features = info.features;
  manifest.options = optionsThatMatter(options);
  for (auto [i, weight] : llvm::enumerate(layout.weights))
    manifest.weights.push_back({segments[i].name, weight.bytes, weight.crc32c});
  std::set<StringRef> used;
  for (const RuleMatch &match : report.matches) {
    manifest.decisions.push_back(decisionOf(match));
    if (match.verdict == Verdict::Fired || match.verdict == Verdict::Rewrote)
      used.insert(match.rule);
  }
  for (const auto &rule : report.rules)
    if (used.count(rule->name))
      manifest.rules.push_back({rule->name, "blake3:" + rule->digest, rule->builtIn});
  return manifest;
}
