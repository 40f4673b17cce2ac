//===- Stopwatch.cpp - Times of two things, side by side ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Stopwatch.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>
#include <ctime>
#include <optional>
#include <unistd.h>

using namespace kiln;

/// A sample takes at least as long: the clock's own 25 ns and an interrupt's
/// microsecond are then noise.
static constexpr double leastSample = 200e3;
static constexpr unsigned calibrationSamples = 15;

llvm::StringRef kiln::clockMethod() {
  return "CLOCK_MONOTONIC, median and MAD of alternating samples in the best of some rounds, one "
         "thread";
}

static double now() {
  timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

static double medianOf(std::vector<double> values) {
  auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

namespace {
struct Spread {
  explicit Spread(const std::vector<double> &samples) : median(medianOf(samples)) {
    std::vector<double> deviations;
    for (double sample : samples)
      deviations.push_back(std::abs(sample - median));
    mad = medianOf(deviations);
  }
  double relative() const { return mad / median; }
  /// At least a nanosecond: what the clock can tell.
  Timing timing() const { return {std::max<int64_t>(1, std::llround(median)), std::llround(mad)}; }
  double median, mad;
};
} // namespace

/// A millisecond of work that depends on nothing but the processor's clock.
static Spread calibrate() {
  std::vector<double> samples;
  for (unsigned i = 0; i < calibrationSamples; ++i) {
    double start = now();
    volatile double sink = 1;
    for (unsigned step = 0; step < 200000; ++step)
      sink = sink * 1.0000001;
    samples.push_back(now() - start);
  }
  return Spread(samples);
}

/// Calls that make a sample long enough.
static unsigned callsOf(llvm::function_ref<void()> work) {
  double least = HUGE_VAL;
  for (unsigned i = 0; i < 3; ++i) {
    double start = now();
    work();
    least = std::min(least, now() - start);
  }
  return static_cast<unsigned>(std::clamp(std::ceil(leastSample / std::max(least, 1.0)), 1.0, 1e5));
}

static double sample(llvm::function_ref<void()> work, unsigned calls) {
  work();
  double start = now();
  for (unsigned i = 0; i < calls; ++i)
    work();
  return (now() - start) / calls;
}

static std::string percent(double share) { return llvm::formatv("{0:F1} %", share * 100); }

static std::string judge(const Spread &before, const Spread &after, const Spread &first,
                         const Spread &second, const PairOptions &options) {
  double steady = std::max(before.relative(), after.relative());
  auto apart = [](const Spread &a, const Spread &b) {
    return std::abs(a.median - b.median) / std::min(a.median, b.median);
  };
  std::string fault;
  auto check = [&](llvm::StringRef what, double is, double limit) {
    if (fault.empty() && is > limit)
      fault = (what + " " + percent(is) + ", and " + percent(limit) + " are allowed").str();
  };
  double third = options.maxNoise / 3;
  check("a loop of known work varies by", steady, third);
  check("a loop of known work, before and after, changed by", apart(before, after), third);
  check("its times vary by", std::max(first.relative(), second.relative()), options.maxNoise);
  if (options.areSame)
    check("times of equal code differ by", apart(first, second), third);
  return fault;
}

/// One round: spreads of both, unless it was stopped or could not be prepared.
static bool timeRound(const Contestants &c, unsigned round, unsigned pairs, unsigned (&calls)[2],
                      std::optional<Spread> (&best)[2], llvm::function_ref<bool()> stop) {
  if (!c.prepare(round))
    return false;
  if (round == 0) {
    calls[0] = callsOf(c.first);
    calls[1] = callsOf(c.second);
  }
  std::vector<double> samples[2];
  for (unsigned pair = 0; pair < pairs; ++pair) {
    if (stop())
      return false;
    for (unsigned side : {pair % 2, 1 - pair % 2})
      samples[side].push_back(sample(side ? c.second : c.first, calls[side]));
  }
  for (unsigned side : {0, 1})
    if (Spread spread(samples[side]); !best[side] || spread.median < best[side]->median)
      best[side] = spread;
  return true;
}

PairTimes kiln::timePairs(const Contestants &contestants, const PairOptions &options,
                          llvm::function_ref<bool()> stop) {
  PairTimes result;
  unsigned rounds = std::clamp(options.pairs / 5, 1u, 5u), calls[2] = {};
  for (unsigned attempt = 0; attempt < options.tries; ++attempt) {
    if (attempt)
      ::usleep(100000u << attempt);
    Spread before = calibrate();
    std::optional<Spread> best[2];
    for (unsigned round = 0; round < rounds; ++round) {
      // All pairs, evenly.
      unsigned pairs = options.pairs * (round + 1) / rounds - options.pairs * round / rounds;
      if (!timeRound(contestants, round, pairs, calls, best, stop)) {
        result.noise = "it was stopped";
        return result;
      }
    }
    result = {best[0]->timing(), best[1]->timing(),
              judge(before, calibrate(), *best[0], *best[1], options)};
    if (result.noise.empty())
      break;
  }
  return result;
}
