//===- Faults.cu - One planted fault for each finding ---------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `at NAME` marks the line that the finding NAME must give, `other NAME` that of
// the other party. FaultTest.cpp says the rest: block, thread, address.
//
//===----------------------------------------------------------------------===//
#include "kiln/cuda/Device.h"

using kiln::cpAsync16;
using kiln::cpAsyncCommit;
using kiln::cpAsyncWait;
using kiln::dynamicShared;

extern "C" __global__ void readOutOfBounds(float *out, const float *in) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  out[i] = in[i]; // at readOutOfBounds
}

extern "C" __global__ void writeOutOfBounds(float *out) {
  out[blockIdx.x * 64 + threadIdx.x] = 1; // at writeOutOfBounds
}

extern "C" __global__ void useAfterFree(float *out, const float *freed) {
  if (threadIdx.x == 5)
    out[0] = freed[3]; // at useAfterFree
}

extern "C" __global__ void hostPointer(float *out, const float *host) {
  if (threadIdx.x == 2)
    out[0] = host[1]; // at hostPointer
}

extern "C" __global__ void pastShared(float *out) {
  float *s = reinterpret_cast<float *>(dynamicShared());
  s[threadIdx.x + 1] = 1; // at pastShared
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}

extern "C" __global__ void misaligned(float *out) {
  if (threadIdx.x == 4)
    kiln::storeVector(out + 1, make_float4(1, 2, 3, 4)); // at misaligned
}

extern "C" __global__ void unwrittenRead(float *out, const float *in) {
  out[threadIdx.x] = in[threadIdx.x]; // at unwrittenRead
}

extern "C" __global__ void unwrittenShared(float *out) {
  __shared__ float s[64];
  if (threadIdx.x != 9)
    s[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x]; // at unwrittenShared
}

extern "C" __global__ void unwrittenOutput(float *out) {
  if (threadIdx.x != 7)
    out[threadIdx.x] = 1;
}

extern "C" __global__ void readAfterWrite(float *out) {
  __shared__ float s[128];
  s[threadIdx.x] = 1;                                             // other readAfterWrite
  __syncwarp();                                                   // Orders a warp only.
  out[threadIdx.x] = threadIdx.x >= 64 ? 0 : s[threadIdx.x + 64]; // at readAfterWrite
}

extern "C" __global__ void writeAfterWrite(float *out) {
  __shared__ float s[1];
  if (threadIdx.x % 32 == 0)
    s[0] = threadIdx.x; // at writeAfterWrite, other writeAfterWrite
  __syncthreads();
  out[threadIdx.x] = s[0];
}

extern "C" __global__ void writeAfterRead(float *out) {
  __shared__ float s[64];
  s[threadIdx.x] = 1;
  __syncthreads();
  const float v = s[threadIdx.x ^ 32]; // other writeAfterRead
  s[threadIdx.x] = 2;                  // at writeAfterRead
  __syncthreads();
  out[threadIdx.x] = v + s[threadIdx.x];
}

extern "C" __global__ void raceInWarp(float *out) {
  __shared__ float s[32];
  s[threadIdx.x] = 1;                    // other raceInWarp
  out[threadIdx.x] = s[threadIdx.x ^ 1]; // at raceInWarp
}

/// Each block's part, and then its neighbour's: no block waits for another.
extern "C" __global__ void raceBetweenBlocks(float *out, float *sums) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  out[i] = 1;                                           // other raceBetweenBlocks
  sums[i] = out[(i + 32) % (gridDim.x * 32)] + sums[i]; // at raceBetweenBlocks
}

extern "C" __global__ void missingWait(float *out, const float *in) {
  float *s = reinterpret_cast<float *>(dynamicShared());
  cpAsync16(s + threadIdx.x * 4, in + threadIdx.x * 4, true); // other missingWait
  cpAsyncCommit();
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x * 4]; // at missingWait
  cpAsyncWait<0>();
}

extern "C" __global__ void waitTooLax(float *out, const float *in) {
  float *s = reinterpret_cast<float *>(dynamicShared());
  cpAsync16(s + threadIdx.x * 4, in + threadIdx.x * 4, true);
  cpAsyncCommit();
  cpAsync16(s + 128 + threadIdx.x * 4, in + threadIdx.x * 4, true);
  cpAsyncCommit();
  cpAsyncWait<1>();
  __syncthreads();
  out[threadIdx.x] = s[128 + threadIdx.x * 4]; // at waitTooLax
  cpAsyncWait<0>();
}

extern "C" __global__ void neverWaited(float *out, const float *in) {
  float *s = reinterpret_cast<float *>(dynamicShared());
  cpAsync16(s + threadIdx.x * 4, in + threadIdx.x * 4, true); // at neverWaited
  cpAsyncCommit();
  out[threadIdx.x] = 1;
}

extern "C" __global__ void partialBarrier(float *out) {
  out[threadIdx.x] = 1;
  if (threadIdx.x >= 40)
    return;
  __syncthreads(); // at partialBarrier
}

extern "C" __global__ void barrierDeadlock(float *out) {
  out[threadIdx.x] = 1;
  if (threadIdx.x < 32 || threadIdx.x == 63)
    __syncthreads(); // at barrierDeadlock
  else
    __syncwarp(); // Of thread 63 too.
}

extern "C" __global__ void warpDeadlock(float *out) {
  float v = threadIdx.x;
  if (threadIdx.x % 32 < 16)
    v += __shfl_xor_sync(0xffffffffu, v, 1); // at warpDeadlock
  else
    __syncwarp(0xffffffffu);
  out[threadIdx.x] = v;
}

extern "C" __global__ void maskWithoutCaller(float *out) {
  out[threadIdx.x] = __shfl_sync(0x0000ffffu, 1.0f, 0); // at maskWithoutCaller
}

extern "C" __global__ void maskWithEndedLane(float *out) {
  if (threadIdx.x == 3)
    return;
  out[threadIdx.x] = __shfl_sync(0xffffffffu, 1.0f, 0); // at maskWithEndedLane
}

extern "C" __global__ void shuffleFromAbsent(float *out) {
  if (threadIdx.x < 16)
    out[threadIdx.x] = __shfl_sync(0x0000ffffu, 1.0f, 20); // at shuffleFromAbsent
}

extern "C" __global__ void trap(float *out) {
  out[threadIdx.x] = 1;
  if (blockIdx.x == 1 && threadIdx.x == 6)
    __trap(); // at trap
}

/// Right under one order of threads, wrong under another: the last one wins.
extern "C" __global__ void scheduleDependent(float *out) {
  if (threadIdx.x % 32 == 0)
    out[0] = threadIdx.x; // at scheduleDependent, other scheduleDependent
}

/// Needs more stack than a thread has.
extern "C" __global__ void deepStack(float *out) {
  volatile char page[4096];
  struct Recursion {
    static int descend(volatile char *above, int depth) {
      volatile char mine[4096];
      mine[0] = above[0];
      return depth ? descend(mine, depth - 1) + mine[0] : mine[0];
    }
  };
  page[0] = 1;
  out[threadIdx.x] = Recursion::descend(page, 1000);
}
