//===- AttentionOperands.cuh - What attention reads and writes -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_ATTENTION_OPERANDS_CUH
#define KILN_TARGET_CUDA_KERNELS_ATTENTION_OPERANDS_CUH

#include "../Softmax/Softmax.cuh"
#include "Attention.config.h"

namespace kiln::cuda {

/// [batch][head][row][column] with any strides but that of the columns, which is one.
template <class T> struct AttentionTensor {
  T *data;
  long batchStride, headStride, rowStride;

  __device__ __forceinline__ T *rows(int batch, int head) const {
    return data + batch * batchStride + head * headStride;
  }
};

/// The place of one block, from attentionLaunch's grid.
struct AttentionPlace {
  int batch, head, keyHead, query0;
  /// Keys that any query of the tile sees.
  int keys;
  /// The row of a functor for query 0: all batches and heads one below the other.
  long row0;

  template <bool causal>
  __device__ __forceinline__ static AttentionPlace of(const AttentionExtents &e, int tileQ) {
    AttentionPlace p;
    p.batch = blockIdx.z;
    p.head = blockIdx.y;
    p.keyHead = p.head / (e.heads / e.keyHeads);
    p.query0 = (gridDim.x - 1 - blockIdx.x) * tileQ;
    const int last = min(e.queries, p.query0 + tileQ);
    p.keys = causal ? min(e.keys, max(0, last + e.keys - e.queries)) : e.keys;
    p.row0 = (static_cast<long>(p.batch) * e.heads + p.head) * e.queries;
    return p;
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_ATTENTION_OPERANDS_CUH
