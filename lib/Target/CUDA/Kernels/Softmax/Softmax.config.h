//===- Softmax.config.h - Configurations of Softmax -------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_SOFTMAX_CONFIG_H
#define KILN_TARGET_CUDA_KERNELS_SOFTMAX_CONFIG_H

#include "../Common/Rows.config.h"

namespace kiln::cuda {

/// Rows that registers hold are read once; longer ones twice, by the same threads (`SoftmaxLooped`)
/// or by several blocks a row (`SoftmaxParts`, `SoftmaxFinish`).
constexpr Traffic softmaxTraffic(const RowConfig &config, int64_t rows, int64_t columns,
                                 int elementBytes, int resultBytes) {
  return rowTraffic(rows, columns, columns <= config.capacity() ? 1 : 2, elementBytes, resultBytes);
}

/// Several blocks a row: (maximum, sum) of each part, in fp32.
constexpr int64_t softmaxWorkspaceBytes(int64_t rows, int parts) { return rows * parts * 2 * 4; }

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_SOFTMAX_CONFIG_H
