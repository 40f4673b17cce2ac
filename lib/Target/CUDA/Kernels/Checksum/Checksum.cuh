//===- Checksum.cuh - CRC32C of device memory -------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_CHECKSUM_CUH
#define KILN_TARGET_CUDA_KERNELS_CHECKSUM_CUH

#include "../Common/Functors.cuh"
#include "Checksum.config.h"

namespace kiln::cuda {

struct Xor {
  __device__ __forceinline__ uint32_t operator()(uint32_t a, uint32_t b) const { return a ^ b; }
};

/// Adds (xor) this block's share of the CRC32C of `bytes` bytes at `data`, which is 16-byte
/// aligned, to *crc: zero before the launch, the checksum after it. `seed` is the checksum of what
/// comes before, 0 for none: the same meaning as kiln::crc32c on the host.
template <int threads_, int64_t segmentBytes> struct Checksum {
  static constexpr ChecksumConfig config{threads_, segmentBytes};
  static_assert(config.legal(), "not a configuration of Checksum");
  static constexpr int threads = threads_, stride = config.stride();
  static constexpr uint32_t byStride = CrcPolynomial::shift(config.stride()),
                            byWord = CrcPolynomial::shift(4);

  /// CrcPolynomial::product on the device.
  __device__ __forceinline__ static uint32_t product(uint32_t a, uint32_t b) {
    uint32_t sum = 0;
#pragma unroll 4
    for (int bit = 31; bit >= 0; --bit) {
      sum ^= (a >> bit) & 1 ? b : 0;
      b = (b >> 1) ^ (b & 1 ? CrcPolynomial::modulus : 0);
    }
    return sum;
  }
  /// crc with `bytes` zero bytes behind it.
  __device__ __forceinline__ static uint32_t moved(uint32_t crc, int64_t bytes,
                                                   const uint32_t *powers) {
    for (int i = 0; bytes != 0; ++i, bytes >>= 1)
      if (bytes & 1)
        crc = product(crc, powers[i]);
    return crc;
  }

  __device__ __forceinline__ static void run(const unsigned char *data, int64_t bytes,
                                             uint32_t seed, uint32_t *crc) {
    // tables[k][b]: byte k of a register with value b, moved by one stride of the block.
    __shared__ uint32_t tables[4][256], powers[CrcShifts::count], perWarp[threads / warpLanes];
    constexpr CrcShifts shifts;
    for (int i = threadIdx.x; i < 1024; i += threads)
      tables[i / 256][i % 256] = product(static_cast<uint32_t>(i % 256) << (i / 256 * 8), byStride);
    // One thread: a table in registers has no run-time index.
    if (threadIdx.x == 0) {
#pragma unroll
      for (int i = 0; i < CrcShifts::count; ++i)
        storeVector(powers + i, shifts.power[i]);
    }
    __syncthreads();

    const int64_t first = blockIdx.x * segmentBytes;
    const int64_t whole = bytes / vectorBytes * vectorBytes;
    const int64_t last = min(whole, first + segmentBytes);
    uint32_t lane[4] = {};
    int64_t behind = 0; // bytes from this thread's last vector to the end of the message
    for (int64_t at = first + threadIdx.x * vectorBytes; at < last; at += stride) {
      Packed<uint32_t, 4> packed;
      packed.word = loadVector<uint4>(data + at);
      behind = bytes - at;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        uint32_t next = packed.element[i];
#pragma unroll
        for (int k = 0; k < 4; ++k)
          next ^= tables[k][(lane[i] >> (8 * k)) & 255];
        lane[i] = next;
      }
    }
    uint32_t total = 0;
    if (behind != 0) {
      // The four words of a vector follow one another; then the way to the end.
#pragma unroll
      for (int i = 0; i < 4; ++i)
        total = product(total, byWord) ^ lane[i];
      total = moved(total, behind - 12, powers);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
      // The register starts inverted; what is no whole vector ends the message.
      total ^= moved(~seed, bytes, powers);
      uint32_t tail = 0;
      for (int64_t at = whole; at < bytes; ++at)
        tail = product(tail ^ data[at], CrcPolynomial::one >> 8);
      total ^= ~tail;
    }
    total = blockReduce<threads>(total, Xor{}, perWarp);
    if (threadIdx.x == 0)
      atomicXor(crc, total);
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_CHECKSUM_CUH
