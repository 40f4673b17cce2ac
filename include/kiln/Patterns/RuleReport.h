//===- RuleReport.h - What rules did, and why -------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_PATTERNS_RULEREPORT_H
#define KILN_PATTERNS_RULEREPORT_H

#include "kiln/Patterns/Weigher.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace llvm::json {
class OStream;
} // namespace llvm::json

namespace kiln {

enum class Verdict : uint8_t {
  Fired,   ///< became a kernel
  Rewrote, ///< algebra: the ops were replaced
  Lost,    ///< another choice was better
  Refused  ///< not legal, or no kernel takes it
};

/// "fired"
llvm::StringRef verdictName(Verdict verdict);

/// One place where a rule matched.
struct RuleMatch {
  std::string rule, pattern;
  /// ONNX nodes of the matched ops, in the order of the graph.
  std::vector<std::string> nodes;
  std::vector<std::string> ops;
  Verdict verdict = Verdict::Refused;
  /// Why it lost or was refused.
  std::string reason;
  /// How it is known what the rule is worth here.
  EvidenceClass basis = EvidenceClass::Predicted;
  /// What a record says; empty when there is none about this.
  std::string recordText;
  double speedup = 0;
  /// Digests of records that decided.
  std::vector<std::string> records;

  //===-- Fusion ----------------------------------------------------------===//
  std::string kernel;
  /// Bytes that need not be written and read, against one kernel an op, and
  /// against what the generic fuser would have made of the same ops. Unknown
  /// sizes count as RuleReport::nominalSize, those of batches as 1.
  int64_t savedBytes = 0, savedOverGeneric = 0;
  /// Picoseconds of a run saved over the generic fuser: what matches are compared
  /// by, measured or predicted.
  int64_t gain = 0;
  /// Matches that a fired one overlaps, and was chosen before.
  std::vector<std::string> beat;
};

/// What matching took, as a count that is the same on every machine.
struct MatcherWork {
  /// Patterns that were made ready, each time that they were.
  uint64_t patterns = 0;
  /// Constraints that were asked.
  uint64_t calls = 0;

  void operator+=(const MatcherWork &other) {
    patterns += other.patterns;
    calls += other.calls;
  }
};

/// Milliseconds of processor time: patterns made ready, matched (and rewritten, by
/// algebra rules), matches weighed and chosen.
struct RuleTimes {
  double prepare = 0, match = 0, choose = 0;
};

/// What a prediction takes a run for, so that it compares with what was measured.
struct PredictionRates {
  // Measured on one core of an AMD EPYC (Zen 4): ReLU of 64 MiB moves 128 MiB in 10
  // to 14 ms; a hundred more Softmaxes of four elements take 3.1 us more.
  double picosecondsPerByte = 100, picosecondsPerKernel = 30000;
  /// The device that a plan is made for, where it is not the CPU: "NVIDIA L4".
  std::string device;
};

struct RuleReport {
  static constexpr int64_t nominalSize = 64;
  /// False where no evidence was asked for.
  static bool hasEvidence(const RuleMatch &match) {
    return match.verdict == Verdict::Fired || match.verdict == Verdict::Lost ||
           match.basis != EvidenceClass::Predicted;
  }

  RuleList rules;
  /// Not owned. Null: all is predicted.
  Weigher *weigher = nullptr;
  std::vector<RuleMatch> matches;
  /// Rules that misbehaved: name, and what they did.
  std::vector<std::pair<std::string, std::string>> switchedOff;
  MatcherWork work;
  RuleTimes times;
  PredictionRates rates;
  /// Of the same graph's plan for a device, where there is one.
  std::shared_ptr<RuleReport> device;

  void printText(llvm::raw_ostream &os) const;
  /// One document; docs/rules.md describes it. `writeMore` adds members of its own.
  void printJSON(llvm::raw_ostream &os,
                 llvm::function_ref<void(llvm::json::OStream &)> writeMore = nullptr) const;
};

} // namespace kiln

#endif // KILN_PATTERNS_RULEREPORT_H
