//===- Integrity.h - What watches over a model in use -------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_INTEGRITY_INTEGRITY_H
#define KILN_RUNTIME_INTEGRITY_INTEGRITY_H

#include "Breaker.h"
#include "Watcher.h"
#include "WeightGuard.h"
#include "kiln-c/Event.h"

#include <algorithm>

namespace kiln::rt {

/// Which runs of a session are timed for the rolling check: all long ones, and so
/// many of short ones that reading the clock does not matter.
class Pace {
public:
  /// 0: this run is not timed.
  uint64_t start() { return untimed && untimed-- ? 0 : nanoseconds(); }
  /// What that run, and those before that were not timed, took together.
  uint64_t end(uint64_t start) {
    uint64_t elapsed = nanoseconds() - start, sum = elapsed * runs;
    runs = uint32_t(std::clamp<uint64_t>(kWorthTiming / (elapsed + 1), 1, kMostRuns));
    untimed = runs - 1;
    return sum;
  }

private:
  /// Nanoseconds; some two hundred times what the clock and the check's counts cost.
  static constexpr uint64_t kWorthTiming = 20000;
  static constexpr uint32_t kMostRuns = 1024;
  uint32_t runs = 1, untimed = 0;
};

/// One for a model, used by all of its sessions at once.
class Integrity {
public:
  explicit Integrity(const kiln_module &module) : module(module), weights(module) {}

  /// Compares all weights. Events go to `onEvent`, which may be null.
  kiln_status_t create(const kiln_integrity_options &options, kiln_event_fn onEvent, void *user,
                       ErrorText &error);

  /// Before a run: KILN_CIRCUIT_OPEN, or KILN_OK.
  kiln_status_t admit(ErrorText &error) {
    return breaker.state() == KILN_BREAKER_CLOSED ? KILN_OK : probe(error);
  }
  bool isRolling() const { return rate == KILN_CHECK_ROLLING; }

  /// Weights mended so far; to be asked before a run.
  uint64_t mends() const { return reloaded.load(std::memory_order_acquire); }
  /// After a run. `elapsed`: nanoseconds of runs that are to pay for the rolling check;
  /// 0: none. `mended`: it may have used damaged
  /// weights, which are whole again, and has to be made again.
  kiln_status_t afterRun(uint64_t mendsBefore, uint64_t elapsed, bool &mended, ErrorText &error);

  /// Checks the next parts, at least so many bytes; 0: all.
  kiln_status_t check(uint64_t bytes, ErrorText &error);

  bool guards(uint32_t output) const { return guarded[output]; }
  /// KILN_NOT_FINITE when a guarded output `index` is guarded and holds such a value.
  kiln_status_t checkOutput(uint32_t index, const void *data, uint64_t bytes, ErrorText &error);

  void noteRecomputed() { recomputed.fetch_add(1, std::memory_order_relaxed); }
  void fillStats(kiln_integrity_stats &stats) const;

private:
  kiln_status_t startWatcher(uint32_t roundMs, ErrorText &error);
  static void checkInBackground(void *self);
  kiln_status_t chooseOutputs(const kiln_integrity_options &options, ErrorText &error);
  kiln_status_t probe(ErrorText &error);
  kiln_status_t checkAfterRun(uint64_t elapsed, bool &mended, ErrorText &error);
  kiln_status_t checkParts(uint64_t first, uint64_t count, bool &mended, ErrorText &error);
  kiln_status_t mend(uint64_t part, bool &mended, ErrorText &error);
  void notify(kiln_event_kind kind, kiln_status_t status, const char *name, const char *text,
              uint64_t value);
  void notifyBreaker(const char *text);

  /// So much of a run's time goes into rolling checks: what they push out of the caches
  /// costs the run as much again.
  static constexpr double kShare = 1.0 / 256;

  const kiln_module &module;
  WeightGuard weights;
  Breaker breaker;
  uint32_t rate = KILN_CHECK_NEVER;
  kiln_reload_fn reload = nullptr;
  void *reloadUser = nullptr;
  kiln_event_fn onEvent = nullptr;
  void *onEventUser = nullptr;
  /// Of each output.
  Array<bool> guarded;

  /// The next part of the rolling check, and bytes that runs have paid for.
  std::atomic<uint64_t> cursor{0};
  std::atomic<uint64_t> credit{0};
  /// One thread mends at a time, and notes damage.
  PatientLock mending;
  std::atomic<uint64_t> checkedBytes{0};
  std::atomic<uint64_t> damaged{0};
  std::atomic<uint64_t> reloaded{0};
  std::atomic<uint64_t> recomputed{0};
  std::atomic<uint64_t> refused{0};
  std::atomic<uint64_t> notFinite{0};
  uint64_t partsAtOnce = 0;
  /// Last, so that it ends before what it uses.
  Watcher watcher;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_INTEGRITY_INTEGRITY_H
