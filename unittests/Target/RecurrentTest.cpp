//===- RecurrentTest.cpp - Recurrent layers over time ---------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"
#include "RegionText.h"
#include "gtest/gtest.h"

using namespace kiln;

namespace {

struct LayerCase {
  std::string op;
  int64_t hidden;
  std::string direction = "forward", element = "f32";
  bool lengths = false, initial = false;
  /// hidden_bias, or initial_c and peephole.
  bool more = false;
  std::string attributes = "", activations = "";
};

std::string layerText(const LayerCase &c) {
  int64_t gates = c.op == "lstm" ? 4 : c.op == "gru" ? 3 : 1;
  int64_t directions = c.direction == "bidirectional" ? 2 : 1;
  int64_t columns = c.hidden % 8 == 0 ? 8 : c.hidden;
  auto number = [](int64_t value) { return std::to_string(value); };
  std::string d = number(directions), h = number(c.hidden);
  std::vector<std::pair<std::string, std::string>> operands = {
      {"%x", tensorText({"s0", "s1", number(directions * gates * c.hidden)}, c.element)},
      {"%r", tensorText({d, number(gates * c.hidden / columns), h, number(columns)}, c.element)}};
  std::string segments = "1, 1", state = tensorText({d, "s1", h}, c.element);
  auto optional = [&](bool there, const std::string &name, const std::string &type) {
    segments += there ? ", 1" : ", 0";
    if (there)
      operands.push_back({name, type});
  };
  optional(c.lengths, "%lengths", tensorText({"s1"}, "i32"));
  optional(c.initial, "%h", state);
  if (c.op == "gru")
    optional(c.more, "%bias", tensorText({d, h}, c.element));
  if (c.op == "lstm") {
    optional(c.initial, "%c", state);
    optional(c.more, "%p", tensorText({d, number(3 * c.hidden)}, c.element));
  }
  std::string activations = c.activations, numbers;
  int64_t functions = c.op == "lstm" ? 3 : c.op == "gru" ? 2 : 1;
  for (int64_t i = 0; i < directions * functions; ++i) {
    if (c.activations.empty())
      activations += std::string(i ? ", " : "") +
                     (functions > 1 && i % functions == 0 ? "\"sigmoid\"" : "\"tanh\"");
    numbers += i ? ", 2.500000e-01" : "2.500000e-01";
  }
  std::string parameters, names, types;
  for (auto &[name, type] : operands) {
    std::string comma = names.empty() ? "" : ", ";
    parameters += comma + name + ": " + type;
    names += comma + name;
    types += comma + type;
  }
  std::string results = tensorText({"s0", d, "s1", h}, c.element) + ", " + state;
  std::string values = "%y#0, %y#1", count = "2";
  if (c.op == "lstm")
    results += ", " + state, values += ", %y#2", count = "3";
  return "func.func @f(" + parameters + ") -> (" + results + ") {\n%y:" + count + " = kiln." +
         c.op + " " + names + " {direction = \"" + c.direction + "\", activations = [" +
         activations + "], alpha = array<f64: " + numbers + ">, beta = array<f64: " + numbers +
         ">" + c.attributes + ", operandSegmentSizes = array<i32: " + segments + ">} : (" + types +
         ") -> (" + results + ")\nreturn " + values + " : " + results + " }";
}

void expectLayer(LayerCase c) {
  ParityOptions options;
  options.cpus = {"native", "x86-64-v3"};
  options.low = -0.7, options.high = 0.7;
  // A few steps multiply the error of the activations.
  options.tolerance = c.element == "f64" ? 1e-11 : 1e-5;
  options.symbolValues = {{"s0", {0, 1, 3}}, {"s1", {1, 2, 4, 5, 0}}};
  if (c.lengths)
    options.ranges = {{2, {-1, 4}}};
  if (c.op == "gru" && c.attributes.empty())
    c.attributes = ", linear_before_reset = false";
  if (c.op == "lstm" && c.attributes.empty())
    c.attributes = ", input_forget = false";
  expectParity(layerText(c), options);
}

class Layer : public testing::TestWithParam<const char *> {};
TEST_P(Layer, Sizes) {
  for (int64_t hidden : {1, 5, 8, 24, 64})
    expectLayer({GetParam(), hidden});
}
TEST_P(Layer, Directions) {
  for (const char *direction : {"forward", "reverse", "bidirectional"})
    for (bool lengths : {false, true})
      expectLayer({GetParam(), 8, direction, "f32", lengths, true, true});
}
TEST_P(Layer, Double) { expectLayer({GetParam(), 12, "bidirectional", "f64", false, true}); }
TEST_P(Layer, Clip) {
  std::string own = GetParam() == std::string("gru")    ? ", linear_before_reset = false"
                    : GetParam() == std::string("lstm") ? ", input_forget = false"
                                                        : "";
  expectLayer(
      {GetParam(), 8, "forward", "f32", false, true, true, ", clip = 5.000000e-01 : f64" + own});
}
INSTANTIATE_TEST_SUITE_P(Recurrent, Layer, testing::Values("rnn", "gru", "lstm"),
                         [](const auto &info) { return std::string(info.param); });

TEST(Recurrent, LinearBeforeReset) {
  for (bool bias : {false, true})
    expectLayer({"gru", 8, "reverse", "f32", false, true, bias, ", linear_before_reset = true"});
}

TEST(Recurrent, InputForget) {
  expectLayer({"lstm", 8, "forward", "f32", false, true, true, ", input_forget = true"});
}

TEST(Recurrent, Activations) {
  for (const char *name : {"relu", "affine", "leakyrelu", "thresholdedrelu", "scaledtanh",
                           "hardsigmoid", "elu", "softsign", "softplus"})
    expectLayer(
        {"rnn", 8, "forward", "f32", false, true, false, "", std::string("\"") + name + "\""});
  // Each direction has its own.
  expectLayer({"rnn", 8, "bidirectional", "f32", false, true, false, "", "\"tanh\", \"softsign\""});
}

} // namespace
