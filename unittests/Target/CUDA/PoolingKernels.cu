// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instances of Pooling that the tests run and nvcc compiles.
#include "Pooling/Pooling.cuh"
using namespace kiln::cuda;

#define KILN_POOL(name, Kind, countPadding)                                                        \
  extern "C" __global__ void __launch_bounds__(128, 1)                                             \
      name(const float *x, float *y, const PoolGeometry *at) {                                     \
    const PoolGeometry g = *at;                                                                    \
    Pooling<Kind, countPadding, PoolGeometry, Identity<float>, Identity<float>>::run(x, y, g, {},  \
                                                                                     {});          \
  }
KILN_POOL(max_pool, MaxPool, false)
KILN_POOL(average_pool, AveragePool, false)
KILN_POOL(average_pool_padded, AveragePool, true)
