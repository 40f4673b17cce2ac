//===- Compare.cpp - How far a result is from what was expected -----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compare.h"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace kiln::run {
namespace {

/// Numbers the floats of a type in order, so that neighbours differ by one and
/// both zeros are equal.
template <typename Bits> int64_t order(Bits bits) {
  constexpr Bits sign = Bits(1) << (sizeof(Bits) * 8 - 1);
  return bits & sign ? -int64_t(bits & Bits(~sign)) : int64_t(bits);
}

int64_t orderOf(const HostTensor &tensor, uint64_t index) {
  const uint8_t *at = tensor.bytes.data() + index * tensor.elementBytes();
  switch (tensor.type.bits) {
  case 64: {
    uint64_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return order(bits);
  }
  case 32: {
    uint32_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return order(bits);
  }
  case 16: {
    uint16_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return order(bits);
  }
  default:
    // The sign is the highest of few bits.
    return order(uint8_t(*at << (8 - tensor.type.bits)));
  }
}

/// Differences of one element; `ulp` is UINT64_MAX for NaN against a number.
struct Difference {
  double abs;
  double rel;
  uint64_t ulp;
  bool accepted;
  /// For finding the worst one.
  double badness;
};

Difference floatDifference(const HostTensor &got, const HostTensor &expected, uint64_t index,
                           double a, double b, const Tolerance &tolerance) {
  constexpr double infinity = HUGE_VAL;
  if (std::isnan(a) || std::isnan(b)) {
    bool equal = std::isnan(a) && std::isnan(b);
    return {equal ? 0 : infinity, equal ? 0 : infinity, equal ? 0 : UINT64_MAX, equal,
            equal ? 0 : infinity};
  }
  if (a == b)
    return {0, 0, 0, true, 0};
  Difference result = {};
  int64_t left = orderOf(got, index), right = orderOf(expected, index);
  result.ulp = left > right ? uint64_t(left) - uint64_t(right) : uint64_t(right) - uint64_t(left);
  result.abs = std::fabs(a - b);
  result.rel = b == 0 ? infinity : result.abs / std::fabs(b);
  bool useUlp = tolerance.maxUlp.has_value();
  bool useBounds = !useUlp || tolerance.rtol || tolerance.atol;
  result.accepted = true;
  if (useBounds) {
    double bound = tolerance.atol.value_or(Tolerance::kDefaultAtol) +
                   tolerance.rtol.value_or(Tolerance::kDefaultRtol) * std::fabs(b);
    // An infinity among them makes either side infinite or NaN: not accepted.
    result.accepted = std::isfinite(result.abs) && result.abs <= bound;
    result.badness = bound > 0 ? result.abs / bound : result.abs > 0 ? infinity : 0;
  }
  if (useUlp) {
    result.accepted &= result.ulp <= *tolerance.maxUlp;
    result.badness = std::max(result.badness, double(result.ulp) /
                                                  double(std::max<uint64_t>(*tolerance.maxUlp, 1)));
  }
  return result;
}

Difference integerDifference(const HostTensor &got, const HostTensor &expected, uint64_t index,
                             double a, double b) {
  uint64_t size = got.elementBytes();
  bool equal =
      std::memcmp(got.bytes.data() + index * size, expected.bytes.data() + index * size, size) == 0;
  // 64-bit neighbours may be equal as doubles.
  double abs = equal ? 0 : std::max(std::fabs(a - b), 1.0);
  return {abs,
          equal    ? 0
          : b == 0 ? HUGE_VAL
                   : abs / std::fabs(b),
          uint64_t(std::min(abs, 1e18)), equal, abs};
}

} // namespace

