//===- Load.h - Sending requests, and what became of them ---- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_BENCHMARKS_BATCHER_LOAD_H
#define KILN_BENCHMARKS_BATCHER_LOAD_H

#include "FrontEnds.h"

namespace bench {

/// Times in microseconds, from when a request was due.
struct Outcome {
  double seconds = 0, offered = 0, goodput = 0; ///< goodput: requests a second
  uint64_t sent = 0, refused = 0, failed = 0;
  double p50 = 0, p99 = 0, p999 = 0;
};

struct OpenLoad {
  double rate; ///< requests a second
  double seconds;
  bool bursts = false; ///< of 16 at once, at the same mean rate
  std::vector<int64_t> lengths = {1};
  uint64_t seed = 1;
};

/// Requests at times that do not depend on the answers.
Outcome runOpen(FrontEnd &frontEnd, const Model &model, const OpenLoad &load);

/// `clients` requests under way at any time, each sent again when it is done.
Outcome runClosed(FrontEnd &frontEnd, const Model &model, uint32_t clients, double seconds,
                  const std::vector<int64_t> &lengths);

double percentile(std::vector<float> &values, double p);

} // namespace bench

#endif // KILN_BENCHMARKS_BATCHER_LOAD_H
