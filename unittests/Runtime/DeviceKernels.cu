//===- DeviceKernels.cu - TestModel on a device ---------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As an emitter would write them: every argument takes eight bytes, the units
// come last, and threads stride over them.
//
//===----------------------------------------------------------------------===//
#include "kiln/cuda/Device.h"

#define FOR_UNITS(i)                                                                               \
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < units;                      \
       i += int64_t(gridDim.x) * blockDim.x)

extern "C" __global__ void deviceMatmul(const float *x, const float *bias, const float *w,
                                        float *sums, int64_t units) {
  FOR_UNITS(i) {
    float sum = bias[i % 4];
    for (int k = 0; k != 8; ++k)
      sum += x[i / 4 * 8 + k] * w[k * 4 + i % 4];
    sums[i] = sum;
  }
}

extern "C" __global__ void deviceRelu(const float *from, float *to, float *also, int64_t units) {
  FOR_UNITS(i)
  to[i] = also[i] = from[i] > 0 ? from[i] : 0;
}

extern "C" __global__ void deviceAffine(const float *from, float *to, float *also, int64_t units) {
  FOR_UNITS(i) {
    to[i] = from[i];
    also[i] = 2 * from[i] + 1;
  }
}

/// Of `elements`, by one thread: the count first, then the indices.
extern "C" __global__ void deviceFind(const float *from, int64_t *found, int64_t elements,
                                      int64_t units) {
  FOR_UNITS(unit) {
    int64_t count = 0;
    for (int64_t i = 0; i != elements; ++i)
      if (from[i] > 0)
        found[++count] = i;
    found[0] = count;
  }
}

extern "C" __global__ void deviceCopy(const int64_t *from, int64_t *to, int64_t units) {
  FOR_UNITS(i)
  to[i] = from[i];
}
