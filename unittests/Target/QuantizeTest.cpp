//===- QuantizeTest.cpp - Scaled integers against the reference -----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"
#include "gtest/gtest.h"

using namespace kiln;

namespace {

/// x, the parameters' shape and the op's attributes.
struct Case {
  const char *name, *x, *parameters, *dims, *parameterDims, *attributes;
};

const Case cases[] = {
    {"PerTensor", "3x?x", "", ", #kiln.dims<\"s0\">", "", "axis = 0 : i64"},
    {"PerAxis", "2x5x?x", "5x1x", ", #kiln.dims<\"s0\">", "", "axis = 0 : i64"},
    {"LastAxis", "2x?x", "?x", ", #kiln.dims<\"s0\">", ", #kiln.dims<\"s0\">", "axis = 0 : i64"},
    {"BlocksOfLastAxis", "3x?x", "3x?x", ", #kiln.dims<\"s0\">",
     ", #kiln.dims<\"floordiv(s0 + 3, 4)\">", "axis = 1 : i64, block_size = 4 : i64"},
    {"BlocksOfFirstAxis", "7x?x", "3x?x", ", #kiln.dims<\"s0\">", ", #kiln.dims<\"s0\">",
     "axis = 0 : i64, block_size = 3 : i64"},
};

std::string tensor(const char *shape, const std::string &element, const char *dims) {
  return std::string("tensor<") + shape + element + dims + ">";
}

class Quantization : public testing::TestWithParam<Case> {};

TEST_P(Quantization, Quantize) {
  const Case &c = GetParam();
  for (std::string from : {"f32", "f16"})
    for (std::string to : {"i8", "ui8", "i16", "ui16"}) {
      std::string x = tensor(c.x, from, c.dims), y = tensor(c.x, to, c.dims),
                  scale = tensor(c.parameters, from, c.parameterDims),
                  zero = tensor(c.parameters, to, c.parameterDims);
      ParityOptions options;
      options.sizes = {1, 5, 8, 17, 0, 33};
      options.low = -300, options.high = 300;
      options.ranges = {{1, {0.5, 4}}, {2, {0, 100}}};
      expectParity("func.func @f(%x: " + x + ", %s: " + scale + ", %z: " + zero + ") -> " + y +
                       " {\n%y = kiln.quantize %x, %s, %z {" + c.attributes + "} : (" + x + ", " +
                       scale + ", " + zero + ") -> " + y + "\nreturn %y : " + y + " }",
                   options);
    }
}

TEST_P(Quantization, Dequantize) {
  const Case &c = GetParam();
  for (std::string to : {"f32", "bf16"})
    for (std::string from : {"i8", "ui8", "ui16", "i32"}) {
      std::string x = tensor(c.x, from, c.dims), y = tensor(c.x, to, c.dims),
                  scale = tensor(c.parameters, "f32", c.parameterDims),
                  zero = tensor(c.parameters, from, c.parameterDims);
      ParityOptions options;
      options.sizes = {1, 5, 8, 17, 0, 33};
      options.low = -100, options.high = 100;
      options.ranges = {{1, {0.5, 4}}, {2, {0, 100}}};
      expectParity("func.func @f(%x: " + x + ", %s: " + scale + ", %z: " + zero + ") -> " + y +
                       " {\n%y = kiln.dequantize %x, %s, %z {" + c.attributes + ", to = " + to +
                       "} : (" + x + ", " + scale + ", " + zero + ") -> " + y +
                       "\nreturn %y : " + y + " }",
                   options);
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Quantization, testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });

/// NaN, infinities and what lies far out saturate.
TEST(Quantize, Specials) {
  ParityOptions options;
  options.specials = true;
  options.low = -70000, options.high = 70000;
  for (std::string to : {"i8", "ui16"})
    expectParity("func.func @f(%x: tensor<?xf32, #kiln.dims<\"s0\">>) -> tensor<?x" + to +
                     ", #kiln.dims<\"s0\">> {\n"
                     "%s = kiln.constant dense<1.0> : tensor<f32>\n"
                     "%z = kiln.constant dense<3> : tensor<" +
                     to +
                     ">\n"
                     "%y = kiln.quantize %x, %s, %z : (tensor<?xf32, #kiln.dims<\"s0\">>, "
                     "tensor<f32>, tensor<" +
                     to + ">) -> tensor<?x" + to + ", #kiln.dims<\"s0\">>\nreturn %y : tensor<?x" +
                     to + ", #kiln.dims<\"s0\">> }",
                 options);
}

} // namespace
