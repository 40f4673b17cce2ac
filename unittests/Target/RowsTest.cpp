//===- RowsTest.cpp - Kernels that work row by row ------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each op is compared with the reference alone, and between an op in front and
// one behind; along the innermost axis, where a row has lanes, and along
// others, where rows go side by side.
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"
#include "RegionText.h"
#include "gtest/gtest.h"

using namespace kiln;

namespace {

using Dims = std::vector<std::string>;

struct RowCase {
  std::string op, attributes;
  Dims x, y;
  std::string element = "f32", resultElement = "";
};

std::string regionText(const RowCase &c, bool fused) {
  std::string x = tensorText(c.x, c.element);
  std::string y = tensorText(c.y, c.resultElement.empty() ? c.element : c.resultElement);
  std::string text = "func.func @f(%a: " + x + ") -> " + y + " {\n";
  if (fused)
    text += "%x = kiln.add %a, %a : (" + x + ", " + x + ") -> " + x + "\n";
  text += "%y = kiln." + c.op + " " + (fused ? "%x" : "%a") + " {" + c.attributes + "} : (" + x +
          ") -> " + y + "\n";
  if (fused)
    text += "%z = kiln.add %y, %y : (" + y + ", " + y + ") -> " + y + "\n";
  return text + "return " + (fused ? "%z" : "%y") + " : " + y + " }";
}

void expectRows(const RowCase &c, ParityOptions options = {}) {
  expectParity(regionText(c, /*fused=*/false), options);
  bool isBool = c.element == "i1" || c.resultElement == "i1";
  if (!isBool)
    expectParity(regionText(c, /*fused=*/true), options);
}

/// Axes to fold of an operand, and what is left.
struct Fold {
  Dims x;
  std::string axes;
  Dims kept, dropped;
};

const std::vector<Fold> folds = {
    {{"3", "s0"}, "1", {"3", "1"}, {"3"}},
    {{"s0", "5"}, "0", {"1", "5"}, {"5"}},
    {{"5", "s0"}, "0", {"1", "s0"}, {"s0"}},
    {{"2", "s0", "35"}, "1", {"2", "1", "35"}, {"2", "35"}},
    {{"2", "3", "7", "s0"}, "2, 3", {"2", "3", "1", "1"}, {"2", "3"}},
    {{"2", "3", "s0", "7"}, "0, 2, 3", {"1", "3", "1", "1"}, {"3"}},
    {{"s0", "2", "3", "4"}, "1, 3", {"s0", "1", "3", "1"}, {"s0", "3"}},
    {{"4", "s0", "1"}, "1", {"4", "1", "1"}, {"4", "1"}},
    {{"s0", "s1"}, "0, 1", {"1", "1"}, {}},
};

class Reduce : public testing::TestWithParam<const char *> {};
TEST_P(Reduce, Axes) {
  ParityOptions options;
  options.scale = 8; // of partial sums, which may cancel
  for (const Fold &fold : folds)
    for (bool keep : {false, true})
      expectRows({GetParam(),
                  "axes = array<i64: " + fold.axes + ">, keepdims = " + (keep ? "true" : "false"),
                  fold.x, keep ? fold.kept : fold.dropped},
                 options);
}
INSTANTIATE_TEST_SUITE_P(Rows, Reduce, testing::Values("reduce_sum", "reduce_max", "reduce_mean"),
                         [](const auto &info) { return std::string(info.param); });

TEST(Rows, ReduceTypes) {
  for (const char *element : {"f16", "bf16", "f64", "i32", "i64", "ui32", "ui64", "i8", "ui8"})
    for (const char *op :
         {"reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_mean"}) {
      ParityOptions options;
      options.cpus = {"native"};
      options.sizes = {0, 1, 7, 45};
      options.low = -1.5, options.high = 1.5;
      for (const char *axis : {"0", "1"})
        expectRows({op,
                    std::string("axes = array<i64: ") + axis + ">, keepdims = false",
                    {"s0", "s0"},
                    {"s0"},
                    element},
                   options);
    }
}

TEST(Rows, ReduceSpecials) {
  ParityOptions options;
  options.specials = true;
  for (const char *op : {"reduce_max", "reduce_min"})
    expectRows({op, "axes = array<i64: 1>, keepdims = false", {"9", "s0"}, {"9"}}, options);
}

TEST(Rows, ReduceBool) {
  for (const char *op : {"reduce_max", "reduce_min"})
    for (const char *axis : {"0", "1"})
      expectRows({op,
                  std::string("axes = array<i64: ") + axis + ">, keepdims = false",
                  {"s0", "s0"},
                  {"s0"},
                  "i1"});
}

/// Shapes for ops along one axis.
const std::vector<std::pair<Dims, int>> lines = {{{"5", "s0"}, 1},       {{"s0", "5"}, 0},
                                                 {{"3", "s0", "35"}, 1}, {{"2", "s0", "3", "3"}, 1},
                                                 {{"4", "s0", "1"}, 1},  {{"s0"}, 0}};

TEST(Rows, ArgReduce) {
  for (const auto &[dims, axis] : lines)
    for (const char *op : {"arg_max", "arg_min"})
      for (const char *last : {"true", "false"}) {
        ParityOptions options;
        options.specials = true;
        options.sizes = {1, 2, 8, 17, 67};
        Dims kept(dims);
        kept[static_cast<size_t>(axis)] = "1";
        expectRows(
            {op,
             "axis = " + std::to_string(axis) + " : i64, keepdims = true, select_last = " + last,
             dims, kept, "f32", "i64"},
            options);
        // Few different numbers: many ties.
        options.low = 0, options.high = 3, options.specials = false;
        options.cpus = {"native"};
        for (const char *element : {"i32", "ui8", "i64"})
          expectRows(
              {op,
               "axis = " + std::to_string(axis) + " : i64, keepdims = true, select_last = " + last,
               dims, kept, element, "i64"},
              options);
      }
}

class AlongAxis : public testing::TestWithParam<const char *> {};
TEST_P(AlongAxis, Axes) {
  for (const auto &[dims, axis] : lines)
    expectRows({GetParam(), "axis = " + std::to_string(axis) + " : i64", dims, dims});
}
TEST_P(AlongAxis, Types) {
  ParityOptions options;
  options.cpus = {"native"};
  options.low = -30, options.high = 30;
  for (const char *element : {"f16", "bf16", "f64"})
    for (int axis : {0, 1})
      expectRows({GetParam(),
                  "axis = " + std::to_string(axis) + " : i64",
                  {"s0", "s0"},
                  {"s0", "s0"},
                  element},
                 options);
}
INSTANTIATE_TEST_SUITE_P(Rows, AlongAxis, testing::Values("softmax", "log_softmax", "hardmax"),
                         [](const auto &info) { return std::string(info.param); });

TEST(Rows, SoftmaxInfinities) {
  ParityOptions options;
  options.specials = true;
  expectRows({"softmax", "axis = 1 : i64", {"33", "s0"}, {"33", "s0"}}, options);
}

TEST(Rows, Cumulative) {
  for (const auto &[dims, axis] : lines)
    for (const char *exclusive : {"true", "false"})
      for (const char *reverse : {"true", "false"})
        for (const char *element : {"f32", "i32"}) {
          ParityOptions options;
          options.cpus = {"native"};
          std::string attributes = "axis = " + std::to_string(axis) +
                                   " : i64, exclusive = " + exclusive + ", reverse = " + reverse;
          expectRows({"cum_sum", attributes, dims, dims, element}, options);
          options.low = 0.8, options.high = 1.2;
          expectRows({"cum_prod", attributes, dims, dims, element}, options);
        }
}

class RowNorm : public testing::TestWithParam<const char *> {};
TEST_P(RowNorm, Axes) {
  const std::vector<std::pair<Dims, int>> shapes = {
      {{"5", "s0"}, 1},      {{"2", "3", "s0"}, 1}, {{"2", "6", "7", "s0"}, 2},
      {{"s0", "5", "4"}, 0}, {{"s0", "1"}, 1},      {{"2", "s0", "1"}, 1}};
  for (const char *element : {"f32", "f16", "f64"})
    for (const auto &[dims, axis] : shapes) {
      ParityOptions options;
      if (element[1] != '3')
        options.cpus = {"native"};
      // Rows of one element are 0, whatever rounding makes of their variance.
      expectRows({GetParam(), "axis = " + std::to_string(axis) + " : i64, epsilon = 1.0e-3 : f64",
                  dims, dims, element},
                 options);
    }
}
INSTANTIATE_TEST_SUITE_P(Rows, RowNorm, testing::Values("standardize", "rms_normalize"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
