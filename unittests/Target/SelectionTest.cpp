//===- SelectionTest.cpp - Kernels that pick elements ---------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"
#include "gtest/gtest.h"

using namespace kiln;

namespace {

class Boxes : public testing::TestWithParam<bool> {};

/// More rounds than boxes, and fewer.
TEST_P(Boxes, OverlapIsSuppressed) {
  std::string text = R"mlir(
    func.func @f(%boxes: tensor<2x?x4xf32, #kiln.dims<"s0">>, %scores: tensor<2x3x?xf32, #kiln.dims<"s0">>,
                 %iou: tensor<f32>, %least: tensor<f32>) -> (tensor<2x3x7xi64>, tensor<2x3xi64>) {
      %0:2 = kiln.suppress_boxes %boxes, %scores, %iou, %least {center = $center, count = #kiln.exprs<"7">}
          : (tensor<2x?x4xf32, #kiln.dims<"s0">>, tensor<2x3x?xf32, #kiln.dims<"s0">>, tensor<f32>, tensor<f32>)
          -> (tensor<2x3x7xi64>, tensor<2x3xi64>)
      return %0#0, %0#1 : tensor<2x3x7xi64>, tensor<2x3xi64>
    })mlir";
  text.replace(text.find("$center"), 7, GetParam() ? "true" : "false");
  ParityOptions options;
  options.sizes = {0, 1, 2, 7, 16, 65};
  options.ranges = {{2, {0.05, 0.4}}, {3, {-1.5, 0}}};
  expectParity(text, options);
}
INSTANTIATE_TEST_SUITE_P(Selection, Boxes, testing::Bool(),
                         [](const auto &info) { return info.param ? "Centers" : "Corners"; });

} // namespace
