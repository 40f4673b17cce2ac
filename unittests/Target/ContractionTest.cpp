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

/// Rows that are normalised while they are in the cache.
TEST(MatMul, RowsAreFinished) {
  for (const char *columns : {"40", "64", "7"})
    for (const char *norm : {"standardize", "rms_normalize"}) {
      MatMulCase c{
          {"s0", "32", "30"}, {"30", columns}, {"s0", "32", columns}, "f32", false, false, true};
      std::string y = tensorText(c.y, "f32"), row = tensorText({columns}, "f32");
      c.extraArguments = ", %bias: " + row + ", %res: " + y + ", %gamma: " + row;
      c.epilogue = llvm::formatv(R"mlir(
        %0 = kiln.add %y, %bias : ({0}, {1}) -> {0}
        %1 = kiln.add %res, %0 : ({0}, {0}) -> {0}
        %2 = kiln.{2} %1 {{axis = 2 : i64, epsilon = 1.0e-5 : f64} : ({0}) -> {0}
        %3 = kiln.mul %2, %gamma : ({0}, {1}) -> {0}
        %z = kiln.add %3, %res : ({0}, {0}) -> {0}
      )mlir",
                                 y, row, norm)
                       .str();
      ParityOptions options;
      options.sizes = {0, 1, 3};
      check(c, options);
      // Of which nothing lies as it is multiplied.
      c.transA = true;
      c.a = {"s0", "30", "32"};
      check(c, options);
      c.constantB = false;
      check(c, options);
    }
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

void checkConv(ConvCase c, ParityOptions options = {}) {
  std::string text = convText(c);
  SCOPED_TRACE(text.substr(0, 400));
  if (c.element == "f32" && options.tolerance == 0)
    options.tolerance = 2e-5;
  if (options.scale == 1)
    options.scale = 10;
  options.sizes =
      options.sizes.size() == 12 ? std::vector<int64_t>{7, 3, 16, 5, 33} : options.sizes;
  expectParity(text, options);
}

TEST(Conv, OneByOne) {
  checkConv({{"2", "5", "6", "7"}, {"13", "5", "1", "1"}});
  checkConv({{"1", "20", "9", "16"}, {"50", "20", "1", "1"}});
  checkConv({{"s0", "6", "s1", "s2"}, {"9", "6", "1", "1"}});
  checkConv({{"1", "6", "13", "13"}, {"9", "6", "1", "1"}, {2, 2}});
  checkConv({{"1", "6", "s0", "s1"}, {"9", "6", "1", "1"}, {2, 3}});
}

TEST(Conv, ThreeByThree) {
  std::vector<std::string> ones(4, "1");
  for (int64_t width : {5, 7, 8, 14, 15, 16, 17, 20, 33})
    checkConv({{"1", "4", "9", std::to_string(width)}, {"14", "4", "3", "3"}, {}, {}, ones});
  checkConv({{"2", "3", "17", "19"}, {"8", "3", "3", "3"}, {2, 2}, {}, ones});
  checkConv({{"2", "3", "17", "19"}, {"8", "3", "3", "3"}, {1, 1}, {2, 3}, ones});
  checkConv({{"2", "3", "17", "19"}, {"8", "3", "3", "3"}, {2, 3}, {3, 2}, {"0", "2", "3", "1"}});
  checkConv({{"s0", "3", "s1", "s2"}, {"8", "3", "3", "3"}, {}, {}, ones});
  checkConv({{"s0", "3", "s1", "s2"}, {"8", "3", "3", "3"}, {2, 2}, {}, ones});
  // One pixel a row: vectors span as many rows as they have lanes.
  checkConv({{"1", "3", "40", "3"}, {"8", "3", "3", "3"}, {}, {}, {"1", "0", "1", "0"}});
}

/// Enough channels for minimal filtering: F(2x2) on small images, F(4x4) on
/// others; tiles that end inside and at the edge, rows of several vectors.
TEST(Conv, MinimalFiltering) {
  std::vector<std::string> ones(4, "1");
  ParityOptions options;
  options.tolerance = 5e-5;
  for (int64_t size : {7, 8, 9, 14, 17, 28})
    checkConv({{"1", "16", std::to_string(size), std::to_string(size)},
               {"28", "16", "3", "3"},
               {},
               {},
               ones},
              options);
  checkConv({{"2", "20", "11", "150"}, {"17", "20", "3", "3"}, {}, {}, {"2", "0", "1", "3"}},
            options);
  checkConv({{"1", "32", "13", "18"}, {"32", "16", "3", "3"}, {}, {}, {"0", "0", "0", "0"}, 2},
            options);
  options.sizes = {1, 4, 5, 16, 21};
  checkConv({{"s0", "16", "s1", "s2"}, {"24", "16", "3", "3"}, {}, {}, ones}, options);
}

TEST(Conv, OtherKernels) {
  checkConv({{"1", "3", "23", "22"}, {"10", "3", "7", "7"}, {2, 2}, {}, {"3", "3", "3", "3"}});
  checkConv({{"1", "3", "12", "22"}, {"10", "3", "1", "5"}, {}, {}, {"0", "2", "0", "2"}});
  checkConv({{"1", "3", "22", "12"}, {"10", "3", "4", "2"}, {3, 1}, {}, {"0", "1", "2", "0"}});
  checkConv({{"1", "3", "4", "4"}, {"10", "3", "4", "4"}});
  // Patches: strides of many phases.
  checkConv({{"1", "3", "33", "40"}, {"8", "3", "8", "8"}, {8, 8}});
  checkConv({{"2", "3", "20", "32"}, {"8", "3", "7", "9"}, {6, 8}, {}, {"3", "4", "2", "4"}});
  // A single channel with many outputs.
  checkConv({{"1", "1", "9", "130"}, {"12", "1", "3", "5"}, {1, 5}, {}, {"1", "2", "1", "2"}});
  // Pads that cut off.
  checkConv({{"1", "3", "12", "12"}, {"4", "3", "3", "3"}, {}, {}, {"-1", "0", "0", "-2"}});
}

TEST(Conv, OneAndThreeDims) {
  checkConv({{"2", "5", "50"}, {"12", "5", "3"}, {}, {}, {"1", "1"}});
  checkConv({{"1", "5", "s0"}, {"12", "5", "5"}, {2}, {}, {"2", "2"}});
  ParityOptions large;
  large.sizes = {1000, 300};
  checkConv({{"1", "2", "s0"}, {"4", "2", "4"}, {2}, {3}, {"4", "5"}}, large);
  checkConv({{"1", "3", "5", "6", "7"},
             {"6", "3", "3", "3", "3"},
             {},
             {},
             {"1", "1", "1", "1", "1", "1"}});
  checkConv({{"2", "3", "5", "9", "7"},
             {"6", "3", "2", "3", "1"},
             {2, 2, 1},
             {1, 2, 1},
             {"0", "1", "0", "1", "1", "0"}});
  checkConv({{"2", "2", "3", "4", "3", "4"}, {"2", "2", "2", "2", "1", "3"}});
}

TEST(Conv, Groups) {
  std::vector<std::string> ones(4, "1");
  checkConv({{"2", "8", "9", "10"}, {"12", "2", "3", "3"}, {}, {}, ones, 4});
  checkConv({{"1", "6", "9", "10"}, {"30", "3", "1", "1"}, {}, {}, {}, 2});
}

TEST(Conv, Depthwise) {
  std::vector<std::string> ones(4, "1");
  for (int64_t width : {1, 3, 5, 7, 14, 16, 20, 56})
    checkConv({{"1", "5", "11", std::to_string(width)}, {"5", "1", "3", "3"}, {}, {}, ones, 5});
  checkConv({{"1", "5", "11", "20"}, {"5", "1", "3", "3"}, {2, 2}, {}, ones, 5});
  checkConv(
      {{"1", "5", "11", "20"}, {"10", "1", "5", "5"}, {1, 1}, {2, 2}, {"4", "4", "4", "4"}, 5});
  checkConv({{"s0", "5", "s1", "s2"}, {"5", "1", "3", "3"}, {2, 1}, {}, ones, 5});
  checkConv({{"1", "3", "20", "30"}, {"3", "1", "9", "9"}, {}, {}, {"4", "4", "4", "4"}, 3});
  checkConv({{"1", "3", "50"}, {"3", "1", "31"}, {}, {}, {"15", "15"}, 3});
  checkConv({{"1", "3", "4", "5", "6"},
             {"3", "1", "2", "3", "3"},
             {},
             {},
             {"0", "1", "1", "1", "1", "1"},
             3});
}

TEST(Conv, ElementTypes) {
  for (const char *element : {"f16", "bf16", "f64", "i32"}) {
    ConvCase c{{"1", "5", "9", "10"}, {"12", "5", "3", "3"}};
    c.element = element;
    checkConv(c);
    c.constantW = false;
    checkConv(c);
    c.w = {"5", "1", "3", "3"};
    c.group = 5;
    checkConv(c);
  }
}

TEST(Conv, Epilogue) {
  for (const char *width : {"10", "s0"}) {
    ConvCase c{{"1", "5", "9", width}, {"12", "5", "3", "3"}, {}, {}, {"1", "1", "1", "1"}};
    c.extraArguments = ", %bias: tensor<12x1x1xf32>, %res: " + tensorText(convResult(c), "f32");
    c.epilogue = R"mlir(
      %0 = kiln.add %y, %bias : ($y, tensor<12x1x1xf32>) -> $y
      %1 = kiln.add %0, %res : ($y, $y) -> $y
      %z = kiln.relu %1 : ($y) -> $y)mlir";
    checkConv(c);
    c.x[1] = "12", c.w = {"12", "1", "3", "3"}, c.group = 12;
    checkConv(c);
    c.epilogue = R"mlir(
      %0 = kiln.add %y, %bias : ($y, tensor<12x1x1xf32>) -> $y
      %1 = kiln.sigmoid %0 : ($y) -> $y
      %z = kiln.mul %1, %res : ($y, $y) -> $y)mlir";
    checkConv(c);
    c.x[1] = "5", c.w = {"12", "5", "3", "3"}, c.group = 1;
    checkConv(c);
  }
  // A column of its own for the epilogue: pixels cannot be one dim.
  ConvCase c{{"1", "5", "9", "10"}, {"12", "5", "1", "1"}};
  c.extraArguments = ", %col: tensor<10xf32>";
  c.epilogue = "%z = kiln.add %y, %col : ($y, tensor<10xf32>) -> $y";
  checkConv(c);
  // One element a row: the last dim has size 1, but must not count the pixels.
  ConvCase narrow{{"1", "5", "25", "1"}, {"12", "5", "1", "1"}};
  narrow.extraArguments = ", %row: tensor<25x1xf32>";
  narrow.epilogue = "%z = kiln.add %y, %row : ($y, tensor<25x1xf32>) -> $y";
  checkConv(narrow);
}

