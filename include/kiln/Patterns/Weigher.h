//===- Weigher.h - What a rule is worth at a match --------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Records (Records.h) decide before predictions do:
//
//   measured     on this device, in this bucket of sizes
//   transferred  from another bucket, or from the most similar device of the
//                same vendor
//   predicted    from memory traffic and launches (Candidates.h)
//
// A record whose kernels are no longer what is emitted today counts one class
// less.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_PATTERNS_WEIGHER_H
#define KILN_PATTERNS_WEIGHER_H

#include "kiln/Patterns/Records.h"
#include "kiln/Patterns/RuleLibrary.h"
#include "llvm/ADT/DenseMap.h"
#include <functional>
#include <map>

namespace kiln {

/// How a rule's worth is known, the least certain first.
enum class EvidenceClass : uint8_t { Predicted, Transferred, Measured };
/// "measured"
llvm::StringRef evidenceName(EvidenceClass basis);

struct RecordOptions {
  /// False: all is predicted.
  bool use = true;
  /// Without them, only `folders` count.
  bool builtIn = true;
  std::vector<std::string> folders;
  /// Slug of the device whose records count as measured; empty: the one that
  /// code is made for.
  std::string device;
  /// A fusion that is not this much faster does not fire, unless it is as fast
  /// and saves memory.
  double minSpeedup = 1.03;
};

/// What a record says of a match.
struct Worth {
  EvidenceClass basis = EvidenceClass::Transferred;
  /// Picoseconds of a run that the rule saves over the generic fuser.
  int64_t gain = 0;
  double speedup = 0;
  /// "measured 1.32x on amd-zen4-avx512 …"
  std::string text;
  /// Why the rule should not be applied; empty when it pays.
  std::string objection;
  std::string recordDigest;
};

class Weigher {
public:
  /// The hash of the kernels that Kiln makes today of what a measurement of a
  /// rule measured (Measurement::kernelHash); nothing when it cannot be made.
  using HashOf = std::function<std::optional<std::string>(const Rule &rule, const Measurement &)>;

  /// `codeDevice` is the device that code is made for: the only one for which
  /// `hashOf` says something. Library, rules and `diags` outlive the weigher.
  Weigher(RecordLibrary &records, const RecordOptions &options, std::string codeDevice,
          HashOf hashOf, const RuleList &rules, DiagnosticEngine &diags);

  /// Nothing when no record is about the match, which saves `savedBytes` of traffic
  /// over the generic fuser where it is. An algebra rule need not pay, for others
  /// build on what it makes; it must not cost.
  std::optional<Worth> weigh(llvm::StringRef rule, llvm::StringRef pattern, const Bucket &bucket,
                             int64_t savedBytes);
  /// Cheap; false when weigh() would find nothing whatever the bucket.
  bool knows(llvm::StringRef rule) { return !records.of(rule, diags).empty(); }

  /// Files, and their rules, of records that count less, for the kernels that they
  /// measured have changed.
  const std::map<std::string, std::string> &outdated() const { return outdatedFiles; }

private:
  bool isOutdated(const Rule &rule, const Evidence &evidence);

  RecordLibrary &records;
  double minSpeedup;
  std::string device, codeDevice;
  HashOf hashOf;
  std::map<std::string, const Rule *> rules;
  DiagnosticEngine &diags;
  llvm::DenseMap<const Measurement *, bool> compared;
  std::map<std::string, std::string> outdatedFiles;
};

} // namespace kiln

#endif // KILN_PATTERNS_WEIGHER_H
