//===- ParityTest.cpp - Code generation against the reference -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the element builder and the loop kernel must get right whatever the op:
// vectors and their remainders, broadcasts, strides, element types.
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"
#include "gtest/gtest.h"

using namespace kiln;

namespace {

/// Replaces each `$name` in a text.
std::string fill(std::string text, const std::map<std::string, std::string> &values) {
  for (const auto &[name, value] : values)
    for (size_t at; (at = text.find("$" + name)) != std::string::npos;)
      text.replace(at, name.size() + 1, value);
  return text;
}

const char *const allTypes[] = {"i1",   "i8",   "i16", "i32",  "i64", "ui8", "ui16",
                                "ui32", "ui64", "f16", "bf16", "f32", "f64"};

const char *const castTypes[] = {
    "i1",   "i8",       "i16",      "i32",      "i64",      "ui8",        "ui16",   "ui32",
    "ui64", "f16",      "bf16",     "f32",      "f64",      "i2",         "ui2",    "i4",
    "ui4",  "f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ"};

class Casts : public testing::TestWithParam<const char *> {};

/// One kernel casts from a type to all others.
TEST_P(Casts, ToEveryType) {
  std::string from = GetParam(), body, results, types;
  int n = 0;
  for (std::string to : castTypes) {
    if (to == from)
      continue;
    std::string source = "tensor<?x" + from + ", #kiln.dims<\"s0\">>",
                target = "tensor<?x" + to + ", #kiln.dims<\"s0\">>";
    std::string name = "%" + std::to_string(n);
    body += name + " = kiln.cast %x {to = " + to + "} : (" + source + ") -> " + target + "\n";
    results += (n ? ", " : "") + name;
    types += (n ? ", " : "") + target;
    ++n;
  }
  ParityOptions options;
  options.specials = true;
  options.low = -300, options.high = 300;
  expectParity(fill("func.func @f(%x: tensor<?x$from, #kiln.dims<\"s0\">>) -> ($types) {\n"
                    "$body return $results : $types }",
                    {{"from", from}, {"types", types}, {"body", body}, {"results", results}}),
               options);
}
INSTANTIATE_TEST_SUITE_P(Parity, Casts, testing::ValuesIn(castTypes),
                         [](const auto &info) { return std::string(info.param); });

/// Subnormal numbers, ties, and what is beyond the largest, with and without
/// saturation.
TEST(Parity, RoundingToSmallFloats) {
  for (const char *to :
       {"f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ"})
    for (double bound : {1e-4, 0.05, 8.0, 500.0, 70000.0}) {
      SCOPED_TRACE(std::string(to) + " up to " + std::to_string(bound));
      ParityOptions options;
      options.sizes = {509};
      options.specials = true;
      options.low = -bound, options.high = bound;
      options.cpus = {"native"};
      expectParity(
          fill("func.func @f(%x: tensor<?xf32, #kiln.dims<\"s0\">>) -> ($type, $type) {\n"
               "%0 = kiln.cast %x {to = $to} : (tensor<?xf32, #kiln.dims<\"s0\">>) -> $type\n"
               "%1 = kiln.cast %x {saturate = false, to = $to} : (tensor<?xf32, "
               "#kiln.dims<\"s0\">>) -> $type\n"
               "return %0, %1 : $type, $type }",
               {{"type", "tensor<?x" + std::string(to) + ", #kiln.dims<\"s0\">>"}, {"to", to}}),
          options);
    }
}

TEST(Parity, OneDimension) {
  ParityOptions options;
  options.sizes = {0, 1, 15, 16, 17, 1023, 1024, 1025, 5000};
  expectParity(R"mlir(
    func.func @f(%a: tensor<?xf32, #kiln.dims<"s0">>, %b: tensor<?xf32, #kiln.dims<"s0">>)
        -> tensor<?xf32, #kiln.dims<"s0">> {
      %0 = kiln.mul %a, %b : (tensor<?xf32, #kiln.dims<"s0">>, tensor<?xf32, #kiln.dims<"s0">>) -> tensor<?xf32, #kiln.dims<"s0">>
      %1 = kiln.add %0, %a : (tensor<?xf32, #kiln.dims<"s0">>, tensor<?xf32, #kiln.dims<"s0">>) -> tensor<?xf32, #kiln.dims<"s0">>
      return %1 : tensor<?xf32, #kiln.dims<"s0">>
    })mlir",
               options);
}

TEST(Parity, Scalar) {
  expectParity(R"mlir(
    func.func @f(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
      %0 = kiln.sub %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    })mlir");
}

TEST(Parity, BroadcastBothWays) {
  expectParity(R"mlir(
    func.func @f(%a: tensor<?x1x?xf32, #kiln.dims<"s0", "s1">>, %b: tensor<5x1xf32>)
        -> tensor<?x5x?xf32, #kiln.dims<"s0", "s1">> {
      %0 = kiln.add %a, %b : (tensor<?x1x?xf32, #kiln.dims<"s0", "s1">>, tensor<5x1xf32>) -> tensor<?x5x?xf32, #kiln.dims<"s0", "s1">>
      return %0 : tensor<?x5x?xf32, #kiln.dims<"s0", "s1">>
    })mlir");
}

/// Whether a dim is 1 is known at run time only.
TEST(Parity, BroadcastAtRunTime) {
  ParityOptions options;
  options.symbolValues = {{"s0", {1, 1, 7, 7, 1}}, {"s1", {1, 7, 1, 7, 1}}};
  expectParity(R"mlir(
    func.func @f(%a: tensor<3x?xf32, #kiln.dims<"s0">>, %b: tensor<3x?xf32, #kiln.dims<"s1">>)
        -> tensor<3x?xf32, #kiln.dims<"bcast(s0, s1)">> {
      %0 = kiln.add %a, %b : (tensor<3x?xf32, #kiln.dims<"s0">>, tensor<3x?xf32, #kiln.dims<"s1">>) -> tensor<3x?xf32, #kiln.dims<"bcast(s0, s1)">>
      return %0 : tensor<3x?xf32, #kiln.dims<"bcast(s0, s1)">>
    })mlir",
               options);
}

TEST(Parity, BroadcastOverChannels) {
  expectParity(R"mlir(
    func.func @f(%a: tensor<2x3x?x?xf32, #kiln.dims<"s0", "s1">>, %b: tensor<3x1x1xf32>, %c: tensor<f32>)
        -> tensor<2x3x?x?xf32, #kiln.dims<"s0", "s1">> {
      %0 = kiln.mul %a, %b : (tensor<2x3x?x?xf32, #kiln.dims<"s0", "s1">>, tensor<3x1x1xf32>) -> tensor<2x3x?x?xf32, #kiln.dims<"s0", "s1">>
      %1 = kiln.add %0, %c : (tensor<2x3x?x?xf32, #kiln.dims<"s0", "s1">>, tensor<f32>) -> tensor<2x3x?x?xf32, #kiln.dims<"s0", "s1">>
      %2 = kiln.relu %1 : (tensor<2x3x?x?xf32, #kiln.dims<"s0", "s1">>) -> tensor<2x3x?x?xf32, #kiln.dims<"s0", "s1">>
      return %2 : tensor<2x3x?x?xf32, #kiln.dims<"s0", "s1">>
    })mlir");
}

// With every reduced axis of size 1 the shapes before and after are equal.
TEST(Parity, ReductionOverAxisOfSizeOne) {
  expectParity(R"mlir(
    func.func @f(%x: tensor<8x1x1x7xf32>) -> tensor<8x1x1x7xf32> {
      %0 = kiln.abs %x : (tensor<8x1x1x7xf32>) -> tensor<8x1x1x7xf32>
      %1 = kiln.reduce_max %0 {axes = array<i64: 2>, keepdims = true} : (tensor<8x1x1x7xf32>) -> tensor<8x1x1x7xf32>
      return %1 : tensor<8x1x1x7xf32>
    })mlir");
}

// Chunks that lie outside of an operand copy nothing of it.
TEST(Parity, ConcatOfUnevenParts) {
  expectParity(R"mlir(
    func.func @f(%x: tensor<1x19x7x7xf32>, %y: tensor<1x6x7x7xf32>) -> tensor<1x25x7x7xf32> {
      %0 = kiln.concat %x, %y {axis = 1 : i64} : (tensor<1x19x7x7xf32>, tensor<1x6x7x7xf32>) -> tensor<1x25x7x7xf32>
      return %0 : tensor<1x25x7x7xf32>
    })mlir");
}

class Types : public testing::TestWithParam<const char *> {};

TEST_P(Types, Arithmetic) {
  ParityOptions options;
  options.specials = std::string(GetParam())[0] != 'f' && std::string(GetParam())[0] != 'b';
  expectParity(fill(R"mlir(
    func.func @f(%a: $T, %b: $T) -> $T {
      %0 = kiln.mul %a, %b : ($T, $T) -> $T
      %1 = kiln.sub %0, %a : ($T, $T) -> $T
      %2 = kiln.div %1, %b : ($T, $T) -> $T
      return %2 : $T
    })mlir",
                    {{"T", "tensor<3x?x" + std::string(GetParam()) + ", #kiln.dims<\"s0\">>"}}),
               options);
}
INSTANTIATE_TEST_SUITE_P(Parity, Types, testing::ValuesIn(allTypes + 1, std::end(allTypes)),
                         [](const auto &info) { return std::string(info.param); });

class Transposes : public testing::TestWithParam<const char *> {};

/// Strided lanes, of every width that lies in memory, bool among them.
TEST_P(Transposes, InnerAxis) {
  expectParity(fill(R"mlir(
    func.func @f(%a: tensor<?x?x3x$E, #kiln.dims<"s0", "s1">>) -> tensor<3x?x?x$E, #kiln.dims<"s1", "s0">> {
      %0 = kiln.transpose %a {permutation = array<i64: 2, 1, 0>} : (tensor<?x?x3x$E, #kiln.dims<"s0", "s1">>) -> tensor<3x?x?x$E, #kiln.dims<"s1", "s0">>
      return %0 : tensor<3x?x?x$E, #kiln.dims<"s1", "s0">>
    })mlir",
                    {{"E", GetParam()}}));
}
INSTANTIATE_TEST_SUITE_P(Parity, Transposes, testing::Values("i1", "ui8", "f16", "f32", "f64"),
                         [](const auto &info) { return std::string(info.param); });

/// The inner axis of the result has size 1 in the operand of the transpose.
TEST(Parity, TransposeThenAdd) {
  expectParity(R"mlir(
    func.func @f(%a: tensor<?x4xf32, #kiln.dims<"s0">>, %b: tensor<4x?xf32, #kiln.dims<"s0">>) -> tensor<4x?xf32, #kiln.dims<"s0">> {
      %0 = kiln.transpose %a {permutation = array<i64: 1, 0>} : (tensor<?x4xf32, #kiln.dims<"s0">>) -> tensor<4x?xf32, #kiln.dims<"s0">>
      %1 = kiln.add %0, %b : (tensor<4x?xf32, #kiln.dims<"s0">>, tensor<4x?xf32, #kiln.dims<"s0">>) -> tensor<4x?xf32, #kiln.dims<"s0">>
      return %1 : tensor<4x?xf32, #kiln.dims<"s0">>
    })mlir");
}

/// Lanes are given up in the reshape; the rest must still be right.
TEST(Parity, Reshape) {
  expectParity(R"mlir(
    func.func @f(%a: tensor<?x6xf32, #kiln.dims<"s0">>) -> tensor<?xf32, #kiln.dims<"6*s0">> {
      %0 = kiln.reshape %a {shape = #kiln.exprs<"3", "s0", "2">} : (tensor<?x6xf32, #kiln.dims<"s0">>) -> tensor<3x?x2xf32, #kiln.dims<"s0">>
      %1 = kiln.reshape %0 {shape = #kiln.exprs<"6*s0">} : (tensor<3x?x2xf32, #kiln.dims<"s0">>) -> tensor<?xf32, #kiln.dims<"6*s0">>
      %2 = kiln.relu %1 : (tensor<?xf32, #kiln.dims<"6*s0">>) -> tensor<?xf32, #kiln.dims<"6*s0">>
      return %2 : tensor<?xf32, #kiln.dims<"6*s0">>
    })mlir");
}

/// The inner dim keeps neighbours together on one side of the reshape only.
TEST(Parity, ReshapeSplitsInnerDim) {
  expectParity(R"mlir(
    func.func @f(%a: tensor<2x?x24xf32, #kiln.dims<"s0">>) -> tensor<2x?x3x8xf32, #kiln.dims<"s0">> {
      %0 = kiln.reshape %a {shape = #kiln.exprs<"2", "s0", "3", "8">} : (tensor<2x?x24xf32, #kiln.dims<"s0">>) -> tensor<2x?x3x8xf32, #kiln.dims<"s0">>
      return %0 : tensor<2x?x3x8xf32, #kiln.dims<"s0">>
    })mlir");
}

TEST(Parity, ShapeElements) {
  expectParity(R"mlir(
    func.func @f(%a: tensor<?x?x5xf32, #kiln.dims<"s0", "s1">>) -> tensor<3xi64> {
      %0 = kiln.shape %a {start = 0, end = 3} : (tensor<?x?x5xf32, #kiln.dims<"s0", "s1">>) -> tensor<3xi64>
      return %0 : tensor<3xi64>
    })mlir");
}

TEST(Parity, SplatConstant) {
  expectParity(R"mlir(
    func.func @f(%a: tensor<?x9xf16, #kiln.dims<"s0">>) -> (tensor<?x9xf16, #kiln.dims<"s0">>, tensor<?x9xi1, #kiln.dims<"s0">>) {
      %c = kiln.constant dense<2.5> : tensor<f16>
      %0 = kiln.mul %a, %c : (tensor<?x9xf16, #kiln.dims<"s0">>, tensor<f16>) -> tensor<?x9xf16, #kiln.dims<"s0">>
      %1 = kiln.cast %0 {to = i1} : (tensor<?x9xf16, #kiln.dims<"s0">>) -> tensor<?x9xi1, #kiln.dims<"s0">>
      return %0, %1 : tensor<?x9xf16, #kiln.dims<"s0">>, tensor<?x9xi1, #kiln.dims<"s0">>
    })mlir");
}

} // namespace
