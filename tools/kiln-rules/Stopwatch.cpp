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
#include <unistd.h>

using namespace kiln;

/// A sample takes at least as long: the clock's own 25 ns and an interrupt's
/// microsecond are then noise.
static constexpr double leastSample = 200e3;
static constexpr unsigned calibrationSamples = 15;

llvm::StringRef kiln::clockMethod() {
  return "CLOCK_MONOTONIC, median and MAD of alternating samples, one thread";
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
  double drift = std::abs(before.median - after.median) / std::min(before.median, after.median);
  double spread = std::max(first.relative(), second.relative());
  auto text = [](llvm::StringRef what, double is, double limit) {
    return (what + " " + percent(is) + ", and " + percent(limit) + " are allowed").str();
  };
  if (steady > options.calibrationLimit)
    return text("a loop of known work varies by", steady, options.calibrationLimit);
  if (drift > options.calibrationLimit)
    return text("a loop of known work took longer before or after by", drift,
                options.calibrationLimit);
  if (spread > options.limit)
    return text("its times vary by", spread, options.limit);
  double apart = std::abs(first.median - second.median) / std::min(first.median, second.median);
  if (options.areSame && apart > options.sameLimit)
    return text("the same code took longer as the one or the other by", apart, options.sameLimit);
  return "";
}

PairTimes kiln::timePairs(llvm::function_ref<void()> first, llvm::function_ref<void()> second,
                          const PairOptions &options, llvm::function_ref<bool()> stop) {
  PairTimes result;
  unsigned calls[] = {callsOf(first), callsOf(second)};
  for (unsigned attempt = 0; attempt < options.tries; ++attempt) {
    if (attempt)
      ::usleep(100000u << attempt);
    Spread before = calibrate();
    std::vector<double> samples[2];
    for (unsigned pair = 0; pair < options.pairs; ++pair) {
      if (stop()) {
        result.noise = "it was stopped";
        return result;
      }
      for (unsigned side : {pair % 2, 1 - pair % 2})
        samples[side].push_back(sample(side ? second : first, calls[side]));
    }
    Spread spreads[] = {Spread(samples[0]), Spread(samples[1])};
    result = {spreads[0].timing(), spreads[1].timing(),
              judge(before, calibrate(), spreads[0], spreads[1], options)};
    if (result.noise.empty())
      break;
  }
  return result;
}
