//===- Right.cu - What must not be reported -------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kiln/cuda/Device.h"

/// Each half of a warp by itself.
extern "C" __global__ void halfWarps(float *out) {
  __shared__ float s[64];
  const unsigned mask = threadIdx.x % 32 < 16 ? 0x0000ffffu : 0xffff0000u;
  s[threadIdx.x] = threadIdx.x;
  __syncwarp(mask);
  const float v = s[threadIdx.x ^ 1];
  out[blockIdx.x * 64 + threadIdx.x] = v + __shfl_xor_sync(mask, v, 2);
}

/// Neighbours' elements of 1 and 2 bytes in one word.
extern "C" __global__ void smallNeighbours(float *out) {
  __shared__ __half h[64];
  __shared__ unsigned char b[64];
  h[threadIdx.x] = __float2half(static_cast<float>(threadIdx.x));
  b[threadIdx.x] = threadIdx.x;
  h[threadIdx.x] = h[threadIdx.x] + h[threadIdx.x];
  out[threadIdx.x] = __half2float(h[threadIdx.x]) + b[threadIdx.x];
}

extern "C" __global__ void sharedAtomics(int *out) {
  __shared__ int sum;
  if (threadIdx.x == 0)
    sum = 0;
  __syncthreads();
  atomicAdd(&sum, static_cast<int>(threadIdx.x));
  __syncthreads();
  out[blockIdx.x * 128 + threadIdx.x] = sum;
}

/// A ring of two stages, as templates have it.
extern "C" __global__ void ring(float *out, const float *in, int tiles) {
  float *s = reinterpret_cast<float *>(kiln::dynamicShared());
  const int t = threadIdx.x;
  float sum = 0;
  kiln::cpAsync16(s + t * 4, in + t * 4, true);
  kiln::cpAsyncCommit();
  for (int i = 0; i < tiles; ++i) {
    kiln::cpAsyncWait<0>();
    __syncthreads();
    if (i + 1 < tiles)
      kiln::cpAsync16(s + ((i + 1) & 1) * 256 + t * 4, in + (i + 1) * 256 + t * 4, true);
    kiln::cpAsyncCommit();
    sum += s[(i & 1) * 256 + (t * 37 & 255)];
  }
  out[t] = sum;
}

/// Values of warp-wide and block-wide calls.
extern "C" __global__ void warpCalls(unsigned *out) {
  const unsigned t = threadIdx.x, lane = t & 31;
  unsigned *o = out + t * 16;
  o[0] = __ballot_sync(0xffffffffu, lane & 1);
  o[1] = __any_sync(0xffffffffu, lane == 31);
  o[2] = __all_sync(0xffffffffu, lane < 31);
  o[3] = __match_any_sync(0xffffffffu, lane / 8);
  o[4] = __reduce_add_sync(0xffffffffu, lane);
  o[5] = static_cast<unsigned>(__reduce_min_sync(0xffffffffu, static_cast<int>(lane) - 5));
  o[6] = __reduce_xor_sync(0xffffffffu, lane);
  o[7] = __shfl_up_sync(0xffffffffu, lane, 1);
  o[8] = __shfl_down_sync(0xffffffffu, lane, 3, 8);
  o[9] = __shfl_sync(0xffffffffu, lane, 2, 4);
  o[10] = static_cast<unsigned>(__syncthreads_count(t < 40));
  o[11] = static_cast<unsigned>(__syncthreads_and(t < 63));
  o[12] = static_cast<unsigned>(__syncthreads_or(t == 63));
  o[13] = kiln::warpReduce<8>(lane, [](unsigned a, unsigned b) { return a > b ? a : b; });
  o[14] = __activemask();
  o[15] = __popc(t) + __clz(static_cast<int>(t)) * 100 + __ffs(static_cast<int>(t)) * 10000;
}

extern "C" __global__ void atomics(float *f, unsigned *u, __half2 *h) {
  atomicAdd(f, 0.5f);
  atomicMax(u, threadIdx.x);
  atomicMin(u + 1, threadIdx.x);
  atomicInc(u + 2, 9);
  atomicAnd(u + 3, ~(1u << (threadIdx.x & 31)));
  atomicAdd(h, __floats2half2_rn(1.0f, 2.0f));
  unsigned seen = u[4], expected;
  do {
    expected = seen;
    seen = atomicCAS(u + 4, expected, expected + 2);
  } while (seen != expected);
}

/// Blocks leave their parts; the last one, by a counter, adds them up.
extern "C" __global__ void lastBlockAdds(unsigned *parts, unsigned *counter, unsigned *sum) {
  __shared__ bool isLast;
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = blockIdx.x + 1;
    __threadfence();
    isLast = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;
    if (isLast) {
      unsigned total = 0;
      for (unsigned i = 0; i != gridDim.x; ++i)
        total += parts[i];
      *sum = total;
    }
  }
}

/// Bytes of one word are different blocks'; all read the same bytes.
extern "C" __global__ void byteNeighbours(unsigned char *out, const unsigned char *in) {
  if (threadIdx.x == 0)
    out[blockIdx.x] = in[0] + in[3] + blockIdx.x;
}
