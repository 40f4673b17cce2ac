//===- ChecksumTest.cpp - CRC32C of device memory on the simulator --------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"
#include "kiln/Target/Link/CRC32C.h"
#include "lib/Target/CUDA/Kernels/Checksum/Checksum.config.h"
#include <gtest/gtest.h>

using namespace kiln::cuda;
using namespace kiln::cuda::test;

namespace {

constexpr ChecksumConfig config{128, 8192};

std::vector<uint8_t> bytesOf(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t &byte : bytes)
    byte = static_cast<uint8_t>(generator());
  return bytes;
}

uint32_t onDevice(KernelRunner &runner, const std::vector<uint8_t> &bytes, uint32_t before) {
  auto crc = runner.upload(std::vector<uint32_t>{0});
  Launched launched = runner.launch("checksum", config.launch(bytes.size()), runner.upload(bytes),
                                    static_cast<int64_t>(bytes.size()), before, crc);
  EXPECT_EQ(launched.findings, "");
  EXPECT_EQ(launched.counts.uniqueReadBytes, bytes.size() + 4) << "the bytes and the sum";
  return runner.download(crc)[0];
}

TEST(Checksum, EqualsTheHosts) {
  for (unsigned seed : seeds)
    for (size_t count : {0, 1, 15, 16, 17, 100, 2048, 2049, 8191, 8192, 8193, 20000}) {
      KernelRunner runner("ChecksumKernels");
      runner.setSeed(seed);
      std::vector<uint8_t> bytes = bytesOf(count, seed);
      EXPECT_EQ(onDevice(runner, bytes, 0), kiln::crc32c(bytes)) << count << " bytes";
    }
}

TEST(Checksum, GoesOnFromWhatCameBefore) {
  KernelRunner runner("ChecksumKernels");
  std::vector<uint8_t> bytes = bytesOf(9000, 4);
  uint32_t before = kiln::crc32c(llvm::ArrayRef<uint8_t>(bytes).take_front(1000));
  std::vector<uint8_t> rest(bytes.begin() + 1000, bytes.end());
  EXPECT_EQ(onDevice(runner, rest, before), kiln::crc32c(bytes));
}

TEST(Checksum, SeesOneBit) {
  KernelRunner runner("ChecksumKernels");
  std::vector<uint8_t> bytes = bytesOf(8192 + 40, 4);
  uint32_t right = kiln::crc32c(bytes);
  for (size_t bit : {size_t(0), size_t(12345), bytes.size() * 8 - 1}) {
    std::vector<uint8_t> wrong = bytes;
    wrong[bit / 8] ^= 1 << (bit % 8);
    EXPECT_NE(onDevice(runner, wrong, 0), right);
  }
}

TEST(CrcPolynomial, MovesByZeroBytes) {
  uint8_t zeros[5] = {};
  // Feeding zeros to a register, without the inversions that the checksum adds.
  uint32_t fed = ~kiln::crc32c(zeros, ~0x12345678u);
  EXPECT_EQ(CrcPolynomial::product(0x12345678u, CrcPolynomial::shift(5)), fed);
}

} // namespace
