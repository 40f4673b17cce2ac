//===- TensorFilesTest.cpp - Reading and writing .npy and .pb files -------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TensorFiles.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace kiln::run;

static HostTensor makeTensor(DLDataType type, std::vector<int64_t> shape) {
  HostTensor tensor;
  tensor.type = type;
  tensor.shape = std::move(shape);
  EXPECT_FALSE(tensor.allocate());
  fillRandom(tensor, 5);
  return tensor;
}

TEST(NpyFile, RoundTrip) {
  const DLDataType types[] = {{kDLFloat, 32, 1}, {kDLFloat, 64, 1}, {kDLFloat, 16, 1},
                              {kDLInt, 64, 1},   {kDLInt, 8, 1},    {kDLUInt, 16, 1},
                              {kDLBool, 8, 1}};
  for (DLDataType type : types)
    for (const std::vector<int64_t> &shape :
         {std::vector<int64_t>{}, {3}, {2, 3, 4}, {0, 5}, {1, 1}}) {
      HostTensor tensor = makeTensor(type, shape), read;
      std::string npy = formatNpy(tensor);
      EXPECT_EQ((npy.size() - tensor.bytes.size()) % 64, 0u);
      Failure failure = parseNpy(npy, read);
      ASSERT_FALSE(failure) << failure.message;
      EXPECT_TRUE(read.type == type);
      EXPECT_EQ(read.shape, shape);
      EXPECT_EQ(read.bytes, tensor.bytes);
    }
}

TEST(NpyFile, ReadsColumnMajor) {
  std::string header = "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }\n";
  std::string npy = std::string("\x93NUMPY\x01\x00", 8) + char(header.size()) + '\0' + header;
  int32_t columns[] = {1, 4, 2, 5, 3, 6};
  npy.append(reinterpret_cast<const char *>(columns), sizeof columns);
  HostTensor tensor;
  ASSERT_FALSE(parseNpy(npy, tensor));
  for (int i = 0; i != 6; ++i)
    EXPECT_EQ(tensor.valueAt(uint64_t(i)), i + 1);
}

TEST(NpyFile, RefusesDamage) {
  std::string npy = formatNpy(makeTensor({kDLFloat, 32, 1}, {4, 4}));
  HostTensor tensor;
  for (size_t size = 0; size < npy.size(); ++size)
    EXPECT_TRUE(parseNpy(std::string_view(npy).substr(0, size), tensor)) << size;
  for (const char *header : {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }",
                             "{'descr': '<f4', 'shape': (1, x), }", "{'descr': '<O8'}", ""}) {
    std::string text =
        std::string("\x93NUMPY\x01\x00", 8) + char(std::strlen(header)) + '\0' + header;
    EXPECT_TRUE(parseNpy(text + std::string(64, 0), tensor)) << header;
  }
}

/// Fields of a TensorProto: numbers as varints, the rest with a length.
static std::string field(unsigned number, uint64_t value) {
  std::string text(1, char(number << 3));
  for (; value >= 128; value >>= 7)
    text += char(value | 128);
  return text + char(value);
}
static std::string field(unsigned number, const std::string &bytes) {
  return std::string(1, char(number << 3 | 2)) + char(bytes.size()) + bytes;
}

TEST(OnnxTensor, ReadsRawAndTypedData) {
  float values[] = {1, -2, 0.5f};
  std::string bytes(reinterpret_cast<const char *>(values), sizeof values);
  HostTensor tensor;
  ASSERT_FALSE(
      parseTensorProto(field(1, 3) + field(2, 1) + field(8, "x") + field(9, bytes), tensor));
  EXPECT_EQ(tensor.name, "x");
  EXPECT_EQ(tensor.valueAt(1), -2);
  ASSERT_FALSE(
      parseTensorProto(field(1, std::string("\x01\x03")) + field(2, 1) + field(4, bytes), tensor));
  EXPECT_EQ(tensor.shape, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(tensor.valueAt(2), 0.5);
  // Negative numbers are ten bytes; 16-bit floats travel as int32.
  ASSERT_FALSE(
      parseTensorProto(field(1, 2) + field(2, 7) + field(7, uint64_t(-5)) + field(7, 9), tensor));
  EXPECT_EQ(tensor.valueAt(0), -5);
  ASSERT_FALSE(parseTensorProto(field(1, 1) + field(2, 10) + field(5, 0x3c00), tensor));
  EXPECT_EQ(tensor.valueAt(0), 1);
  ASSERT_FALSE(parseTensorProto(field(2, 9) + field(5, 1), tensor));
  EXPECT_TRUE(tensor.shape.empty());
  EXPECT_EQ(tensor.valueAt(0), 1);
}

TEST(OnnxTensor, RefusesDamage) {
  HostTensor tensor;
  std::string proto = field(1, 3) + field(2, 1) + field(9, std::string(12, 0));
  for (size_t size = 1; size < proto.size(); ++size)
    EXPECT_TRUE(parseTensorProto(std::string_view(proto).substr(0, size), tensor)) << size;
  EXPECT_TRUE(parseTensorProto(field(1, 4) + field(2, 1) + field(9, std::string(12, 0)), tensor));
  EXPECT_TRUE(parseTensorProto(field(1, 3) + field(2, 8) + field(9, std::string(12, 0)), tensor));
  EXPECT_TRUE(parseTensorProto(field(1, uint64_t(1) << 62) + field(2, 1), tensor));
  EXPECT_TRUE(parseTensorProto(proto + field(14, 1), tensor));
}

TEST(HostTensor, HalvesAndBfloatsRound) {
  for (uint32_t bits = 0; bits != 0x10000; ++bits) {
    auto half = uint16_t(bits);
    float value = halfToFloat(half);
    if (value == value) {
      EXPECT_EQ(floatToHalf(value), half) << bits;
    }
    float wide = bfloatToFloat(half);
    if (wide == wide) {
      EXPECT_EQ(floatToBfloat(wide), half) << bits;
    }
  }
  EXPECT_EQ(floatToHalf(1 + 0x1p-11f), 0x3c00);
  EXPECT_EQ(floatToHalf(1 + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(floatToHalf(65519.0f), 0x7bff);
  EXPECT_EQ(floatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(floatToHalf(0x1p-25f), 0);
}
