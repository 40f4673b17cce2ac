//===- BasicKernels.cu - Kernels that are right ---------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kiln/cuda/Device.h"

/// y = a * x + y, and a struct by value.
struct ScaleParams {
  float factor;
  double unused;
  int count;
};

extern "C" __global__ void __launch_bounds__(128)
    scale(float *__restrict__ y, const float *__restrict__ x, ScaleParams p) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.count)
    y[i] = fmaf(p.factor, x[i], y[i]);
}

/// One row a block: a sum through shuffles and shared memory.
extern "C" __global__ void rowSum(float *__restrict__ sums, const float *__restrict__ x,
                                  int columns) {
  __shared__ float perWarp[4];
  float sum = 0;
  for (int c = threadIdx.x; c < columns; c += 128)
    sum += x[blockIdx.x * columns + c];
  sum = kiln::blockReduce<128>(sum, [](float a, float b) { return a + b; }, perWarp);
  if (threadIdx.x == 0)
    sums[blockIdx.x] = sum;
}

/// Block, thread and their dimensions in three directions, as one number each.
extern "C" __global__ void indices(int *out) {
  const int threads = blockDim.x * blockDim.y * blockDim.z;
  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * threads + thread] = blockIdx.x | blockIdx.y << 4 | blockIdx.z << 8 |
                                  threadIdx.x << 12 | threadIdx.y << 16 | threadIdx.z << 20;
}

/// Reverses 256 values through dynamic shared memory, copied there asynchronously.
extern "C" __global__ void reverse(float *__restrict__ y, const float *__restrict__ x) {
  float *s = reinterpret_cast<float *>(kiln::dynamicShared());
  const int t = threadIdx.x, at = blockIdx.x * 256;
  kiln::cpAsync16(s + t * 4, x + at + t * 4, true);
  kiln::cpAsyncCommit();
  kiln::cpAsyncWait<0>();
  __syncthreads();
  const float4 v = kiln::loadVector<float4>(s + 252 - t * 4);
  kiln::storeVector(y + at + t * 4, make_float4(v.w, v.z, v.y, v.x));
}
