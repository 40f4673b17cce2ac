// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instances of Attention that the tests run and nvcc compiles.
#include "Attention/Attention.cuh"
using namespace kiln::cuda;

namespace {
/// An additive mask of every query and key, shared by heads.
struct AddMask {
  const float *mask;
  int queries, keys;
  __device__ __forceinline__ float operator()(float score, long row, long key) const {
    return score + mask[row % queries * keys + key];
  }
};
} // namespace

// Operands and results are [batch][head][row][column], dense.
template <class T> __device__ AttentionTensor<T> dense(T *data, int heads, int rows, int columns) {
  const long row = columns, head = row * rows;
  return {data, head * heads, head, row};
}

#define KILN_SIMT_ATTENTION(name, shape, causal, Score, score)                                     \
  extern "C" __global__ void __launch_bounds__(shape::threads, 1)                                  \
      name(const float *q, const float *k, const float *v, float *y,                               \
           [[maybe_unused]] const float *mask, const AttentionExtents *at) {                       \
    const AttentionExtents e = *at;                                                                \
    SimtAttention<shape, causal, 4, Score, Identity<float>>::run(                                  \
        dense(q, e.heads, e.queries, e.headSize), dense(k, e.keyHeads, e.keys, e.headSize),        \
        dense(v, e.keyHeads, e.keys, e.valueSize), dense(y, e.heads, e.queries, e.valueSize), e,   \
        rsqrtf(static_cast<float>(e.headSize)), score, {});                                        \
  }
using Simt64 = SimtAttentionShape<32, 32, 64, 4>;
using Simt128 = SimtAttentionShape<16, 64, 128, 4>;
KILN_SIMT_ATTENTION(simt_plain, Simt64, false, Identity<float>, (Identity<float>{}))
KILN_SIMT_ATTENTION(simt_causal, Simt64, true, Identity<float>, (Identity<float>{}))
KILN_SIMT_ATTENTION(simt_masked, Simt128, false, AddMask, (AddMask{mask, e.queries, e.keys}))

#define KILN_TENSOR_ATTENTION(name, shape, causal, Score, score)                                   \
  extern "C" __global__ void __launch_bounds__(shape::threads, 1)                                  \
      name(const __half *q, const __half *k, const __half *v, __half *y,                           \
           [[maybe_unused]] const float *mask, const AttentionExtents *at) {                       \
    const AttentionExtents e = *at;                                                                \
    TensorAttention<shape, causal, Score, Identity<__half>>::run(                                  \
        dense(q, e.heads, e.queries, e.headSize), dense(k, e.keyHeads, e.keys, e.headSize),        \
        dense(v, e.keyHeads, e.keys, e.valueSize), dense(y, e.heads, e.queries, e.valueSize), e,   \
        rsqrtf(static_cast<float>(e.headSize)), score, {});                                        \
  }
using Tensor64 = TensorAttentionShape<__half, 64, 64, 4, 2>;
using Tensor128 = TensorAttentionShape<__half, 32, 128, 4, 3>;
KILN_TENSOR_ATTENTION(f16_plain, Tensor64, false, Identity<float>, (Identity<float>{}))
KILN_TENSOR_ATTENTION(f16_causal, Tensor64, true, Identity<float>, (Identity<float>{}))
KILN_TENSOR_ATTENTION(f16_masked, Tensor128, false, AddMask, (AddMask{mask, e.queries, e.keys}))