/// The input comes through another op: nothing may be read in place.
TEST(Conv, PulledInput) {
  ParityOptions options;
  options.tolerance = 2e-5;
  expectParity(R"mlir(
    func.func @f(%x: tensor<1x9x10x5xf32>, %w: tensor<12x5x1x1xf32>) -> tensor<1x12x9x10xf32> {
      %0 = kiln.transpose %x {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x9x10x5xf32>) -> tensor<1x5x9x10xf32>
      %1 = kiln.relu %0 : (tensor<1x5x9x10xf32>) -> tensor<1x5x9x10xf32>
      %2 = kiln.conv %1, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = #kiln.exprs<"0", "0", "0", "0">, group = 1}
        : (tensor<1x5x9x10xf32>, tensor<12x5x1x1xf32>) -> tensor<1x12x9x10xf32>
      return %2 : tensor<1x12x9x10xf32>
    })mlir",
               options);
}

TEST(ConvTranspose, All) {
  auto transposed = [](ConvCase c) {
    c.transposed = true;
    return c;
  };
  checkConv(transposed({{"1", "4", "5", "6"}, {"4", "7", "3", "3"}}));
  checkConv(transposed({{"1", "4", "5", "6"}, {"4", "7", "2", "2"}, {2, 2}}));
  checkConv(transposed(
      {{"1", "4", "5", "6"}, {"4", "7", "3", "3"}, {2, 3}, {2, 1}, {"1", "0", "2", "1"}}));
  checkConv(
      transposed({{"1", "4", "s0", "s1"}, {"4", "7", "4", "4"}, {2, 2}, {}, {"1", "1", "1", "1"}}));
  checkConv(transposed({{"2", "4", "9"}, {"4", "7", "5"}, {3}, {}, {"0", "-2"}}));
  checkConv(transposed(
      {{"1", "4", "5", "6"}, {"4", "3", "3", "3"}, {2, 2}, {}, {"1", "1", "1", "1"}, 2}));
  checkConv(transposed(
      {{"1", "4", "5", "6"}, {"4", "1", "3", "3"}, {2, 2}, {}, {"1", "1", "1", "1"}, 4}));
  ConvCase c =
      transposed({{"1", "4", "5", "6"}, {"4", "7", "3", "3"}, {2, 2}, {}, {"1", "1", "1", "1"}});
  c.outputPadding = {1, 1};
  checkConv(c);
  c.constantW = false;
  checkConv(c);
  // Phases that are put together, in rows of several vectors.
  for (int64_t kernel : {2, 3, 4}) {
    std::string size = std::to_string(kernel);
    ConvCase phases = transposed({{"2", "4", "6", "41"}, {"4", "6", size, size}, {2, 2}});
    if (kernel == 4)
      phases.pads = {"1", "1", "1", "1"};
    phases.extraArguments = ", %res: " + tensorText(convResult(phases), "f32");
    phases.epilogue = "%z = kiln.add %y, %res : ($y, $y) -> $y";
    checkConv(phases);
  }
  checkConv(transposed({{"1", "3", "3", "4", "3"}, {"3", "2", "2", "3", "2"}, {2, 1, 2}}));
}

} // namespace
