//===- Stopwatch.h - Times of two things, side by side ----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TOOLS_KILN_RULES_STOPWATCH_H
#define KILN_TOOLS_KILN_RULES_STOPWATCH_H

#include "kiln/Patterns/Records.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace kiln {

/// What a record says of how its times were taken.
llvm::StringRef clockMethod();

struct PairOptions {
  unsigned pairs = 25;
  /// Largest MAD over median of the times. A loop of known work before and after
  /// may vary, and change, by a third of it, and so may times of equal code.
  double maxNoise = 0.06;
  /// After that many tries in all, waiting longer each time.
  unsigned tries = 4;
  /// Both are the same code.
  bool areSame = false;
};

struct PairTimes {
  Timing first, second;
  /// Why they say nothing; empty when they do.
  std::string noise;
};

/// What is timed: each call of `prepare` makes both anew.
struct Contestants {
  llvm::function_ref<bool(unsigned round)> prepare;
  llvm::function_ref<void()> first, second;
};

/// Times of one call of each, in the round in which it was fastest: where code and
/// buffers come to lie is luck, and decides up to 25 %. In a round samples
/// alternate, A B B A; each is as many calls as the clock needs and follows one
/// that is not timed. Tries again while the machine is too noisy. Returns early,
/// with noise, when `stop` says so.
PairTimes timePairs(const Contestants &contestants, const PairOptions &options,
                    llvm::function_ref<bool()> stop);

} // namespace kiln

#endif // KILN_TOOLS_KILN_RULES_STOPWATCH_H
