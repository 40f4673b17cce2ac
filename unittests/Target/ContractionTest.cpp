//===- ContractionTest.cpp - Matrix products and convolutions -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"
#include "RegionText.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace kiln;

namespace {

void check(const MatMulCase &c, ParityOptions options = {}) {
  std::string text = matMulText(c);
  SCOPED_TRACE(text.substr(0, 300));
  if (c.element == "f32" && options.tolerance == 0)
    options.tolerance = 2e-5;
  expectParity(text, options);
}

TEST(MatMul, StaticRows) {
  for (const char *rows : {"1", "2", "3", "5", "6", "7", "12", "13", "25", "64", "131"})
    check({{rows, "19"}, {"19", "32"}, {rows, "32"}, "f32", false, false, true});
}

TEST(MatMul, StaticColumns) {
  for (const char *columns : {"1", "3", "8", "15", "16", "17", "48", "50", "100"})
    check({{"7", "9"}, {"9", columns}, {"7", columns}, "f32", false, false, true});
}

TEST(MatMul, DynamicRows) {
  ParityOptions options;
  options.sizes = {0, 1, 2, 3, 5, 6, 7, 8, 11, 12, 13, 14, 17, 18, 19, 23, 24, 25, 30, 100, 200};
  check({{"s0", "40"}, {"40", "70"}, {"s0", "70"}, "f32", false, false, true}, options);
}

TEST(MatMul, AllDynamic) {
  check({{"s0", "s1"}, {"s1", "s2"}, {"s0", "s2"}});
  check({{"s1", "s0"}, {"s1", "s2"}, {"s0", "s2"}, "f32", true});
  check({{"s0", "s1"}, {"s2", "s1"}, {"s0", "s2"}, "f32", false, true});
  check({{"s1", "s0"}, {"s2", "s1"}, {"s0", "s2"}, "f32", true, true});
}

TEST(MatMul, EmptyInner) { check({{"3", "0"}, {"0", "s0"}, {"3", "s0"}}); }

TEST(MatMul, BigRowsAreBlocked) {
  ParityOptions options;
  options.scale = 20;
  check({{"500", "400"}, {"400", "36"}, {"500", "36"}, "f32", false, false, true}, options);
  options.sizes = {311};
  check({{"s0", "600"}, {"600", "90"}, {"s0", "90"}, "f32", false, false, true}, options);
}

TEST(MatMul, Batches) {
  check({{"s0", "5", "7", "9"}, {"s0", "5", "9", "11"}, {"s0", "5", "7", "11"}});
  check({{"5", "7", "9"}, {"s0", "1", "9", "11"}, {"s0", "5", "7", "11"}});
  check({{"s0", "3", "7", "9"}, {"9", "20"}, {"s0", "3", "7", "20"}, "f32", false, false, true});
  check({{"s0", "3", "9", "7"}, {"9", "20"}, {"s0", "3", "7", "20"}, "f32", true, false, true});
  check({{"7", "9"}, {"3", "20", "9"}, {"3", "7", "20"}, "f32", false, true, true});
}

TEST(MatMul, BatchBroadcastAtRunTime) {
  ParityOptions options;
  options.symbolValues = {{"s0", {1, 1, 4, 4}}, {"s1", {1, 4, 1, 4}}};
  check({{"s0", "7", "9"}, {"s1", "9", "11"}, {"bcast(s0, s1)", "7", "11"}}, options);
}

TEST(MatMul, ElementTypes) {
  for (const char *element : {"f16", "bf16", "f64", "i32", "i64", "ui32", "ui64", "i8"}) {
    check({{"s0", "21"}, {"21", "37"}, {"s0", "37"}, element});
    if (std::string(element).find('u') == std::string::npos && std::string(element) != "i8")
      check({{"s0", "21"}, {"37", "21"}, {"s0", "37"}, element, false, true, true});
  }
}

/// Bias and residual in registers.
TEST(MatMul, Epilogue) {
  MatMulCase c{{"s0", "30"}, {"30", "40"}, {"s0", "40"}, "f32", false, false, true};
  std::string y = tensorText(c.y, "f32");
  c.extraArguments = ", %bias: tensor<40xf32>, %res: " + y;
  c.epilogue = llvm::formatv(R"mlir(
    %0 = kiln.add %y, %bias : ({0}, tensor<40xf32>) -> {0}
    %1 = kiln.add %res, %0 : ({0}, {0}) -> {0}
    %z = kiln.relu %1 : ({0}) -> {0}
  )mlir",
                             y)
                   .str();
  check(c);
  c.a = {"s0", "5", "30"};
  c.y = {"s0", "5", "40"};
  y = tensorText(c.y, "f32");
  // The bias hangs on the middle dim: rows cannot be one.
  c.extraArguments = ", %bias: tensor<5x1xf32>, %res: " + y;
  c.epilogue = llvm::formatv(R"mlir(
    %0 = kiln.add %y, %bias : ({0}, tensor<5x1xf32>) -> {0}
    %z = kiln.mul %res, %0 : ({0}, {0}) -> {0}
  )mlir",
                             y)
                   .str();
  check(c);
}

