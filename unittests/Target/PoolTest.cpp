//===- PoolTest.cpp - Windows that slide over spatial axes ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"
#include "RegionText.h"
#include "kiln/Support/Expr.h"
#include "gtest/gtest.h"

using namespace kiln;

namespace {

struct PoolCase {
  std::string op, more = "";
  std::vector<std::string> x; // with batch and channels
  int64_t kernel, stride = 1, dilation = 1, before = 0, after = 0;
  std::string element = "f32", resultElement = "";
  int64_t beyond = 0; // result elements past the last window that fits
};

std::string poolText(const PoolCase &c) {
  size_t spatial = c.x.size() - 2;
  std::vector<std::string> y(c.x.begin(), c.x.begin() + 2);
  std::string kernel, strides, dilations, pads, sizes;
  for (size_t i = 0; i < spatial; ++i) {
    std::string comma = i ? ", " : "";
    kernel += comma + std::to_string(c.kernel);
    strides += comma + std::to_string(c.stride);
    dilations += comma + std::to_string(c.dilation);
    int64_t extent = (c.kernel - 1) * c.dilation + 1;
    Expr size =
        Expr::floorDiv(*Expr::parse(c.x[2 + i]) + Expr(c.before + c.after - extent), c.stride) +
        Expr(1 + c.beyond);
    y.push_back(size.str().str());
    sizes += comma + "\"" + y.back() + "\"";
  }
  for (size_t i = 0; i < 2 * spatial; ++i)
    pads += (i ? ", \"" : "\"") + std::to_string(i < spatial ? c.before : c.after) + "\"";
  std::string type = tensorText(c.x, c.element);
  std::string result = tensorText(y, c.resultElement.empty() ? c.element : c.resultElement);
  return "func.func @f(%x: " + type + ") -> " + result + " {\n%y = kiln." + c.op +
         " %x {kernel = array<i64: " + kernel + ">, strides = array<i64: " + strides +
         ">, dilations = array<i64: " + dilations + ">, pads = #kiln.exprs<" + pads +
         ">, sizes = #kiln.exprs<" + sizes + ">" + c.more + "} : (" + type + ") -> " + result +
         "\n%z = kiln.add %y, %y : (" + result + ", " + result + ") -> " + result +
         "\nreturn %z : " + result + " }";
}

void expectPool(PoolCase c, std::vector<int64_t> sizes) {
  ParityOptions options;
  options.sizes = std::move(sizes);
  options.cpus = {"native", "x86-64-v3"};
  auto run = [&](const std::string &op, const std::string &more, const std::string &result) {
    c.op = op, c.more = more, c.resultElement = result;
    expectParity(poolText(c), options);
  };
  run("max_pool", "", "");
  run("max_pool_indices", ", column_major = false", "i64");
  run("max_pool_indices", ", column_major = true", "i64");
  if (c.element[0] == 'i' || c.element[0] == 'u')
    return;
  run("sum_pool", "", "");
  run("avg_pool", ", count_include_pad = false", "");
  run("avg_pool", ", count_include_pad = true", "");
}

TEST(Pool, OneAxis) {
  for (int64_t kernel : {1, 2, 3, 11})
    for (int64_t stride : {1, 2, 3})
      for (int64_t pad : {int64_t(0), kernel / 2})
        expectPool({"", "", {"2", "3", "s0"}, kernel, stride, 1, pad, pad}, {11, 17, 33, 64});
}

TEST(Pool, TwoAxes) {
  for (int64_t kernel : {2, 3})
    for (int64_t stride : {1, 2, 3})
      for (int64_t dilation : {1, 2})
        for (int64_t after : {0, 1})
          expectPool({"", "", {"1", "2", "s0", "s1"}, kernel, stride, dilation, 1, after},
                     {5, 7, 17, 30});
}

TEST(Pool, ThreeAxes) { expectPool({"", "", {"1", "2", "5", "s0", "9"}, 3, 2, 1, 1, 1}, {3, 8}); }

TEST(Pool, StaticWidths) {
  for (const char *width : {"7", "8", "14", "28", "35"})
    expectPool({"", "", {"1", "2", "6", width}, 3, 1, 1, 1, 1}, {1});
}

/// As ceil_mode leaves it: the last window begins inside and ends behind.
TEST(Pool, WindowsBeyondTheEnd) {
  for (int64_t pad : {0, 1})
    expectPool({"", "", {"1", "2", "6", "s0"}, 3, 2, 1, pad, pad, "f32", "", 1}, {4, 8, 16});
}

TEST(Pool, Types) {
  for (const char *element : {"f16", "bf16", "f64", "i8", "ui8"})
    expectPool({"", "", {"1", "2", "6", "s0"}, 3, 2, 1, 1, 1, element}, {5, 40});
}

} // namespace
