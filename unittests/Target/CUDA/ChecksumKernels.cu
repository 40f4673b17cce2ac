// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instances of Checksum that the tests run and nvcc compiles.
#include "Checksum/Checksum.cuh"
using namespace kiln::cuda;

using Tested = Checksum<128, 8192>;
extern "C" __global__ void __launch_bounds__(Tested::threads, 1)
    checksum(const unsigned char *data, int64_t bytes, uint32_t seed, uint32_t *crc) {
  Tested::run(data, bytes, seed, crc);
}
