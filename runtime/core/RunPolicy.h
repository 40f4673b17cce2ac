//===- RunPolicy.h - Whether a team pays for a run --------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two threads lose to one when a neighbour keeps the second CPU: a thread that
// is preempted inside a chunk comes back a tick (4 ms) later. So when that was
// seen, a window of runs is made alone, the mean times (without the slowest
// run: anything may happen once) are compared, and the winner holds for a
// while, the longer the more often it won. The first runs count for nothing:
// they touch memory and start threads.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_CORE_RUNPOLICY_H
#define KILN_RUNTIME_CORE_RUNPOLICY_H

#include "kiln-c/Executor.h"

#include <algorithm>
#include <cstdint>

namespace kiln::rt {

/// What kiln_executor_history holds. All zero at first; times in nanoseconds.
class RunPolicy {
public:
  static RunPolicy &of(kiln_executor_history &history) {
    return reinterpret_cast<RunPolicy &>(history);
  }

  /// How the run under way was begun.
  enum class Turn : uint8_t { Untimed, Alone, Team } turn;

  /// True: this run goes alone. Stalls seen so far are to be forgotten when
  /// `clearStalls` is set.
  bool begin(uint64_t now, bool &clearStalls);

  /// `sawStall` is asked for (and cleared) only at the end of a team window.
  template <typename SawStall> void end(uint64_t now, SawStall sawStall) {
    uint64_t elapsed = now - runStart;
    meanRun = meanRun ? meanRun + (int64_t(elapsed) - int64_t(meanRun)) / 8 : elapsed;
    if (!measuring)
      return;
    windowSum += elapsed;
    windowMax = std::max(windowMax, elapsed);
    ++windowCount;
    if (windowSum >= kWindow && windowCount >= kWindowRuns)
      closeWindow(now, sawStall);
  }

  /// How long this run is expected to go on.
  uint64_t remaining(uint64_t now) const {
    return now - runStart < meanRun ? meanRun - (now - runStart) : 0;
  }
  uint64_t expectedRun() const { return meanRun; }

  /// A shape none of whose launches can be shared needs no team; it is asked
  /// again now and then, for control flow may take another way.
  bool neverShares() { return serialRuns >= kSerialRuns && ++serialRuns % kSerialRecheck != 0; }
  void noteLaunches(uint32_t shared) { serialRuns = shared ? 0 : serialRuns + 1; }

private:
  static constexpr uint64_t kMillisecond = 1000000;
  static constexpr uint64_t kWindow = 10 * kMillisecond;
  static constexpr uint64_t kWindowRuns = 2;
  static constexpr uint32_t kColdRuns = 2;
  /// How many windows long a verdict holds.
  static constexpr uint32_t kShortestHold = 4;
  static constexpr uint32_t kLongestHold = 64;
  static constexpr uint32_t kSerialRuns = 2;
  static constexpr uint32_t kSerialRecheck = 256;

  template <typename SawStall> void closeWindow(uint64_t now, SawStall sawStall) {
    uint64_t mean = (windowSum - windowMax) / (windowCount - 1), window = windowSum;
    windowSum = windowMax = windowCount = 0;
    if (!probingAlone) {
      meanTeam = mean;
      probingAlone = sawStall();
      return;
    }
    bool alone = mean < meanTeam;
    hold = alone == holdAlone && hold ? std::min(2 * hold, kLongestHold) : kShortestHold;
    holdAlone = alone;
    holdUntil = now + hold * window;
  }

  uint64_t runStart;
  uint64_t meanRun;
  uint64_t windowSum;
  uint64_t windowMax;
  uint64_t windowCount;
  uint64_t meanTeam;
  uint64_t holdUntil;
  uint32_t hold;
  uint32_t serialRuns;
  uint32_t runs;
  bool holdAlone;
  bool probingAlone;
  bool measuring;
};

static_assert(sizeof(RunPolicy) <= sizeof(kiln_executor_history));
static_assert(alignof(RunPolicy) <= alignof(kiln_executor_history));

inline bool RunPolicy::begin(uint64_t now, bool &clearStalls) {
  runStart = now;
  clearStalls = false;
  if (runs < kColdRuns) {
    clearStalls = ++runs == kColdRuns;
    measuring = false;
    return false;
  }
  if (now < holdUntil) {
    measuring = false;
    return holdAlone;
  }
  if (holdUntil) {
    holdUntil = 0;
    probingAlone = false;
    windowSum = windowMax = windowCount = 0;
    clearStalls = true;
  }
  measuring = true;
  return probingAlone;
}

} // namespace kiln::rt

#endif // KILN_RUNTIME_CORE_RUNPOLICY_H
