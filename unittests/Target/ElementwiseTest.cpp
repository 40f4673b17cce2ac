//===- ElementwiseTest.cpp - Element-wise ops against the reference -------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"
#include "gtest/gtest.h"

using namespace kiln;

namespace {

/// What an op is written like and what it gives ("" for its operand's type).
struct Op {
  std::string text, result = "";
};

/// A function of which each result is one op on the arguments.
std::string functionOf(const std::vector<Op> &ops, const std::vector<std::string> &argumentTypes,
                       const std::string &shape, const std::string &encoding) {
  auto tensor = [&](const std::string &type) { return "tensor<" + shape + type + encoding + ">"; };
  std::string parameters, operands, operandTypes, body, results, resultTypes;
  for (size_t i = 0; i < argumentTypes.size(); ++i) {
    std::string comma = i ? ", " : "", name = "%x" + std::to_string(i);
    operands += comma + name;
    operandTypes += comma + tensor(argumentTypes[i]);
    parameters += comma + name + ": " + tensor(argumentTypes[i]);
  }
  for (size_t i = 0; i < ops.size(); ++i) {
    std::string name = "%y" + std::to_string(i), comma = i ? ", " : "";
    std::string type = tensor(ops[i].result.empty() ? argumentTypes[0] : ops[i].result);
    size_t space = std::min(ops[i].text.find(' '), ops[i].text.size());
    body += name + " = kiln." + ops[i].text.substr(0, space) + " " + operands +
            ops[i].text.substr(space) + " : (" + operandTypes + ") -> " + type + "\n";
    results += comma + name;
    resultTypes += comma + type;
  }
  return "func.func @f(" + parameters + ") -> (" + resultTypes + ") {\n" + body + "return " +
         results + " : " + resultTypes + "\n}";
}

const std::vector<Op> floatUnary = {
    {"abs"},
    {"neg"},
    {"sign"},
    {"relu"},
    {"shrink {bias = 1.5 : f64, lambd = 0.75 : f64}"},
    {"floor"},
    {"ceil"},
    {"round"},
    {"exp"},
    {"log"},
    {"sqrt"},
    {"sin"},
    {"cos"},
    {"tan"},
    {"asin"},
    {"acos"},
    {"atan"},
    {"sinh"},
    {"cosh"},
    {"tanh"},
    {"asinh"},
    {"acosh"},
    {"atanh"},
    {"erf"},
    {"sigmoid"},
    {"softplus"},
    {"mish"},
    {"gelu"},
    {"gelu {approximate = \"tanh\"}"},
    {"elu {alpha = 2.0 : f64}"},
    {"elu {alpha = 1.67326319217681884765625 : f64, scale = 1.05070102214813232421875 : f64}"},
    {"elu {alpha = 2.0 : f64, rate = 0.5 : f64}"},
    {"hard_sigmoid {alpha = 0.2 : f64, beta = 0.5 : f64}"},
    {"thresholded_relu {alpha = 0.5 : f64}"},
    {"is_nan", "i1"},
    {"is_inf", "i1"},
    {"is_inf {negative = false}", "i1"},
    {"is_inf {positive = false}", "i1"},
    {"is_inf {negative = false, positive = false}", "i1"},
};

const std::vector<Op> intUnary = {{"abs"},  {"neg"},
                                  {"sign"}, {"relu"},
                                  {"not"},  {"shrink {bias = 1.5 : f64, lambd = 0.75 : f64}"}};

const std::vector<Op> floatBinary = {{"add"},
                                     {"sub"},
                                     {"mul"},
                                     {"div"},
                                     {"mod"},
                                     {"mod {truncate = true}"},
                                     {"min"},
                                     {"max"},
                                     {"pow"},
                                     {"prelu"},
                                     {"equal", "i1"},
                                     {"less", "i1"},
                                     {"less_equal", "i1"}};

const std::vector<Op> intBinary = {{"add"},
                                   {"sub"},
                                   {"mul"},
                                   {"div"},
                                   {"mod"},
                                   {"mod {truncate = true}"},
                                   {"min"},
                                   {"max"},
                                   {"pow"},
                                   {"prelu"},
                                   {"equal", "i1"},
                                   {"less", "i1"},
                                   {"less_equal", "i1"},
                                   {"and"},
                                   {"or"},
                                   {"xor"},
                                   {"shift {left = true}"},
                                   {"shift {left = false}"}};

const std::string encoding = ", #kiln.dims<\"s0\">";

void expectOps(const std::vector<Op> &ops, const std::vector<std::string> &types, double bound) {
  ParityOptions options;
  options.specials = true;
  options.low = -bound, options.high = bound;
  expectParity(functionOf(ops, types, "3x?x", encoding), options);
}

class Floats : public testing::TestWithParam<const char *> {};
TEST_P(Floats, Unary) { expectOps(floatUnary, {GetParam()}, 4); }
TEST_P(Floats, UnaryFarOut) { expectOps(floatUnary, {GetParam()}, 100); }
TEST_P(Floats, Binary) { expectOps(floatBinary, {GetParam(), GetParam()}, 4); }
INSTANTIATE_TEST_SUITE_P(Elementwise, Floats, testing::Values("f16", "bf16", "f32", "f64"),
                         [](const auto &info) { return std::string(info.param); });

class Ints : public testing::TestWithParam<const char *> {};
TEST_P(Ints, Unary) { expectOps(intUnary, {GetParam()}, 100); }
TEST_P(Ints, Binary) { expectOps(intBinary, {GetParam(), GetParam()}, 9); }
TEST_P(Ints, PowOfFloat) { expectOps({{"pow"}}, {GetParam(), "f32"}, 5); }
TEST_P(Ints, FloatPow) { expectOps({{"pow"}}, {"f32", GetParam()}, 5); }
INSTANTIATE_TEST_SUITE_P(Elementwise, Ints,
                         testing::Values("i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"),
                         [](const auto &info) { return std::string(info.param); });

TEST(Elementwise, Bool) {
  expectOps({{"not"}}, {"i1"}, 1);
  expectOps({{"and"}, {"or"}, {"xor"}, {"equal"}}, {"i1", "i1"}, 1);
}

/// Exponents that are known have code of their own.
TEST(Elementwise, PowOfConstants) {
  for (const char *exponent :
       {"0.0", "1.0", "2.0", "3.0", "-1.0", "0.5", "-0.5", "2.5", "0x7FC00000"}) {
    ParityOptions options;
    options.specials = true;
    expectParity(
        std::string("func.func @f(%x: tensor<?x5xf32, #kiln.dims<\"s0\">>) -> tensor<?x5xf32, "
                    "#kiln.dims<\"s0\">> {\n%c = kiln.constant dense<") +
            exponent +
            "> : tensor<f32>\n"
            "%y = kiln.pow %x, %c : (tensor<?x5xf32, #kiln.dims<\"s0\">>, tensor<f32>) -> "
            "tensor<?x5xf32, #kiln.dims<\"s0\">>\n"
            "return %y : tensor<?x5xf32, #kiln.dims<\"s0\">> }",
        options);
  }
}

/// A bound that is known, on either side; a NaN bound makes all NaN.
TEST(Elementwise, MinMaxOfConstants) {
  for (const char *bound : {"0.5", "0.0", "0x7FC00000", "0x7F800000"})
    for (const char *operands : {"%x, %c", "%c, %x"}) {
      ParityOptions options;
      options.specials = true;
      std::string tensor = "tensor<?x5xf32, #kiln.dims<\"s0\">>", one = "tensor<1xf32>";
      std::string types = operands[1] == 'x' ? tensor + ", " + one : one + ", " + tensor;
      expectParity("func.func @f(%x: " + tensor + ") -> (" + tensor + ", " + tensor +
                       ") {\n%c = kiln.constant dense<" + bound + "> : " + one +
                       "\n%a = kiln.min " + operands + " : (" + types + ") -> " + tensor +
                       "\n%b = kiln.max " + operands + " : (" + types + ") -> " + tensor +
                       "\nreturn %a, %b : " + tensor + ", " + tensor + " }",
                   options);
    }
}

} // namespace
