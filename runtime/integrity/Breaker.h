//===- Breaker.h - Refusing runs after too much damage ------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_INTEGRITY_BREAKER_H
#define KILN_RUNTIME_INTEGRITY_BREAKER_H

#include "kiln-c/Integrity.h"

#include <atomic>
#include <cstdint>

namespace kiln::rt {

/// Times in nanoseconds of any monotonic clock; one that jumps can only make the
/// breaker wait, or probe, at another time. A closed breaker costs one load.
class Breaker {
public:
  void configure(uint32_t threshold, uint64_t window, uint64_t open) {
    this->threshold = threshold;
    this->window = window;
    openTime = open;
  }

  kiln_breaker_state state() const {
    return kiln_breaker_state(current.load(std::memory_order_acquire));
  }

  /// Of an open breaker whose time is over: true for the one caller that may
  /// probe, and has to say what it found.
  bool mayProbe(uint64_t now) {
    if (state() != KILN_BREAKER_OPEN || now - openedAt.load(std::memory_order_relaxed) < openTime)
      return false;
    uint32_t open = KILN_BREAKER_OPEN;
    return current.compare_exchange_strong(open, KILN_BREAKER_HALF_OPEN, std::memory_order_acq_rel);
  }
  void endProbe(uint64_t now, bool clean) {
    findings = 0;
    if (clean)
      current.store(KILN_BREAKER_CLOSED, std::memory_order_release);
    else
      open(now);
  }

  /// True: that opened it, as `fatal` damage always does. One thread at a time.
  bool noteDamage(uint64_t now, bool fatal) {
    if (now - latest > window)
      findings = 0;
    latest = now;
    if ((++findings < threshold && !fatal) || state() != KILN_BREAKER_CLOSED)
      return false;
    open(now);
    return true;
  }

  uint64_t openings() const { return opened.load(std::memory_order_relaxed); }

private:
  void open(uint64_t now) {
    openedAt.store(now, std::memory_order_relaxed);
    opened.fetch_add(1, std::memory_order_relaxed);
    current.store(KILN_BREAKER_OPEN, std::memory_order_release);
  }

  std::atomic<uint32_t> current{KILN_BREAKER_CLOSED};
  std::atomic<uint64_t> openedAt{0};
  std::atomic<uint64_t> opened{0};
  uint32_t threshold = 3;
  uint32_t findings = 0;
  uint64_t window = 0;
  uint64_t openTime = 0;
  uint64_t latest = 0;
};

} // namespace kiln::rt

#endif // KILN_RUNTIME_INTEGRITY_BREAKER_H
