//===- Transpose.config.h - Configurations of the transposition -*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_TRANSPOSE_CONFIG_H
#define KILN_TARGET_CUDA_KERNELS_TRANSPOSE_CONFIG_H

#include "../Common/Config.h"

namespace kiln::cuda {

/// Tiles of 32 x 32, `warps` rows of it at a time.
struct TransposeConfig {
  int warps;

  static constexpr int tile = warpLanes;
  /// Elements from row to row of the staged tile: an odd number of words (of four bytes, or of an
  /// element that is larger), so that neither rows nor columns have bank conflicts.
  static constexpr int pitch(int elementBytes) {
    return tile + (elementBytes < 4 ? 4 / elementBytes : 1);
  }
  constexpr int threads() const { return warps * warpLanes; }
  constexpr bool legal() const { return warps >= 1 && warps <= tile && tile % warps == 0; }
  /// x = tiles of a matrix, y = batches up to what a grid allows; a block takes every y-th.
  constexpr LaunchShape launch(int64_t batches, int64_t rows, int64_t columns) const {
    int64_t most = 65535;
    return {{ceilDiv(rows, tile) * ceilDiv(columns, tile), batches < most ? batches : most, 1},
            threads(),
            0};
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_TRANSPOSE_CONFIG_H
