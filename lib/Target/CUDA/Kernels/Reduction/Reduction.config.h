//===- Reduction.config.h - Configurations of reductions --------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_REDUCTION_CONFIG_H
#define KILN_TARGET_CUDA_KERNELS_REDUCTION_CONFIG_H

#include "../Common/Rows.config.h"

namespace kiln::cuda {

/// A matrix read once, one result a row or a column. With several parts the first launch writes
/// `parts` accumulators a result, which ReduceColumns then reads.
constexpr Traffic reductionTraffic(int64_t elements, int64_t results, int parts, int elementBytes,
                                   int resultBytes, int accumulatorBytes) {
  int64_t out = results * (parts == 1 ? resultBytes : parts * accumulatorBytes);
  return {elements * elementBytes, out, elements * elementBytes, out};
}

/// The axis that is not the last: lanes take neighbouring columns, the block's warps share the
/// rows.
struct ColumnConfig {
  int warps;
  constexpr int threads() const { return warps * warpLanes; }
  constexpr bool legal() const { return warps >= 1 && warps <= 32; }
  /// x = strips of columns, y = parts of the axis, z = outers.
  constexpr LaunchShape launch(int64_t outers, int64_t columns, int parts) const {
    return {{ceilDiv(columns, warpLanes), parts, outers}, threads(), 0};
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_REDUCTION_CONFIG_H
