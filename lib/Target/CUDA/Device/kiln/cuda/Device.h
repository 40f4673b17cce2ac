//===- Device.h - What kernels may use beyond plain CUDA C++ ----*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every kernel includes this header first and holds no #ifdef itself: the same
// text is compiled by nvcc for a device and by clang for the simulator. Here is
// the one place that tells them apart (docs/cuda/simulator.md).
//
// Both sides give, in namespace kiln:
//
//   dynamicShared()                 the block's dynamic shared memory, 16-byte aligned
//   loadVector<V>(p), storeVector(p, v)   one access of 4, 8 or 16 bytes
//   cpAsync16(dst, src, pred)       16 bytes from global to shared memory, or 16 zeros; in flight
//   until waited for cpAsync<Bytes>(dst, src, pred)  the same for 4 or 8 bytes cpAsyncCommit(),
//   cpAsyncWait<N>()     ends a group; waits until at most N later groups are in flight
//   ldmatrix4<Trans>(r, row)        N times ldmatrix.x4; row(i) is this lane's row of the i-th
//   mma<A, B>(d, a, b)              d += a * b on tensor cores, M x N tiles
//   warpReduce<Width>(v, op)        v combined over Width neighbouring lanes, in all of them
//   dp4a(a, b, c)                   c + four products of bytes
//
// and KILN_UNWATCHED_BEGIN, KILN_UNWATCHED_END: of functions in between the
// simulator sees vectors, atomics and meetings only. For long loops over tables in
// shared memory, with a test that runs them watched.
//
// Wrappers take whole tiles rather than single instructions: on a device they
// unroll to the same code, on the simulator a call is one meeting of the warp.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CUDA_DEVICE_H
#define KILN_CUDA_DEVICE_H

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace kiln {
/// Names fp32 rounded to 10 bits of mantissa, in registers of 32 bits.
struct Tf32 {};
} // namespace kiln

#ifdef __CUDACC__
#include "kiln/cuda/Ptx.h"
#else
#include "kiln/cudasim/Shim.h"
#endif

namespace kiln {

/// d[i][j] += a[i] * b[j]: the SIMT form of a tile, in one thread's registers.
template <int M, int N>
__device__ __forceinline__ void outerProduct(float (&d)[M][N], const float (&a)[M],
                                             const float (&b)[N]) {
#pragma unroll
  for (int i = 0; i < M; ++i)
#pragma unroll
    for (int j = 0; j < N; ++j)
      d[i][j] = fmaf(a[i], b[j], d[i][j]);
}

/// v combined over the block's Threads threads, in all of them; the order is
/// fixed, so the result is. `perWarp` is shared memory for Threads / 32 values;
/// a barrier must come before its next use, also by another blockReduce.
template <int Threads, class T, class Op>
__device__ __forceinline__ T blockReduce(T v, Op op, T *perWarp) {
  static_assert(Threads % 32 == 0, "whole warps");
  v = warpReduce(v, op);
  if constexpr (Threads > 32) {
    const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    if (thread % 32 == 0)
      perWarp[thread / 32] = v;
    __syncthreads();
    v = perWarp[0];
#pragma unroll
    for (int w = 1; w < Threads / 32; ++w)
      v = op(v, perWarp[w]);
  }
  return v;
}

} // namespace kiln

#endif // KILN_CUDA_DEVICE_H
