//===- Records.h - What rules are worth, measured ---------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// kiln-rules bench measures a rule's ops with the rule and without it, and
// writes patterns/measurements/<device>/<rule>.json: one file a device and rule,
// one entry a pattern, element type and size. The schema is
// patterns/measurements/schema.json; docs/adding/rule.md explains the members.
//
// A file carries a digest of what it says. It is no signature: it tells what
// the tool wrote from what was edited by hand or damaged.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_PATTERNS_RECORDS_H
#define KILN_PATTERNS_RECORDS_H

#include "kiln/Support/Diagnostics.h"
#include "llvm/Support/Error.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class Operation;
}

namespace kiln {

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

/// `amd-zen4-avx512`: vendor, microarchitecture, vector instructions of what code
/// is made for (CPUTarget's cpu and vector.vectorBits).
std::string deviceSlug(llvm::StringRef cpu, unsigned vectorBits);
/// Three parts of small letters, digits and _.
bool isDeviceSlug(llvm::StringRef slug);
/// Leading parts that two slugs share: 3 for the same device, 0 for strangers.
unsigned deviceLikeness(llvm::StringRef a, llvm::StringRef b);

struct DeviceFacts {
  std::string slug;
  /// What the processor calls itself.
  std::string cpu;
  unsigned cores = 0;
  /// As /proc/cpuinfo spells them.
  std::vector<std::string> isa;
  /// By name (l1d, l2, l3), in bytes; unknown ones are absent.
  std::map<std::string, int64_t> caches;
};

/// This machine; the rest of the facts come from CPUTarget.
DeviceFacts thisDevice(std::string slug, std::vector<std::string> isa);

//===----------------------------------------------------------------------===//
// Measurements
//===----------------------------------------------------------------------===//

/// What sizes are alike: powers of two, rounded down.
struct Bucket {
  /// Of the result of the match, as MLIR spells it.
  std::string dtype;
  /// log2 of floating-point (or integer) operations, and of the bytes that one
  /// kernel of the ops reads and writes.
  unsigned flops = 0, bytes = 0;

  bool operator==(const Bucket &other) const {
    return dtype == other.dtype && flops == other.flops && bytes == other.bytes;
  }
  /// Doublings between two of the same dtype: the larger of both differences.
  unsigned distance(const Bucket &other) const;
  /// "f32, 2^20 operations, 2^18 bytes"
  std::string str() const;
};

/// The bucket of ops that matched, in the order of their block. Sizes that only
/// the run knows count as RuleReport::nominalSize.
Bucket bucketOf(llvm::ArrayRef<mlir::Operation *> ops);

/// Nanoseconds of a run.
struct Timing {
  int64_t median = 0;
  /// Median absolute deviation.
  int64_t mad = 0;
};

struct Measurement {
  std::string pattern;
  /// Types of the instance's inputs, for people.
  std::string instance;
  /// With these and the pattern the instance can be made again (Instance.h).
  std::string size;
  uint64_t seed = 0;
  Bucket bucket;
  /// Of the code that was emitted for the kernels with the rule, hexadecimal.
  std::string kernelHash;
  /// Pairs of runs, one without and one with the rule.
  unsigned pairs = 0;
  Timing unfused, fused;
  /// Of memory traffic, over the generic fuser; and of the arena. Both may be
  /// negative.
  int64_t savedBytes = 0, peakBytesChange = 0;
  /// Largest difference from the reference, and what is allowed.
  double maxError = 0, errorBound = 0;

