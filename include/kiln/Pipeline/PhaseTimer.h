//===- PhaseTimer.h - Where the time of a compilation goes ------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_PIPELINE_PHASETIMER_H
#define KILN_PIPELINE_PHASETIMER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <chrono>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace kiln {

/// Wall time of phases and of what they consist of. One thread.
class PhaseTimer {
public:
  struct Entry {
    std::string name;
    unsigned depth = 0;
    double milliseconds = 0;
  };

  /// Measures until it is destroyed; inside another one it is a part of that.
  class Scope {
  public:
    Scope(PhaseTimer &timer, llvm::StringRef name) : timer(timer) { timer.begin(name); }
    ~Scope() { timer.end(); }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    PhaseTimer &timer;
  };

  void begin(llvm::StringRef name);
  void end();
  /// Says more about the innermost open entry: "kernels (3, 2 cached)".
  void annotate(llvm::StringRef text);

  /// A part of the innermost open entry that somebody else has measured.
  void add(llvm::StringRef name, double milliseconds);

  /// In the order in which they began.
  llvm::ArrayRef<Entry> entries() const { return list; }
  /// A table; shares are of the time since this object was made.
  void print(llvm::raw_ostream &os) const;

private:
  using Clock = std::chrono::steady_clock;
  struct Open {
    size_t entry;
    Clock::time_point began;
  };
  Clock::time_point made = Clock::now();
  std::vector<Entry> list;
  std::vector<Open> open;
};

} // namespace kiln

#endif // KILN_PIPELINE_PHASETIMER_H
