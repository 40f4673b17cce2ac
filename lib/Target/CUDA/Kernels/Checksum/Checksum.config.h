//===- Checksum.config.h - CRC32C as polynomials ----------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A register of CRC32C is a polynomial modulo P over two elements, the highest power in bit 0.
// Feeding n zero bytes multiplies it by x^(8n), which is linear, so that any part of a message can
// be reduced alone and moved to its place afterwards.
//
//===----------------------------------------------------------------------===//

#ifndef KILN_TARGET_CUDA_KERNELS_CHECKSUM_CONFIG_H
#define KILN_TARGET_CUDA_KERNELS_CHECKSUM_CONFIG_H

#include "../Common/Config.h"

namespace kiln::cuda {

struct CrcPolynomial {
  static constexpr uint32_t one = 0x80000000u, modulus = 0x82f63b78u;

  static constexpr uint32_t product(uint32_t a, uint32_t b) {
    uint32_t sum = 0;
    for (uint32_t bit = one; bit != 0; bit >>= 1) {
      sum ^= a & bit ? b : 0;
      b = (b >> 1) ^ (b & 1 ? modulus : 0);
    }
    return sum;
  }
  /// x^(8 * bytes).
  static constexpr uint32_t shift(uint64_t bytes) {
    uint32_t square = one >> 8, power = one;
    for (; bytes != 0; bytes >>= 1) {
      power = bytes & 1 ? product(power, square) : power;
      square = product(square, square);
    }
    return power;
  }
};

/// x^(8 * 2^i), for moves by any distance.
struct CrcShifts {
  static constexpr int count = 48;
  uint32_t power[count] = {};
  constexpr CrcShifts() {
    uint32_t square = CrcPolynomial::one >> 8;
    for (int i = 0; i < count; ++i) {
      power[i] = square;
      square = CrcPolynomial::product(square, square);
    }
  }
};

/// A block takes `segmentBytes` of the message, its threads 16 bytes in turn.
struct ChecksumConfig {
  int threads;
  int64_t segmentBytes;

  constexpr int stride() const { return threads * vectorBytes; }
  constexpr bool legal() const {
    return threads % warpLanes == 0 && threads >= warpLanes && threads <= 1024 &&
           segmentBytes % stride() == 0 && segmentBytes > 0;
  }
  constexpr LaunchShape launch(int64_t bytes) const {
    return {{bytes == 0 ? 1 : ceilDiv(bytes, segmentBytes), 1, 1}, threads, 0};
  }
};

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_KERNELS_CHECKSUM_CONFIG_H
