//===- LayerNorm.config.h - Configurations of norms over rows ---*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_LAYERNORM_CONFIG_H
#define KILN_TARGET_CUDA_KERNELS_LAYERNORM_CONFIG_H

#include "../Common/Rows.config.h"

namespace kiln::cuda {

/// Rows that registers hold are read once; longer ones for the mean, for the variance (not by
/// RMSNorm), and for the result.
constexpr Traffic layerNormTraffic(const RowConfig &config, int64_t rows, int64_t columns,
                                   bool centred, int elementBytes, int resultBytes) {
  int reads = columns <= config.capacity() ? 1 : centred ? 3 : 2;
  return rowTraffic(rows, columns, reads, elementBytes, resultBytes);
}

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_LAYERNORM_CONFIG_H
