//===- TensorDataTest.cpp - Elements of a tensor in memory ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Reference/TensorData.h"
#include "dialects/Kiln/ops/Constant/Constant.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace kiln;
using namespace mlir;

namespace {
class TensorDataTest : public testing::Test {
protected:
  TensorDataTest() { context.loadDialect<KilnDialect>(); }

  Type f(unsigned width) {
    return width == 16 ? Type(b.getF16Type()) : width == 32 ? b.getF32Type() : Type(b.getF64Type());
  }
  Type i(unsigned width) { return b.getIntegerType(width); }
  Type u(unsigned width) { return b.getIntegerType(width, /*isSigned=*/false); }
  RankedTensorType tensor(ArrayRef<int64_t> shape, Type element) {
    return RankedTensorType::get(shape, element);
  }

  MLIRContext context;
  Builder b{&context};
};
} // namespace

TEST_F(TensorDataTest, CountsBytes) {
  EXPECT_EQ(elementBytes(i(1)), 1);
  EXPECT_EQ(elementBytes(u(16)), 2);
  EXPECT_EQ(elementBytes(b.getBF16Type()), 2);
  EXPECT_EQ(elementBytes(f(64)), 8);
  TensorData data(tensor({2, 3}, f(32)));
  EXPECT_EQ(data.size(), 6);
  EXPECT_EQ(data.byteSize(), 24);
  EXPECT_EQ(data.rank(), 2);
  EXPECT_EQ(TensorData(tensor({}, i(64))).size(), 1);
  EXPECT_EQ(TensorData(tensor({3, 0}, i(64))).byteSize(), 0);
}

TEST_F(TensorDataTest, StartsWithZeros) {
  TensorData data(tensor({5}, i(32)));
  for (int64_t at = 0; at < 5; ++at)
    EXPECT_EQ(data.getInt(at), 0);
}

TEST_F(TensorDataTest, ExtendsIntegersAsTheirTypeSays) {
  for (unsigned width : {8u, 16u, 32u, 64u}) {
    TensorData plain(tensor({2}, i(width))), positive(tensor({2}, u(width)));
    plain.setInt(1, -1);
    positive.setInt(1, -1);
    EXPECT_EQ(plain.getInt(1), -1) << width;
    EXPECT_EQ(positive.getInt(1),
              width == 64 ? -1 : static_cast<int64_t>((uint64_t(1) << width) - 1));
    EXPECT_EQ(plain.getInt(0), 0) << "a neighbour";
  }
}

TEST_F(TensorDataTest, WrapsIntegers) {
  TensorData bytes(tensor({1}, i(8)));
  bytes.setInt(0, 200);
  EXPECT_EQ(bytes.getInt(0), -56);
  TensorData words(tensor({1}, u(16)));
  words.setInt(0, 65536 + 3);
  EXPECT_EQ(words.getInt(0), 3);
}

TEST_F(TensorDataTest, HoldsBoolAsOneByte) {
  TensorData data(tensor({3}, i(1)));
  data.setInt(1, 256); // no bit of the low byte is set
  data.setInt(2, -1);
  EXPECT_EQ(data.getInt(0), 0);
  EXPECT_EQ(data.getInt(1), 1);
  EXPECT_EQ(data.getInt(2), 1);
  EXPECT_EQ(data.bytes()[2], 1);
}

TEST_F(TensorDataTest, ReadsUnsignedLargestAsDouble) {
  TensorData data(tensor({1}, u(64)));
  data.setInt(0, -1);
  EXPECT_EQ(data.getFloat(0), 18446744073709551616.0);
}

TEST_F(TensorDataTest, RoundsFloatsToNearestEven) {
  TensorData half(tensor({4}, f(16)));
  half.setFloat(0, 2049);  // between 2048 and 2050
  half.setFloat(1, 2051);  // between 2050 and 2052
  half.setFloat(2, 70000); // past the largest
  half.setFloat(3, std::ldexp(1.0, -24));
  EXPECT_EQ(half.getFloat(0), 2048);
  EXPECT_EQ(half.getFloat(1), 2052);
  EXPECT_TRUE(std::isinf(half.getFloat(2)));
  EXPECT_EQ(half.getFloat(3), std::ldexp(1.0, -24)) << "the smallest subnormal";

  TensorData brain(tensor({1}, b.getBF16Type()));
  brain.setFloat(0, 1.00390625); // 1 + 2^-8, half way
  EXPECT_EQ(brain.getFloat(0), 1.0);

  TensorData single(tensor({1}, f(32)));
  single.setFloat(0, 0.1);
  EXPECT_EQ(single.getFloat(0), static_cast<double>(0.1f));
}

TEST_F(TensorDataTest, KeepsSpecialFloats) {
  for (Type type : {f(16), Type(b.getBF16Type()), f(32), f(64)}) {
    TensorData data(tensor({3}, type));
    data.setFloat(0, std::numeric_limits<double>::quiet_NaN());
    data.setFloat(1, -std::numeric_limits<double>::infinity());
    data.setFloat(2, -0.0);
    EXPECT_TRUE(std::isnan(data.getFloat(0)));
    EXPECT_EQ(data.getFloat(1), -std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::signbit(data.getFloat(2)));
  }
}

