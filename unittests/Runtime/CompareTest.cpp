//===- CompareTest.cpp - Differences and tolerances -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Compare.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace kiln::run;

template <typename T> static HostTensor tensorOf(DLDataType type, std::vector<T> values) {
  HostTensor tensor;
  tensor.type = type;
  tensor.shape = {int64_t(values.size())};
  EXPECT_FALSE(tensor.allocate());
  if (!values.empty())
    std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}
static HostTensor floats(std::vector<float> values) {
  return tensorOf<float>({kDLFloat, 32, 1}, std::move(values));
}

TEST(Compare, NanEqualsNanAndZerosAreEqual) {
  Comparison result = compare(floats({NAN, 0.0f, INFINITY}), floats({NAN, -0.0f, INFINITY}), {});
  EXPECT_TRUE(result.accepted());
  EXPECT_EQ(result.maxUlp, 0u);
  EXPECT_FALSE(compare(floats({NAN}), floats({1}), {}).accepted());
  EXPECT_FALSE(compare(floats({INFINITY}), floats({-INFINITY}), {}).accepted());
  EXPECT_FALSE(compare(floats({INFINITY}), floats({1e30f}), {}).accepted());
  EXPECT_FALSE(compare(floats({1e30f}), floats({INFINITY}), {}).accepted());
}

TEST(Compare, FindsTheWorst) {
  HostTensor got = floats({1, 2, 3.1f, 4}), expected = floats({1, 2, 3, 4.001f});
  got.shape = expected.shape = {2, 2};
  Comparison result = compare(got, expected, {});
  EXPECT_EQ(result.rejected, 1u);
  EXPECT_EQ(result.worstIndex, (std::vector<int64_t>{1, 0}));
  EXPECT_NEAR(result.maxAbs, 0.1, 1e-6);
  EXPECT_NEAR(result.maxScaled, 0.1 / 4.001, 1e-6);
  EXPECT_EQ(result.histogram[0], 2u);
  EXPECT_NE(describe(result, "y", got.type).find("worst at [1, 0]: got 3.0999"), std::string::npos);
}

TEST(Compare, CountsUlps) {
  float next = std::nextafterf(std::nextafterf(1.0f, 2), 2);
  Tolerance two, one;
  two.maxUlp = 2;
  one.maxUlp = 1;
  EXPECT_TRUE(compare(floats({next}), floats({1}), two).accepted());
  EXPECT_FALSE(compare(floats({next}), floats({1}), one).accepted());
  EXPECT_EQ(compare(floats({next}), floats({1}), one).maxUlp, 2u);
  float tiny = std::nextafterf(0, 1);
  EXPECT_EQ(compare(floats({-tiny}), floats({tiny}), one).maxUlp, 2u);
  HostTensor half = tensorOf<uint16_t>({kDLFloat, 16, 1}, {0x3c01}),
             other = tensorOf<uint16_t>({kDLFloat, 16, 1}, {0x3c00});
  EXPECT_EQ(compare(half, other, one).maxUlp, 1u);
  HostTensor wide = tensorOf<double>({kDLFloat, 64, 1}, {-1.0}),
             far = tensorOf<double>({kDLFloat, 64, 1}, {1.0});
  EXPECT_GT(compare(wide, far, one).maxUlp, uint64_t(1) << 62);
}

TEST(Compare, IntegersAreExact) {
  DLDataType type = {kDLInt, 64, 1};
  int64_t large = (int64_t(1) << 60) + 1;
  Tolerance loose;
  loose.atol = 100;
  EXPECT_FALSE(
      compare(tensorOf<int64_t>(type, {large}), tensorOf<int64_t>(type, {large - 1}), loose)
          .accepted());
  EXPECT_TRUE(
      compare(tensorOf<int64_t>(type, {large}), tensorOf<int64_t>(type, {large}), {}).accepted());
}

TEST(Compare, OtherShapesAndTypesSaySo) {
  EXPECT_EQ(compare(floats({1}), floats({1, 2}), {}).mismatch, "expected shape [2], got [1]");
  EXPECT_EQ(compare(floats({1}), tensorOf<int32_t>({kDLInt, 32, 1}, {1}), {}).mismatch,
            "expected int32, got float32");
  EXPECT_TRUE(compare(floats({}), floats({}), {}).accepted());
}
