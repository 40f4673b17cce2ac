//===- SipHash.h - A keyed hash ------------------------------ -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_INTEGRITY_SIPHASH_H
#define KILN_RUNTIME_INTEGRITY_SIPHASH_H

#include <cstdint>

namespace kiln::rt {

struct SipKey {
  uint64_t k0 = 0;
  uint64_t k1 = 0;

  /// From the system's random numbers.
  static SipKey random();
};

/// SipHash-c-d of Aumasson and Bernstein.
uint64_t sipHash24(const SipKey &key, const void *data, uint64_t size);
uint64_t sipHash13(const SipKey &key, const void *data, uint64_t size);

/// A tag of much data: eight SipHash-1-3 side by side, lane i over the words with
/// number i modulo 8, and one over their results, the rest and `tweak`, which
/// tells equal data in different places apart. The same on every CPU.
class SipTag {
public:
  enum class Way { Baseline, Avx2, Avx512 };

  /// Asks the CPU what it has: the best way that is there, up to `most`.
  explicit SipTag(Way most = Way::Avx512);
  Way used() const { return way; }
  uint64_t operator()(const SipKey &key, const void *data, uint64_t size, uint64_t tweak) const;

private:
  void (*hashLanes)(const SipKey &key, const uint8_t *data, uint64_t groups, uint64_t *lanes);
  Way way;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_INTEGRITY_SIPHASH_H
