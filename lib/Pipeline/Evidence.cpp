//===- Evidence.cpp - The records that decide about rules -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Phases.h"
#include "kiln/Patterns/Instance.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace kiln;

void Compilation::prepareEvidence() {
  if (!options.records.use || report.rules.empty())
    return;
  records = RecordLibrary(options.records.builtIn ? builtInRecordPack() : StringRef());
  for (const std::string &folder : options.records.folders)
    // What cannot be read has been reported; the rest decides.
    (void)records.addFolder(folder, diags);
  const std::string &asked = options.records.device;
  std::vector<std::string> known = records.devices();
  auto isStranger = [&](StringRef slug) { return deviceLikeness(asked, slug) == 0; };
  if (!asked.empty() && llvm::all_of(known, isStranger))
    diags.report(Diag::UnknownDevice, asked,
                 known.empty() ? "" : "; there are records of " + llvm::join(known, ", "));
  const CPUTarget &target = compiler.target();
  weigher.emplace(
      records, options.records, deviceSlug(target.cpu, target.vector.vectorBits),
      [this](const Rule &rule, const Measurement &measurement) {
        return emittedHash(rule, measurement);
      },
      report.rules, diags);
  report.weigher = &*weigher;
}

/// Made as kiln-rules bench makes it: of the graph that was measured, with this
/// rule alone.
std::optional<std::string> Compilation::emittedHash(const Rule &rule,
                                                    const Measurement &measurement) {
  const CPUTarget &target = compiler.target();
  std::string material = llvm::join_items(
      '\n', "kernel-hash", rule.digest, rule.name, measurement.pattern, measurement.bucket.dtype,
      measurement.size, std::to_string(measurement.seed), target.cpu, target.features,
      options.minimalFiltering ? "minimal-filtering" : "");
  RuleStore store = ruleStore();
  if (store.load)
    if (auto known = store.load(material))
      return *known;
  auto size = sizeNamed(measurement.size);
  if (!size)
    return std::nullopt;
  CompileOptions inner;
  inner.cpu = options.cpu;
  inner.minimalFiltering = options.minimalFiltering;
  inner.cacheFolder = options.cacheFolder;
  inner.rules.only = {rule.name};
  if (!rule.builtIn)
    inner.rules.folders = {llvm::sys::path::parent_path(rule.file).str()};
  inner.records.use = false;
  kiln::DiagnosticEngine silent;
  Compilation compilation(context, tables, compiler, "graph", inner, silent);
  std::optional<GraphSummary> summary;
  if (compilation.startFrom(makeInstance(rule, measurement.pattern,
                                         {*size, measurement.bucket.dtype, measurement.seed},
                                         context)) &&
      compilation.run(Phase::Plan, Phase::Plan))
    summary = compilation.summarize();
  if (!summary)
    return std::nullopt;
  if (store.store)
    store.store(material, summary->kernelHash);
  return summary->kernelHash;
}

void Compilation::finishEvidence() {
  report.weigher = nullptr;
  // Of built-in records --explain says it: whoever compiles cannot mend them.
  if (weigher && !options.records.folders.empty())
    for (const auto &[file, rule] : weigher->outdated())
      diags.report(Diag::RecordsOutdated, rule).inFile(file);
}
