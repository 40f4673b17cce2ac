//===- ScheduleSearch.h - Parts of searches for a configuration -*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_TARGET_CUDA_SCHEDULESEARCH_H
#define KILN_LIB_TARGET_CUDA_SCHEDULESEARCH_H

#include "kiln/Target/CUDA/Schedule.h"
#include "llvm/ADT/SmallVector.h"
#include <cmath>

namespace kiln::cuda {

/// Keeps the quickest; of equals the one with less to do besides.
template <class Config> class Best {
public:
  void offer(const Choice<Config> &choice) {
    if (!std::isfinite(choice.seconds) || (best && !better(choice, *best)))
      return;
    best = choice;
  }
  std::optional<Choice<Config>> best;

private:
  static bool better(const Choice<Config> &a, const Choice<Config> &b) {
    // Less than a hundredth is no difference that the model could know.
    if (std::fabs(a.seconds - b.seconds) > 1e-2 * b.seconds)
      return a.seconds < b.seconds;
    return work(a.prediction) < work(b.prediction);
  }
  static double work(const Prediction &p) {
    return p.compute + p.issue + p.shared + p.fabric + p.memory + p.latency;
  }
};

/// Powers of two from `low` to `high`.
inline llvm::SmallVector<int> powers(int64_t low, int64_t high) {
  llvm::SmallVector<int> all;
  for (int64_t v = low; v <= high; v *= 2)
    all.push_back(static_cast<int>(v));
  return all;
}

/// No tile needs to be larger than what it covers.
inline int64_t covering(int64_t extent, int64_t least) {
  int64_t tile = least;
  while (tile < extent && tile < DeviceFacts::threadsPerBlock)
    tile *= 2;
  return tile;
}

} // namespace kiln::cuda

#endif // KILN_LIB_TARGET_CUDA_SCHEDULESEARCH_H
