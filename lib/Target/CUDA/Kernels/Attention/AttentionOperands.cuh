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

  /// One head's rows.
  struct Rows {
    T *data;
    long stride;

    template <int V> __device__ __forceinline__ void load(float (&to)[V], int row, int col) const {
      loadElements<V>(to, at(row, col));
    }
    __device__ __forceinline__ T *at(int row, int col) const { return data + row * stride + col; }
  };
  __device__ __forceinline__ Rows rows(int batch, int head) const {
    return {data + batch * batchStride + head * headStride, rowStride};
  }
};

/// The same of elements that a functor computes: element(row, column), where the row counts the
/// `extent` rows of all `heads` of all batches.
template <class Functor> struct ComputedAttentionTensor {
  Functor element;
  int heads, extent;

  struct Rows {
    Functor element;
    long row0;

    template <int V> __device__ __forceinline__ void load(float (&to)[V], int row, int col) const {
#pragma unroll
      for (int i = 0; i < V; ++i)
        to[i] = element(row0 + row, col + i);
    }
  };
  __device__ __forceinline__ Rows rows(int batch, int head) const {
    return {element, (static_cast<long>(batch) * heads + head) * extent};
  }
};

/// What becomes of a query without weights: scores that are all minus infinity, or have NaN or plus
/// infinity.
enum class Undefined {
  nan,
  zero,
  /// Zero where all scores are minus infinity, else NaN.
  maskedZero
};
/// A weighted sum of values, divided by the sum of the weights; zero where there is no key.
template <Undefined undefined>
__device__ __forceinline__ float average(float sum, const SoftmaxState &state, int keys) {
  const bool isZero = keys == 0 || (undefined == Undefined::zero && !(state.sum > 0)) ||
                      (undefined == Undefined::maskedZero && state.maximum == -INFINITY);
  return isZero ? 0.0f : sum * (1.0f / state.sum);
}

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
