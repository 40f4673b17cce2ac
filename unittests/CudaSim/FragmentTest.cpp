//===- FragmentTest.cpp - Layouts of mma and ldmatrix ---------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SimTest.h"

#include <cstring>
#include <random>

using namespace kiln::cuda;

namespace {

constexpr int kM = 32, kN = 32;

class FragmentTest : public SimTest {
protected:
  /// Multiplies random integers, which every type here holds exactly.
  template <class A, class B, class Acc, class MakeA, class MakeB>
  void multiply(const char *kernel, int depth, int lowA, int highA, int lowB, int highB,
                MakeA makeA, MakeB makeB) {
    load("Fragments");
    std::mt19937 random(1);
    std::uniform_int_distribution<int> anyA(lowA, highA), anyB(lowB, highB), any(-50, 50);
    std::vector<int> a(kM * depth), b(depth * kN), c(kM * kN);
    std::vector<A> ta;
    std::vector<B> tb;
    std::vector<Acc> tc;
    for (int &x : a)
      ta.push_back(makeA(x = anyA(random)));
    for (int &x : b)
      tb.push_back(makeB(x = anyB(random)));
    for (int &x : c)
      tc.push_back(Acc(x = any(random)));
    CUdeviceptr d = upload(tc);
    ASSERT_EQ(launch(kernel, {1}, {32}, 0, upload(ta), upload(tb), d), CUDA_SUCCESS);
    const std::vector<Acc> got = download<Acc>(d, kM * kN);
    for (int i = 0; i < kM; ++i)
      for (int j = 0; j < kN; ++j) {
        int sum = c[i * kN + j];
        for (int k = 0; k < depth; ++k)
          sum += a[i * depth + k] * b[k * kN + j];
        ASSERT_EQ(got[i * kN + j], Acc(sum)) << i << "," << j;
      }
    EXPECT_EQ(findings().size(), 0u) << sim().report();
  }
};

uint16_t half(int x) { // Integers up to 2048 in size.
  if (!x)
    return 0;
  const float f = float(x);
  uint32_t bits;
  memcpy(&bits, &f, 4);
  return uint16_t((bits >> 16 & 0x8000) | (((bits >> 23 & 255) - 112) << 10) |
                  (bits >> 13 & 0x3ff));
}
uint16_t bfloat(int x) { // Integers up to 256.
  const float f = float(x);
  uint32_t bits;
  memcpy(&bits, &f, 4);
  return uint16_t(bits >> 16);
}
template <class T> T same(int x) { return T(x); }

TEST_F(FragmentTest, f16) {
  multiply<uint16_t, uint16_t, float>("mmaF16", 16, -100, 100, -100, 100, half, half);
  EXPECT_EQ(counts("mmaF16").mma[KILN_SIM_MMA_F16], 8u);
}
TEST_F(FragmentTest, bf16) {
  multiply<uint16_t, uint16_t, float>("mmaBf16", 16, -100, 100, -100, 100, bfloat, bfloat);
  EXPECT_EQ(counts("mmaBf16").mma[KILN_SIM_MMA_BF16], 8u);
}
TEST_F(FragmentTest, tf32) {
  multiply<float, float, float>("mmaTf32", 8, -500, 500, -500, 500, same<float>, same<float>);
  EXPECT_EQ(counts("mmaTf32").mma[KILN_SIM_MMA_TF32], 8u);
}
TEST_F(FragmentTest, tf32IgnoresLowBits) {
  load("Fragments");
  // 1 + 2^-11 is 1 when its last 13 bits are not looked at.
  std::vector<float> a(kM * 8, 1.0f + 0x1p-11f), b(8 * kN, 1.0f), c(kM * kN, 0.0f);
  CUdeviceptr d = upload(c);
  ASSERT_EQ(launch("mmaTf32", {1}, {32}, 0, upload(a), upload(b), d), CUDA_SUCCESS);
  EXPECT_EQ(download<float>(d, 1)[0], 8.0f);
}
TEST_F(FragmentTest, bytes) {
  multiply<int8_t, int8_t, int>("mmaS8S8", 32, -128, 127, -128, 127, same<int8_t>, same<int8_t>);
  multiply<int8_t, uint8_t, int>("mmaS8U8", 32, -128, 127, 0, 255, same<int8_t>, same<uint8_t>);
  multiply<uint8_t, int8_t, int>("mmaU8S8", 32, 0, 255, -128, 127, same<uint8_t>, same<int8_t>);
  multiply<uint8_t, uint8_t, int>("mmaU8U8", 32, 0, 255, 0, 255, same<uint8_t>, same<uint8_t>);
  EXPECT_EQ(counts().mma[KILN_SIM_MMA_INT8], 4 * 8u);
}

TEST_F(FragmentTest, ldmatrix) {
  load("Fragments");
  std::vector<uint16_t> x(512);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = uint16_t(i * 77 + 1);
  for (bool transposed : {false, true}) {
    CUdeviceptr y = allocate(256 * 4);
    ASSERT_EQ(launch(transposed ? "ldmatrixTrans" : "ldmatrix", {1}, {32}, 0, upload(x), y),
              CUDA_SUCCESS);
    const std::vector<uint32_t> got = download<uint32_t>(y, 256);
    for (int matrix = 0; matrix < 8; ++matrix)
      for (int lane = 0; lane < 32; ++lane)
        for (int e = 0; e < 2; ++e) {
          const int line = lane / 4, pair = lane % 4 * 2 + e;
          const int row = transposed ? pair : line, column = transposed ? line : pair;
          ASSERT_EQ(uint16_t(got[matrix * 32 + lane] >> 16 * e), x[matrix * 64 + row * 8 + column])
              << matrix << "," << lane;
        }
  }
  EXPECT_EQ(findings().size(), 0u) << sim().report();
}

TEST_F(FragmentTest, conversions) {
  load("Fragments");
  std::vector<float> x(32, 0.0f);
  x[0] = 1.0f + 0x1p-11f; // Half of the last place: away from zero.
  x[1] = -1.0f - 0x1p-11f;
  x[2] = 1.0f + 0x1p-12f;
  x[3] = INFINITY;
  x[4] = 3.14159274f;
  std::vector<int> a(32), b(32);
  for (int i = 0; i < 32; ++i) {
    a[i] = i * 0x01f37b5d;
    b[i] = i * 0x7f4a7c15 + 0x13;
  }
  CUdeviceptr tf32 = allocate(128), products = allocate(256);
  ASSERT_EQ(launch("conversions", {1}, {32}, 0, upload(x), tf32, upload(a), upload(b), products),
            CUDA_SUCCESS);
  const std::vector<uint32_t> bits = download<uint32_t>(tf32, 32);
  EXPECT_EQ(bits[0], 0x3f802000u);
  EXPECT_EQ(bits[1], 0xbf802000u);
  EXPECT_EQ(bits[2], 0x3f800000u);
  EXPECT_EQ(bits[3], 0x7f800000u);
  EXPECT_EQ(bits[4], 0x40490000u);
  const std::vector<int> got = download<int>(products, 64);
  for (int i = 0; i < 32; ++i) {
    int s = 7;
    unsigned u = 7;
    for (int shift = 0; shift < 32; shift += 8) {
      s += int8_t(a[i] >> shift) * int8_t(b[i] >> shift);
      u += unsigned(uint8_t(a[i] >> shift)) * uint8_t(b[i] >> shift);
    }
    EXPECT_EQ(got[i * 2], s);
    EXPECT_EQ(unsigned(got[i * 2 + 1]), u);
  }
  EXPECT_EQ(counts().arithmetic[KILN_SIM_DP4A], 64u);
}

} // namespace