  double speedup() const {
    return static_cast<double>(unfused.median) / static_cast<double>(fused.median);
  }
  /// The difference is within the spread of both sides.
  bool isWithinNoise() const;
};

/// One file.
struct RuleRecord {
  std::string rule;
  DeviceFacts device;
  std::string clock, date, kiln, compiler;
  /// In the order of pattern, dtype, flops, bytes, size and seed.
  std::vector<Measurement> measurements;
  /// Set by reading and by writeRecord.
  std::string digest;
  /// Where it was read; built-in ones: relative to patterns/measurements.
  std::string file;
};

/// Sorts the measurements, sets the digest and returns the file's text: the same
/// for equal contents.
std::string writeRecord(RuleRecord &record);

/// What is wrong with a record's text, and where in it.
class RecordError : public llvm::ErrorInfo<RecordError> {
public:
  static char ID;

  RecordError(std::string text, size_t offset) : text(std::move(text)), at(offset) {}
  std::string message() const override { return text; }
  /// Of the faulty value, in bytes; where something is missing, of what lacks it.
  size_t offset() const { return at; }

  void log(llvm::raw_ostream &os) const override { os << text; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

private:
  std::string text;
  size_t at;
};

/// What a file's text says, or why it cannot be used: what is wrong where
/// ("measurements[2].fused_ns.median: -4 is not in 1 to …"). Does not look at the
/// digest.
/// Fails with a RecordError.
llvm::Expected<RuleRecord> parseRecord(llvm::StringRef text);
/// Where a member is in a record's text, in bytes: of its value, by a path as
/// errors name it (measurements[2].fused_ns); where it is missing, of what lacks
/// it. The text is JSON.
size_t placeInRecord(llvm::StringRef text, llvm::StringRef member);
/// The digest is that of what the record says.
bool isAsWritten(const RuleRecord &record);

//===----------------------------------------------------------------------===//
// Library
//===----------------------------------------------------------------------===//

/// A measurement that says something about a match.
struct Evidence {
  const RuleRecord *record;
  const Measurement *measurement;
  /// deviceLikeness, 3 for the same.
  unsigned likeness;
  /// Bucket::distance, 0 for the same bucket.
  unsigned distance;
};

/// Records, built in and from folders. Files are read when their rule is asked
/// for the first time. Not thread-safe.
class RecordLibrary {
public:
  /// Buckets further off say nothing.
  static constexpr unsigned maxDistance = 3;

  /// `pack` is what packRecords made, and outlives the library.
  explicit RecordLibrary(llvm::StringRef pack = {});

  /// Finds `folder`/<device>/<rule>.json; these take the place of built-in ones
  /// of the same device and rule. False, reported as a warning, when the folder
  /// cannot be read.
  bool addFolder(llvm::StringRef folder, DiagnosticEngine &diags);

  /// Of all records, in the order of the alphabet; whether they can be used is not
  /// looked at.
  std::vector<std::string> devices() const;

  /// The usable records of a rule, by device. What cannot be used is a warning,
  /// once. Valid until addFolder.
  const std::vector<RuleRecord> &of(llvm::StringRef rule, DiagnosticEngine &diags);

  /// What is known of a rule's matches in a bucket: of this device, or else of
  /// the one most like it (at least the vendor is the same), there the nearest
  /// bucket, of that the pattern's own measurement if there is one.
  std::optional<Evidence> find(llvm::StringRef rule, llvm::StringRef pattern, const Bucket &bucket,
                               llvm::StringRef device, DiagnosticEngine &diags);

private:
  struct Source {
    std::string file;
    /// Of a built-in one; otherwise the file is read.
    std::optional<llvm::StringRef> text;
  };
  std::optional<RuleRecord> read(llvm::StringRef rule, llvm::StringRef device, const Source &source,
                                 DiagnosticEngine &diags) const;

  /// By rule and device.
  std::map<std::string, std::map<std::string, Source>> sources;
  std::map<std::string, std::vector<RuleRecord>> loaded;
};

/// The bytes that a library has built in, of files below the current folder:
/// paths `<device>/<rule>.json` and their texts.
std::string packRecords(const std::map<std::string, std::string> &files);

/// The pack of patterns/measurements.
llvm::StringRef builtInRecordPack();

} // namespace kiln

#endif // KILN_PATTERNS_RECORDS_H
