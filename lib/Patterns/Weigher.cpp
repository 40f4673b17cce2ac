//===- Weigher.cpp - What a rule is worth at a match ----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Patterns/Weigher.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace kiln;
using llvm::StringRef;

/// No difference between two runs is taken for more than this: 1000 seconds.
static constexpr double mostPicoseconds = 1e15;

static constexpr unsigned sameDevice = 3; // deviceLikeness

StringRef kiln::evidenceName(EvidenceClass basis) {
  switch (basis) {
  case EvidenceClass::Predicted:
    return "predicted";
  case EvidenceClass::Transferred:
    return "transferred";
  case EvidenceClass::Measured:
    return "measured";
  }
  llvm_unreachable("unknown class");
}

Weigher::Weigher(RecordLibrary &records, const RecordOptions &options, std::string codeDevice,
                 HashOf hashOf, const RuleList &ruleList, DiagnosticEngine &diags)
    : records(records), minSpeedup(options.minSpeedup),
      device(options.device.empty() ? codeDevice : options.device),
      codeDevice(std::move(codeDevice)), hashOf(std::move(hashOf)), diags(diags) {
  for (const auto &rule : ruleList)
    rules[rule->name] = rule.get();
}

bool Weigher::isOutdated(const Rule &rule, const Evidence &evidence) {
  // Code for another device is another code.
  if (!hashOf || evidence.record->device.slug != codeDevice)
    return false;
  auto [known, fresh] = compared.try_emplace(evidence.measurement, false);
  if (!fresh)
    return known->second;
  auto hash = hashOf(rule, *evidence.measurement);
  bool outdated = hash != evidence.measurement->kernelHash;
  if (outdated)
    outdatedFiles[evidence.record->file] = rule.name;
  // hashOf may have come back here.
  return compared[evidence.measurement] = outdated;
}

/// What the difference of the medians is for the match: work grows as the bytes.
static int64_t gainOf(const Measurement &measurement, const Bucket &bucket) {
  double saved = static_cast<double>(measurement.unfused.median - measurement.fused.median);
  int doublings = static_cast<int>(bucket.bytes) - static_cast<int>(measurement.bucket.bytes);
  double picoseconds = std::ldexp(saved * 1000, doublings);
  return static_cast<int64_t>(std::clamp(picoseconds, -mostPicoseconds, mostPicoseconds));
}

static std::string describe(const Evidence &evidence, const Worth &worth, bool outdated) {
  const Measurement &m = *evidence.measurement;
  auto micros = [](const Timing &t) { return static_cast<double>(t.median) * 1e-3; };
  auto spread = [](const Timing &t) {
    return static_cast<double>(t.mad) / static_cast<double>(t.median) * 100;
  };
  std::string text = llvm::formatv(
      "{0} {1:F2}x {2} {3}: {4:F2} us instead of {5:F2} us ({6} pairs, MAD {7:F1} "
      "%), {8}, record {9}",
      evidenceName(worth.basis), worth.speedup,
      worth.basis == EvidenceClass::Measured ? "on" : "from", evidence.record->device.slug,
      micros(m.fused), micros(m.unfused), m.pairs, std::max(spread(m.unfused), spread(m.fused)),
      m.bucket.str(), StringRef(worth.recordDigest).split(':').second.take_front(12));
  return outdated ? text + ", whose kernels have changed since" : text;
}

std::optional<Worth> Weigher::weigh(StringRef ruleName, StringRef pattern, const Bucket &bucket,
                                    int64_t savedBytes) {
  auto rule = rules.find(ruleName.str());
  // Variants of a pattern are NAME#0, NAME#1 …: one measurement is for all.
  auto evidence = records.find(ruleName, pattern.split('#').first, bucket, device, diags);
  if (!evidence || rule == rules.end())
    return std::nullopt;
  const Measurement &m = *evidence->measurement;
  Worth worth;
  bool measured = evidence->likeness == sameDevice && evidence->distance == 0;
  bool outdated = isOutdated(*rule->second, *evidence);
  if (outdated && !measured)
    return std::nullopt;
  worth.basis = measured && !outdated ? EvidenceClass::Measured : EvidenceClass::Transferred;
  worth.speedup = m.speedup();
  worth.gain = gainOf(m, bucket);
  worth.recordDigest = evidence->record->digest;
  worth.text = describe(*evidence, worth, outdated);
  std::string found = llvm::formatv("{0} {1:F2}x", evidenceName(worth.basis), worth.speedup);
  if (rule->second->kind == RuleKind::Algebra) {
    // What others build on is given up only for what is certain.
    if (worth.basis == EvidenceClass::Measured && worth.speedup * minSpeedup < 1 &&
        !m.isWithinNoise())
      worth.objection = found + ": it costs time, and an algebra rule must not";
    return worth;
  }
  // What surrounds a match can make it save more than what was measured alone.
  bool saves = m.savedBytes > 0 || m.peakBytesChange < 0 || savedBytes > 0;
  if (worth.speedup >= minSpeedup) {
    // Below 1 the threshold may let through what costs time.
    if (worth.gain < 0)
      worth.objection = found + ": it costs time";
    return worth;
  }
  if (m.isWithinNoise() && saves) {
    // As fast: then memory decides, after time.
    worth.gain = std::max<int64_t>(worth.gain, 0);
    worth.text += ", as fast, and it saves memory";
    return worth;
  }
  worth.objection = llvm::formatv("{0}, and less than {1:F2}x does not pay{2}", found, minSpeedup,
                                  m.isWithinNoise() ? " where no memory is saved" : "");
  return worth;
}
