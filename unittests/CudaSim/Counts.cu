//===- Counts.cu - Kernels whose traffic and work are known ---------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kiln/cuda/Device.h"

extern "C" __global__ void contiguous(float *y, const float *x) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  y[i] = x[i];
}

extern "C" __global__ void vectors(float *y, const float *x) {
  const int i = (blockIdx.x * 128 + threadIdx.x) * 4;
  kiln::storeVector(y + i, kiln::loadVector<float4>(x + i));
}

/// A sector for each lane.
extern "C" __global__ void strided(float *y, const float *x) {
  y[threadIdx.x] = x[threadIdx.x * 8];
}

/// One address for the warp.
extern "C" __global__ void broadcast(float *y, const float *x) { y[threadIdx.x] = x[0]; }

/// 32 rows into columns and back: `Padding` 0 meets one bank, 1 all of them.
template <int Padding> __device__ void transpose(float *y, const float *x) {
  __shared__ float tile[32][32 + Padding];
  for (int r = 0; r < 32; ++r)
    tile[r][threadIdx.x] = x[r * 32 + threadIdx.x];
  __syncwarp();
  for (int r = 0; r < 32; ++r)
    y[r * 32 + threadIdx.x] = tile[threadIdx.x][r];
}
extern "C" __global__ void transposeConflicts(float *y, const float *x) { transpose<0>(y, x); }
extern "C" __global__ void transposePadded(float *y, const float *x) { transpose<1>(y, x); }

/// ldmatrix over rows of 64 bytes: in a phase of 8 rows, each second one meets the
/// banks of another (4 ways); with the chunks exchanged by an XOR none does.
template <bool Swizzle> __device__ void loadRows(uint32_t *y) {
  uint4 *s = reinterpret_cast<uint4 *>(kiln::dynamicShared());
  for (int c = 0; c < 4; ++c)
    kiln::storeVector(s + c * 32 + threadIdx.x, make_uint4(1, 2, 3, 4));
  __syncwarp();
  uint32_t r[1][4];
  kiln::ldmatrix4<false>(r, [&](int) {
    const int row = threadIdx.x, chunk = Swizzle ? (row >> 1) & 3 : 0;
    return s + row * 4 + chunk;
  });
  y[threadIdx.x] = r[0][0] + r[0][1] + r[0][2] + r[0][3];
}
extern "C" __global__ void ldmatrixConflicts(uint32_t *y) { loadRows<false>(y); }
extern "C" __global__ void ldmatrixSwizzled(uint32_t *y) { loadRows<true>(y); }

/// A known number of operations of each unit.
extern "C" __global__ void arithmetic(float *y, const float *x, double *d, int *n) {
  const int t = threadIdx.x;
  const float v = x[t];
  y[t] = fmaf(v, v, v) * v + exp2f(v);     // 3 fp32, 1 special
  d[t] = d[t] * d[t] + 1.0;                // 2 fp64
  n[t] = (n[t] ^ 0x55) * 3 - __popc(n[t]); // 4 integer
}

extern "C" __global__ void halves(__half2 *y) {
  y[threadIdx.x] = __hmul2(y[threadIdx.x], y[threadIdx.x]); // 2 a thread
}

/// Lanes whose bit is set go one way, the others another.
template <int Bit> __device__ void branch(int *n) {
  const int t = threadIdx.x;
  if (t & Bit)
    n[t] = atomicAdd(n + 64, 1);
  else
    kiln::storeVector(n + t, n[65]);
}
extern "C" __global__ void divergent(int *n) { branch<1>(n); }
extern "C" __global__ void uniform(int *n) { branch<32>(n); }

extern "C" __global__ void asyncCopies(float *y, const float *x) {
  float *s = reinterpret_cast<float *>(kiln::dynamicShared());
  kiln::cpAsync16(s + threadIdx.x * 4, x + threadIdx.x * 4, threadIdx.x < 16);
  kiln::cpAsyncCommit();
  kiln::cpAsyncWait<0>();
  __syncwarp();
  y[threadIdx.x] = s[threadIdx.x];
}
