//===- TensorsTest.cpp - Strides, checksums, CPU features, options --------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tensors.h"
#include "Cpu.h"
#include "Crc32c.h"
#include "TestSupport.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace kiln::rt;

static constexpr kiln_module_dtype kFloat32 = {kDLFloat, 32, 1};

TEST(Tensors, DenseBytesSeesOverflow) {
  uint64_t bytes;
  int64_t small[] = {2, 3}, huge[] = {1ll << 40, 1ll << 40}, negative[] = {2, -1};
  int64_t empty[] = {1ll << 40, 1ll << 40, 0}, emptyNegative[] = {0, -1};
  EXPECT_TRUE(denseBytes(small, 2, kFloat32, bytes));
  EXPECT_EQ(bytes, 24u);
  EXPECT_TRUE(denseBytes(nullptr, 0, kFloat32, bytes));
  EXPECT_EQ(bytes, 4u);
  EXPECT_FALSE(denseBytes(huge, 2, kFloat32, bytes));
  EXPECT_FALSE(denseBytes(negative, 2, kFloat32, bytes));
  EXPECT_FALSE(denseBytes(emptyNegative, 2, kFloat32, bytes));
  EXPECT_TRUE(denseBytes(empty, 3, kFloat32, bytes));
  EXPECT_EQ(bytes, 0u);
}

TEST(Tensors, DenseIgnoresStridesOfOnes) {
  kiln::test::Tensor tensor({4, 1, 3});
  int64_t strides[] = {3, 77, 1}, other[] = {4, 77, 1};
  tensor.view.strides = strides;
  EXPECT_TRUE(isDense(tensor.view));
  tensor.view.strides = other;
  EXPECT_FALSE(isDense(tensor.view));
}

TEST(Tensors, GathersAnyStrides) {
  kiln::test::Tensor tensor({5, 6, 7});
  for (size_t i = 0; i != tensor.values.size(); ++i)
    tensor.values[i] = float(i);
  // Transposed, one axis backwards, one repeated.
  int64_t shape[] = {7, 3, 6}, strides[] = {1, 0, -7};
  DLTensor view = tensor.view;
  view.shape = shape;
  view.strides = strides;
  view.byte_offset = 5 * 7 * sizeof(float);
  std::vector<float> out(7 * 3 * 6);
  gather(view, sizeof(float), reinterpret_cast<uint8_t *>(out.data()));
  size_t at = 0;
  for (int64_t i = 0; i != 7; ++i)
    for (int64_t j = 0; j != 3; ++j)
      for (int64_t k = 0; k != 6; ++k)
        EXPECT_EQ(out[at++], float(35 + i - 7 * k));
}

TEST(Checksum, MatchesThePublishedVectors) {
  Crc32c crc32c;
  EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u);
  uint8_t block[32] = {};
  EXPECT_EQ(crc32c(block, 32), 0x8a9136aau);
  std::memset(block, 0xff, 32);
  EXPECT_EQ(crc32c(block, 32), 0x62a8ab43u);
}

class ChecksumWay : public testing::TestWithParam<Crc32c::Way> {};

TEST_P(ChecksumWay, AgreesWithBytes) {
  Crc32c crc32c(GetParam());
  if (crc32c.used() != GetParam())
    GTEST_SKIP() << "this CPU has no such instruction";
  // The table's way, byte by byte: it is the definition.
  Crc32c bytewise(Crc32c::Way::Bytes);
  std::vector<uint8_t> data(100003);
  for (size_t i = 0; i != data.size(); ++i)
    data[i] = uint8_t(i * 131 + i / 7);
  for (size_t size = 0; size != 1500; ++size)
    ASSERT_EQ(crc32c(data.data() + size % 67, size, uint32_t(size * 77)),
              bytewise(data.data() + size % 67, size, uint32_t(size * 77)))
        << size;
  EXPECT_EQ(crc32c(data.data(), data.size()), bytewise(data.data(), data.size()));
}

INSTANTIATE_TEST_SUITE_P(All, ChecksumWay,
                         testing::Values(Crc32c::Way::Instruction, Crc32c::Way::Folding256,
                                         Crc32c::Way::Folding512));

TEST(Checksum, PiecesContinue) {
  Crc32c crc32c;
  std::vector<uint8_t> data(100003);
  for (size_t i = 0; i != data.size(); ++i)
    data[i] = uint8_t(i * 131 + i / 7);
  uint32_t piecewise = 0;
  for (uint8_t byte : data)
    piecewise = crc32c(&byte, 1, piecewise);
  EXPECT_EQ(crc32c(data.data(), data.size()), piecewise);
  EXPECT_EQ(crc32c(data.data() + 1, data.size() - 1, crc32c(data.data(), 1)), piecewise);
}

TEST(Cpu, NamesTheMissingFeature) {
  char missing[32];
  EXPECT_FALSE(findMissingFeature("", missing, sizeof missing));
  EXPECT_FALSE(findMissingFeature(nullptr, missing, sizeof missing));
  EXPECT_TRUE(findMissingFeature("imaginary", missing, sizeof missing));
  EXPECT_STREQ(missing, "imaginary");
#if defined(__x86_64__)
  EXPECT_FALSE(findMissingFeature("sse2", missing, sizeof missing));
  EXPECT_TRUE(findMissingFeature("sse2,unreal,imaginary", missing, sizeof missing));
  EXPECT_STREQ(missing, "unreal");
#endif
  EXPECT_GE(countUsableCpus(), 1u);
}

TEST(Options, OtherVersionsAreRead) {
  struct Known {
    size_t struct_size;
    uint64_t first;
    uint64_t second;
  } known;
  struct Newer {
    size_t struct_size;
    uint64_t fields[4];
  } newer = {sizeof newer, {1, 2, 0, 0}};
  EXPECT_TRUE(readOptions(&known, sizeof known, &newer));
  EXPECT_EQ(known.second, 2u);
  newer.fields[3] = 1;
  EXPECT_FALSE(readOptions(&known, sizeof known, &newer));
  Newer older = {2 * sizeof(uint64_t), {7, 9, 0, 0}};
  EXPECT_TRUE(readOptions(&known, sizeof known, &older));
  EXPECT_EQ(known.first, 7u);
  EXPECT_EQ(known.second, 0u);
  older.struct_size = 0;
  EXPECT_FALSE(readOptions(&known, sizeof known, &older));
  older.struct_size = size_t(1) << 40;
  EXPECT_FALSE(readOptions(&known, sizeof known, &older));
}
