//===- Metrics.h - Counts and times of a model's runs -------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_CORE_METRICS_H
#define KILN_RUNTIME_CORE_METRICS_H

#include "Support.h"
#include "kiln-c/Metrics.h"

#include <bit>

namespace kiln::rt {

/// What one session counts; read by others.
struct RunCounts {
  Counter runs;
  Counter failures[KILN_METRICS_STATUSES];
  Counter plans;
  Counter runTime;
  Counter longest;
  Counter deviceFailures;
  /// Of a session that stands in for another one, whose device has failed.
  bool isTwin = false;
  Counter times[KILN_METRICS_TIME_BUCKETS];
  RunCounts *next = nullptr;

  void noteTime(uint64_t elapsed) {
    runTime.add(elapsed);
    longest.raiseTo(elapsed);
    uint32_t bucket = uint32_t(std::bit_width(elapsed | 1)) - 1;
    times[bucket < KILN_METRICS_TIME_BUCKETS ? bucket : KILN_METRICS_TIME_BUCKETS - 1].add(1);
  }
};

/// The sessions of a model.
class Metrics {
public:
  void add(RunCounts &counts);
  void remove(RunCounts &counts);
  void fill(kiln_metrics &metrics);

private:
  static void sum(const RunCounts &counts, kiln_metrics &into);

  PatientLock lock;
  RunCounts *first = nullptr;
  kiln_metrics gone = {};
};

class Model;

/// All figures of a model in the text format of Prometheus: what fits in `size`
/// with a closing NUL; returns the length of all.
size_t writeMetrics(Model &model, char *text, size_t size);

} // namespace kiln::rt

#endif // KILN_RUNTIME_CORE_METRICS_H