TEST_F(TensorDataTest, SaturatesWhenAskedTo) {
  TensorData plain(tensor({4}, i(8))), positive(tensor({2}, u(8))), wide(tensor({2}, i(64)));
  plain.setSaturated(0, 1e9);
  plain.setSaturated(1, -1e9);
  plain.setSaturated(2, std::numeric_limits<double>::quiet_NaN());
  plain.setSaturated(3, -2.9);
  positive.setSaturated(0, -1);
  positive.setSaturated(1, 255.9);
  wide.setSaturated(0, 1e300);
  wide.setSaturated(1, -1e300);
  EXPECT_EQ(plain.getInt(0), 127);
  EXPECT_EQ(plain.getInt(1), -128);
  EXPECT_EQ(plain.getInt(2), 0);
  EXPECT_EQ(plain.getInt(3), -2);
  EXPECT_EQ(positive.getInt(0), 0);
  EXPECT_EQ(positive.getInt(1), 255);
  EXPECT_EQ(wide.getInt(0), INT64_MAX);
  EXPECT_EQ(wide.getInt(1), INT64_MIN);
}

TEST_F(TensorDataTest, ReadsUnalignedBytes) {
  alignas(8) char buffer[17] = {};
  double value = 1.5;
  std::memcpy(buffer + 1, &value, sizeof(value));
  std::memcpy(buffer + 9, &value, sizeof(value));
  TensorData data(tensor({2}, f(64)), buffer + 1);
  EXPECT_EQ(data.getFloat(1), 1.5);
  EXPECT_TRUE(data.isSplat());
}

TEST_F(TensorDataTest, ReshapesWithoutACopy) {
  TensorData data(tensor({2, 3}, i(64)));
  data.setInt(5, 9);
  TensorData flat = data.reshaped(tensor({6}, i(64)));
  EXPECT_EQ(flat.bytes(), data.bytes());
  EXPECT_EQ(flat.getInt(5), 9);
}

TEST_F(TensorDataTest, TellsSplatsByTheirBytes) {
  TensorData data(tensor({2}, f(32)));
  EXPECT_TRUE(data.isSplat());
  data.setFloat(1, -0.0);
  EXPECT_FALSE(data.isSplat()) << "0 and -0 are equal but not the same";
  EXPECT_FALSE(TensorData(tensor({0}, f(32))).isSplat());
  EXPECT_TRUE(TensorData(tensor({}, f(32))).isSplat());
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

TEST_F(TensorDataTest, CopiesDenseAttributes) {
  auto attr = DenseElementsAttr::get(tensor({3}, i(64)), ArrayRef<int64_t>{1, -2, 3});
  auto data = tensorDataOf(attr);
  ASSERT_TRUE(data);
  EXPECT_EQ(data->getInt(1), -2);
  auto splat = tensorDataOf(DenseElementsAttr::get(tensor({2, 2}, f(32)), 0.5f));
  ASSERT_TRUE(splat);
  EXPECT_EQ(splat->getFloat(3), 0.5);
  auto flags = tensorDataOf(DenseElementsAttr::get(tensor({3}, i(1)), {true, false, true}));
  ASSERT_TRUE(flags);
  EXPECT_EQ(flags->getInt(0), 1);
  EXPECT_EQ(flags->getInt(1), 0);
}

TEST_F(TensorDataTest, FewElementsBecomeDense) {
  for (Type type : {i(1), i(8), u(8), i(64), u(64), f(16), Type(b.getBF16Type()), f(32), f(64)}) {
    TensorData data(tensor({4}, type));
    for (int64_t at = 0; at < 4; ++at)
      data.setFloat(at, static_cast<double>(at % 2));
    ElementsAttr attr = elementsAttr(data);
    EXPECT_TRUE(isa<DenseElementsAttr>(attr));
    auto back = tensorDataOf(attr);
    ASSERT_TRUE(back);
    EXPECT_EQ(StringRef(back->bytes(), back->byteSize()), StringRef(data.bytes(), data.byteSize()));
  }
}

TEST_F(TensorDataTest, ManyEqualElementsStayOne) {
  TensorData data(tensor({1000, 1000}, f(32)));
  for (int64_t at = 0; at < data.size(); ++at)
    data.setFloat(at, 2.5);
  auto attr = dyn_cast<DenseElementsAttr>(elementsAttr(data));
  ASSERT_TRUE(attr);
  EXPECT_TRUE(attr.isSplat());
}

TEST_F(TensorDataTest, ManyElementsBecomeAResourceWithoutACopy) {
  std::weak_ptr<int> alive;
  {
    auto owner = std::make_shared<int>(1);
    alive = owner;
    static const int64_t numbers[32] = {0, 1, 2, 3};
    TensorData data(tensor({32}, i(64)), reinterpret_cast<const char *>(numbers), owner);
    ElementsAttr attr = elementsAttr(data, "w");
    owner.reset();
    ASSERT_TRUE(isa<DenseResourceElementsAttr>(attr));
    data = TensorData();
    EXPECT_FALSE(alive.expired()) << "the attribute keeps the bytes";
    auto back = tensorDataOf(attr);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->bytes(), reinterpret_cast<const char *>(numbers));
    EXPECT_EQ(back->getInt(3), 3);
  }
}

TEST_F(TensorDataTest, ResourcesThatAreTooShortHoldNothing) {
  static const char bytes[7] = {};
  AsmResourceBlob blob(ArrayRef<char>(bytes), 1, [](void *, size_t, size_t) {}, false);
  auto attr = DenseResourceElementsAttr::get(tensor({2}, f(32)), "short", std::move(blob));
  EXPECT_FALSE(tensorDataOf(attr));
}

TEST_F(TensorDataTest, FindsTheConstantBehindAValue) {
  OpBuilder builder(&context);
  auto loc = builder.getUnknownLoc();
  auto attr = DenseElementsAttr::get(tensor({2}, i(64)), ArrayRef<int64_t>{4, 5});
  OwningOpRef<ConstantOp> constant = ConstantOp::create(builder, loc, attr);
  EXPECT_EQ(constantOf(constant->getResult()), attr);
  Block block;
  EXPECT_FALSE(constantOf(block.addArgument(attr.getType(), loc)));
}
