//===- Compare.h - How far a result is from what was expected - -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TOOLS_KILN_RUN_COMPARE_H
#define KILN_TOOLS_KILN_RUN_COMPARE_H

#include "HostTensor.h"

#include <optional>

namespace kiln::run {

/// A float is accepted when |got - expected| <= atol + rtol * |expected|; with
/// maxUlp, when it is at most so many representable values away; with both,
/// when both hold. NaN equals NaN. Integers and bool have to be equal.
struct Tolerance {
  std::optional<double> rtol;
  std::optional<double> atol;
  std::optional<uint64_t> maxUlp;

  /// What ONNX's own tests use.
  static constexpr double kDefaultRtol = 1e-3;
  static constexpr double kDefaultAtol = 1e-7;
};

struct Comparison {
  /// Not empty: types or shapes differ, and the rest says nothing.
  std::string mismatch;
  uint64_t elements = 0;
  uint64_t rejected = 0;
  double maxAbs = 0;
  double maxRel = 0;
  /// Largest |got - expected| over largest |expected|.
  double maxScaled = 0;
  uint64_t maxUlp = 0;
  /// Of the element that is furthest over its tolerance, or furthest off.
  uint64_t worst = 0;
  std::vector<int64_t> worstIndex;
  double worstGot = 0;
  double worstExpected = 0;
  /// [0]: equal; [i]: 2^(i-1) to 2^i - 1 representable values away; the last:
  /// more, or NaN against a number.
  static constexpr size_t kBuckets = 34;
  uint64_t histogram[kBuckets] = {};

  bool accepted() const { return mismatch.empty() && rejected == 0; }
};

Comparison compare(const HostTensor &got, const HostTensor &expected, const Tolerance &tolerance);

/// Lines for a person.
std::string describe(const Comparison &comparison, const std::string &name, DLDataType type);

} // namespace kiln::run

#endif // KILN_TOOLS_KILN_RUN_COMPARE_H
