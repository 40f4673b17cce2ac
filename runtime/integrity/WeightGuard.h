//===- WeightGuard.h - Checking weights part by part --------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each weight is cut into parts, for each of which a value is kept: a keyed tag,
// or the checksum of the weight up to the part's end, so that the checksum of one
// part needs that of the part before and no other. The table is made while all
// weights are compared with the checksums of the artefact.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_INTEGRITY_WEIGHTGUARD_H
#define KILN_RUNTIME_INTEGRITY_WEIGHTGUARD_H

#include "Crc32c.h"
#include "SipHash.h"
#include "Support.h"
#include "kiln-c/Integrity.h"
#include "kiln-c/ModuleABI.h"

namespace kiln::rt {

class WeightGuard {
public:
  /// Whole rounds of the checksum's three lanes; 3 us.
  static constexpr uint64_t kPart = uint64_t(48) << 10;

  explicit WeightGuard(const kiln_module &module) : module(module) {}

  /// KILN_CORRUPT when a weight is not what the artefact says.
  kiln_status_t create(bool keyed, ErrorText &error);

  uint64_t numParts() const { return parts; }
  /// The weight that a part belongs to.
  uint32_t weightOf(uint64_t part) const;
  /// Whether it is as it was; adds its bytes to `bytes`.
  bool isIntact(uint64_t part, uint64_t &bytes) const;
  /// Offset of a part in the weights.
  uint64_t offsetOf(uint64_t part) const;

  /// Puts fresh pages with what `reload` gives in the place of the weight's. Other
  /// threads may read it meanwhile: they see the old or the new. One at a time.
  kiln_status_t mend(uint32_t weight, kiln_reload_fn reload, void *user, ErrorText &error) const;

  /// Whether a whole weight has the checksum of the table.
  bool matchesTable(uint32_t weight) const {
    const kiln_module_weight &row = module.weight_table[weight];
    return crc32c(module.weights + row.offset, row.size) == row.crc32c;
  }

  /// Of the pass in create().
  double bytesPerNanosecond() const { return speed; }

private:
  const kiln_module_weight &rangeOf(uint64_t part, uint64_t &begin, uint64_t &size) const;

  const kiln_module &module;
  Crc32c crc32c;
  SipTag tag;
  SipKey key;
  bool keyed = false;
  uint64_t parts = 0;
  double speed = 1;
  /// Of each weight the first part, and one more.
  Array<uint64_t> firstPart;
  Array<uint64_t> expected;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_INTEGRITY_WEIGHTGUARD_H
