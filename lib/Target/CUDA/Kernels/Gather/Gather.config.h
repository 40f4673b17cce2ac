//===- Gather.config.h - Configurations of the gather -----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_GATHER_CONFIG_H
#define KILN_TARGET_CUDA_KERNELS_GATHER_CONFIG_H

#include "../Pointwise/Pointwise.config.h"

namespace kiln::cuda {

/// The extents of a gather: data[outer][axis][inner], result[outer][index][inner].
struct GatherExtents {
  int64_t outers, axis, inner, indices;
};

/// Vectors of results, as in a pointwise kernel.
constexpr LaunchShape gatherLaunch(const PointwiseConfig &config, const GatherExtents &e) {
  return config.launch(e.outers * e.indices, e.inner);
}

/// Every result is read and written once; an index once a vector of results.
constexpr Traffic gatherTraffic(const PointwiseConfig &config, const GatherExtents &e,
                                int elementBytes, int indexBytes) {
  int64_t results = e.outers * e.indices * e.inner;
  return {results * elementBytes + results / config.vector * indexBytes, results * elementBytes,
          /*an upper bound: rows may repeat*/ results * elementBytes + e.indices * indexBytes,
          results * elementBytes};
}

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_GATHER_CONFIG_H