/// An epilogue too long for registers, and one that cannot work on lanes.
TEST(MatMul, LongEpilogue) {
  MatMulCase c{{"s0", "30"}, {"30", "40"}, {"s0", "40"}, "f32", false, false, true};
  std::string y = tensorText(c.y, "f32");
  c.epilogue = llvm::formatv(R"mlir(
    %0 = kiln.sigmoid %y : ({0}) -> {0}
    %z = kiln.mul %y, %0 : ({0}, {0}) -> {0}
  )mlir",
                             y)
                   .str();
  check(c);
}

/// Attention: heads split by views in front of both operands.
TEST(MatMul, OperandsThroughViews) {
  ParityOptions options;
  options.sizes = {1, 5, 17, 40};
  options.tolerance = 2e-5;
  expectParity(R"mlir(
    func.func @f(%q: tensor<2x?x24xf32, #kiln.dims<"s0">>, %k: tensor<2x?x24xf32, #kiln.dims<"s1">>)
        -> tensor<2x3x?x?xf32, #kiln.dims<"s0", "s1">> {
      %0 = kiln.reshape %q {shape = #kiln.exprs<"2", "s0", "3", "8">} : (tensor<2x?x24xf32, #kiln.dims<"s0">>) -> tensor<2x?x3x8xf32, #kiln.dims<"s0">>
      %1 = kiln.transpose %0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x?x3x8xf32, #kiln.dims<"s0">>) -> tensor<2x3x?x8xf32, #kiln.dims<"s0">>
      %2 = kiln.reshape %k {shape = #kiln.exprs<"2", "s1", "3", "8">} : (tensor<2x?x24xf32, #kiln.dims<"s1">>) -> tensor<2x?x3x8xf32, #kiln.dims<"s1">>
      %3 = kiln.transpose %2 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x?x3x8xf32, #kiln.dims<"s1">>) -> tensor<2x3x?x8xf32, #kiln.dims<"s1">>
      %4 = kiln.matmul %1, %3 {trans_b = true} : (tensor<2x3x?x8xf32, #kiln.dims<"s0">>, tensor<2x3x?x8xf32, #kiln.dims<"s1">>) -> tensor<2x3x?x?xf32, #kiln.dims<"s0", "s1">>
      %c = kiln.constant dense<0.125> : tensor<f32>
      %5 = kiln.mul %4, %c : (tensor<2x3x?x?xf32, #kiln.dims<"s0", "s1">>, tensor<f32>) -> tensor<2x3x?x?xf32, #kiln.dims<"s0", "s1">>
      return %5 : tensor<2x3x?x?xf32, #kiln.dims<"s0", "s1">>
    })mlir",
               options);
  // The merged heads have no single stride: A is packed.
  expectParity(R"mlir(
    func.func @f(%x: tensor<2x3x?x8xf32, #kiln.dims<"s0">>, %w: tensor<24x20xf32>)
        -> tensor<2x?x20xf32, #kiln.dims<"s0">> {
      %0 = kiln.transpose %x {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x?x8xf32, #kiln.dims<"s0">>) -> tensor<2x?x3x8xf32, #kiln.dims<"s0">>
      %1 = kiln.reshape %0 {shape = #kiln.exprs<"2", "s0", "24">} : (tensor<2x?x3x8xf32, #kiln.dims<"s0">>) -> tensor<2x?x24xf32, #kiln.dims<"s0">>
      %2 = kiln.matmul %1, %w {trans_b = false} : (tensor<2x?x24xf32, #kiln.dims<"s0">>, tensor<24x20xf32>) -> tensor<2x?x20xf32, #kiln.dims<"s0">>
      return %2 : tensor<2x?x20xf32, #kiln.dims<"s0">>
    })mlir",
               options);
}

} // namespace