Comparison compare(const HostTensor &got, const HostTensor &expected, const Tolerance &tolerance) {
  Comparison result;
  if (!(got.type == expected.type)) {
    result.mismatch = "expected " + typeName(expected.type) + ", got " + typeName(got.type);
    return result;
  }
  if (got.shape != expected.shape) {
    result.mismatch =
        "expected shape " + shapeText(expected.shape) + ", got " + shapeText(got.shape);
    return result;
  }
  result.elements = got.numElements();
  double largest = 0, worstBadness = -1;
  for (uint64_t i = 0; i != result.elements; ++i) {
    double a = got.valueAt(i), b = expected.valueAt(i);
    Difference difference = isFloat(got.type) ? floatDifference(got, expected, i, a, b, tolerance)
                                              : integerDifference(got, expected, i, a, b);
    result.rejected += !difference.accepted;
    result.maxAbs = std::max(result.maxAbs, difference.abs);
    result.maxRel = std::max(result.maxRel, difference.rel);
    result.maxUlp = std::max(result.maxUlp, difference.ulp);
    if (std::isfinite(b))
      largest = std::max(largest, std::fabs(b));
    ++result.histogram[std::min<size_t>(size_t(std::bit_width(difference.ulp)),
                                        Comparison::kBuckets - 1)];
    if (difference.badness > worstBadness) {
      worstBadness = difference.badness;
      result.worst = i;
      result.worstGot = a;
      result.worstExpected = b;
    }
  }
  result.maxScaled = result.maxAbs == 0 ? 0 : largest > 0 ? result.maxAbs / largest : HUGE_VAL;
  uint64_t rest = result.worst;
  result.worstIndex.resize(got.shape.size());
  for (size_t axis = got.shape.size(); axis-- > 0 && result.elements;) {
    result.worstIndex[axis] = int64_t(rest % uint64_t(got.shape[axis]));
    rest /= uint64_t(got.shape[axis]);
  }
  return result;
}

std::string describe(const Comparison &comparison, const std::string &name, DLDataType type) {
  char line[256];
  std::string text = "output '" + name + "': ";
  if (!comparison.mismatch.empty())
    return text + comparison.mismatch + "\n";
  if (comparison.accepted())
    text += "equal within tolerance";
  else
    text += std::to_string(comparison.rejected) + " of " + std::to_string(comparison.elements) +
            " elements out of tolerance";
  text += "\n";
  if (comparison.elements == 0 || comparison.maxUlp == 0)
    return text + "  all " + std::to_string(comparison.elements) + " elements are the same\n";
  std::snprintf(line, sizeof line,
                "  largest difference: %.3g absolute, %.3g relative, %.3g of the largest value\n",
                comparison.maxAbs, comparison.maxRel, comparison.maxScaled);
  text += line;
  std::snprintf(line, sizeof line, "  worst at %s: got %.9g, expected %.9g\n",
                shapeText(comparison.worstIndex).c_str(), comparison.worstGot,
                comparison.worstExpected);
  text += line;
  if (!isFloat(type))
    return text;
  if (comparison.maxUlp == UINT64_MAX)
    text += "  largest difference in units of the last place: NaN against a number\n";
  else
    text +=
        "  largest difference in units of the last place: " + std::to_string(comparison.maxUlp) +
        "\n";
  uint64_t most =
      *std::max_element(comparison.histogram, comparison.histogram + Comparison::kBuckets);
  for (size_t i = 0; i != Comparison::kBuckets; ++i) {
    uint64_t count = comparison.histogram[i];
    if (!count)
      continue;
    char range[48];
    uint64_t low = i ? uint64_t(1) << (i - 1) : 0, high = i ? (uint64_t(1) << i) - 1 : 0;
    if (i == Comparison::kBuckets - 1)
      std::snprintf(range, sizeof range, "%" PRIu64 " or more", low);
    else if (low == high)
      std::snprintf(range, sizeof range, "%" PRIu64, low);
    else
      std::snprintf(range, sizeof range, "%" PRIu64 "-%" PRIu64, low, high);
    constexpr uint64_t width = 40;
    std::string bar(std::max<uint64_t>(1, count * width / most), '#');
    std::snprintf(line, sizeof line, "  %23s ulp %12" PRIu64 "  %s\n", range, count, bar.c_str());
    text += line;
  }
  return text;
}

} // namespace kiln::run
