//===- AttentionTest.cpp - Attention against the reference ----------------===//
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

struct Case {
  std::string batch = "2", rows = "s0", keys = "s1", heads = "3", groups = "3";
  std::string depth = "8", width = "16";
  std::string element = "f32";
  std::vector<std::string> mask = {}; // none when empty
  std::string maskElement = "f32";
  std::string attributes = {};
};

std::string textOf(const Case &c) {
  std::string q = tensorText({c.batch, c.rows, c.heads, c.depth}, c.element);
  std::string k = tensorText({c.batch, c.keys, c.groups, c.depth}, c.element);
  std::string v = tensorText({c.batch, c.keys, c.groups, c.width}, c.element);
  std::string y = tensorText({c.batch, c.rows, c.heads, c.width}, c.element);
  std::string mask = c.mask.empty() ? "" : tensorText(c.mask, c.maskElement);
  return llvm::formatv(R"mlir(func.func @f(%q: {0}, %k: {1}, %v: {2}{4}) -> {3} {{
      %y = kiln.attention %q, %k, %v{5} {{scale = 0.25 : f64{7}} : ({0}, {1}, {2}{6}) -> {3}
      return %y : {3}
    })mlir",
                       q, k, v, y, c.mask.empty() ? "" : ", %m: " + mask,
                       c.mask.empty() ? "" : ", %m", c.mask.empty() ? "" : ", " + mask,
                       c.attributes.empty() ? "" : ", " + c.attributes)
      .str();
}

void check(const Case &c, ParityOptions options = {}) {
  std::string text = textOf(c);
  SCOPED_TRACE(text);
  if (c.element == "f32" && options.tolerance == 0)
    options.tolerance = 1e-5;
  expectParity(text, options);
}

TEST(Attention, DynamicSizes) {
  check({});
  ParityOptions options;
  // Blocks of queries and of keys, with all kinds of rests.
  options.sizes = {1, 47, 49, 97, 127, 128, 130, 257};
  check({}, options);
}

TEST(Attention, StaticSizes) {
  for (const char *rows : {"1", "16", "49", "71"})
    for (const char *keys : {"1", "49", "200"})
      check({"2", rows, keys});
}

TEST(Attention, NoKeys) { check({"2", "5", "0"}); }

/// Values are read in place where columns fill vectors, else packed.
TEST(Attention, Widths) {
  ParityOptions options;
  options.sizes = {1, 6, 19};
  for (const char *width : {"1", "15", "24", "64"})
    for (const char *depth : {"1", "64"})
      check({"2", "s0", "s1", "2", "2", depth, width}, options);
  check({"2", "s0", "s1", "2", "2", "s2", "s3"}, options);
}

TEST(Attention, HeadsShareKeys) {
  ParityOptions options;
  options.sizes = {1, 9, 50};
  check({"s2", "s0", "s1", "6", "2"}, options);
  check({"1", "s0", "s1", "4", "1"}, options);
  check({"1", "s0", "s1", "s2", "s2"}, options);
}

TEST(Attention, Masks) {
  ParityOptions options;
  options.sizes = {1, 9, 50, 130};
  std::vector<std::vector<std::string>> shapes = {
      {"s1"},      {"s0", "s1"},      {"2", "1", "1", "s1"},
      {"s0", "1"}, {"3", "s0", "s1"}, {"2", "1", "s0", "s1"}};
  for (const auto &shape : shapes) {
    Case c;
    c.mask = shape;
    check(c, options);
    c.maskElement = "i1";
    c.attributes = "fill = -1.0 : f64";
    check(c, options);
  }
}

/// What makes the mask is part of the kernel, and what does not lie along
/// keys comes element by element.
TEST(Attention, MasksMadeInTheKernel) {
  ParityOptions options;
  options.sizes = {1, 9, 50, 130};
  options.tolerance = 1e-5;
  auto text = [](llvm::StringRef mask, llvm::StringRef made, llvm::StringRef element,
                 llvm::StringRef attributes) {
    return llvm::formatv(R"mlir(
      func.func @f(%q: tensor<2x?x3x8xf32, #kiln.dims<"s0">>, %k: tensor<2x?x3x8xf32, #kiln.dims<"s1">>, %v: tensor<2x?x3x16xf32, #kiln.dims<"s1">>, %a: {0}, %b: {0})
          -> tensor<2x?x3x16xf32, #kiln.dims<"s0">> {{
        {1}
        %y = kiln.attention %q, %k, %v, %m {{scale = 0.25 : f64{3}} : (tensor<2x?x3x8xf32, #kiln.dims<"s0">>, tensor<2x?x3x8xf32, #kiln.dims<"s1">>, tensor<2x?x3x16xf32, #kiln.dims<"s1">>, {2}) -> tensor<2x?x3x16xf32, #kiln.dims<"s0">>
        return %y : tensor<2x?x3x16xf32, #kiln.dims<"s0">>
      })mlir",
                         mask, made, element, attributes)
        .str();
  };
  std::string floats = tensorText({"2", "3", "s0", "s1"}, "f32");
  std::string bools = tensorText({"s0", "s1"}, "i1");
  std::string turned = tensorText({"3", "2", "s1", "s0"}, "f32");
  auto binary = [](llvm::StringRef op, llvm::StringRef type) {
    return llvm::formatv("%m = kiln.{0} %a, %b : ({1}, {1}) -> {1}", op, type).str();
  };
  expectParity(text(floats, binary("add", floats), floats, ""), options);
  expectParity(text(bools, binary("or", bools), bools, ", fill = -1.0 : f64"), options);
  std::string transposed =
      llvm::formatv("%t = kiln.add %a, %b : ({0}, {0}) -> {0}\n"
                    "%m = kiln.transpose %t {{permutation = array<i64: 1, 0, 3, 2>} : ({0}) -> {1}",
                    turned, floats)
          .str();
  expectParity(text(turned, transposed, floats, ""), options);
}

/// Whether a dim of the mask is broadcast is known at run time only.
TEST(Attention, MaskBroadcastAtRunTime) {
  Case c;
  c.batch = "1";
  c.rows = "bcast(s0, s2)";
  c.keys = "s1";
  c.mask = {"1", "1", "s2", "s1"};
  ParityOptions options;
  options.symbolValues = {{"s0", {5, 5}}, {"s1", {9, 9}}, {"s2", {1, 5}}};
  check(c, options);
  c.maskElement = "i1";
  c.attributes = "fill = -1.0 : f64";
  check(c, options);
  // Of keys: lanes along them give up.
  c.rows = "s1";
  c.keys = "bcast(s0, s2)";
  c.mask = {"1", "1", "s1", "s2"};
  check(c, options);
  c.maskElement = "f32";
  c.attributes = "";
  check(c, options);
}

/// Rows of which nothing is left: NaN, or what the op says.
TEST(Attention, MaskedRows) {
  ParityOptions options;
  options.sizes = {1, 3, 20};
  options.specials = true;
  for (const char *how : {"nan", "zero", "masked-zero"}) {
    Case c;
    c.attributes = llvm::formatv("undefined = \"{0}\"", how).str();
    check(c, options);
    // Random masks of one key leave whole rows out.
    c.mask = {"2", "3", "s0", "s1"};
    c.maskElement = "i1";
    ParityOptions plain;
    plain.sizes = {1, 1, 2, 3};
    check(c, plain);
  }
}

TEST(Attention, ElementTypes) {
  ParityOptions options;
  options.sizes = {1, 9, 50};
  for (const char *element : {"f16", "bf16", "f64"}) {
    Case c;
    c.element = c.maskElement = element;
    c.mask = {"2", "1", "s0", "s1"};
    check(c, options);
  }
}

/// Heads split from one product, and an op after the attention.
TEST(Attention, OperandsThroughViews) {
  ParityOptions options;
  options.sizes = {1, 9, 50};
  options.tolerance = 1e-5;
  expectParity(R"mlir(
    func.func @f(%x: tensor<2x?x48x16xf32, #kiln.dims<"s0">>, %g: tensor<2x?x16x16xf32, #kiln.dims<"s0">>)
        -> tensor<2x?x16x16xf32, #kiln.dims<"s0">> {
      %q = kiln.slice %x {starts = #kiln.exprs<"0", "0", "0", "0">, sizes = #kiln.exprs<"2", "s0", "16", "16">, steps = #kiln.exprs<"1", "1", "1", "1">} : (tensor<2x?x48x16xf32, #kiln.dims<"s0">>) -> tensor<2x?x16x16xf32, #kiln.dims<"s0">>
      %k = kiln.slice %x {starts = #kiln.exprs<"0", "0", "16", "0">, sizes = #kiln.exprs<"2", "s0", "16", "16">, steps = #kiln.exprs<"1", "1", "1", "1">} : (tensor<2x?x48x16xf32, #kiln.dims<"s0">>) -> tensor<2x?x16x16xf32, #kiln.dims<"s0">>
      %v = kiln.slice %x {starts = #kiln.exprs<"0", "0", "32", "0">, sizes = #kiln.exprs<"2", "s0", "16", "16">, steps = #kiln.exprs<"1", "1", "1", "1">} : (tensor<2x?x48x16xf32, #kiln.dims<"s0">>) -> tensor<2x?x16x16xf32, #kiln.dims<"s0">>
      %y = kiln.attention %q, %k, %v {scale = 0.25 : f64} : (tensor<2x?x16x16xf32, #kiln.dims<"s0">>, tensor<2x?x16x16xf32, #kiln.dims<"s0">>, tensor<2x?x16x16xf32, #kiln.dims<"s0">>) -> tensor<2x?x16x16xf32, #kiln.dims<"s0">>
      %z = kiln.mul %y, %g : (tensor<2x?x16x16xf32, #kiln.dims<"s0">>, tensor<2x?x16x16xf32, #kiln.dims<"s0">>) -> tensor<2x?x16x16xf32, #kiln.dims<"s0">>
      return %z : tensor<2x?x16x16xf32, #kiln.dims<"s0">>
    })mlir",
               options);
  expectParity(R"mlir(
    func.func @f(%q: tensor<2x3x?x8xf32, #kiln.dims<"s0">>, %k: tensor<2x3x8x?xf32, #kiln.dims<"s1">>, %v: tensor<2x3x?x16xf32, #kiln.dims<"s1">>)
        -> tensor<2x?x3x16xf32, #kiln.dims<"s0">> {
      %0 = kiln.transpose %q {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x?x8xf32, #kiln.dims<"s0">>) -> tensor<2x?x3x8xf32, #kiln.dims<"s0">>
      %1 = kiln.transpose %k {permutation = array<i64: 0, 3, 1, 2>} : (tensor<2x3x8x?xf32, #kiln.dims<"s1">>) -> tensor<2x?x3x8xf32, #kiln.dims<"s1">>
      %2 = kiln.neg %1 : (tensor<2x?x3x8xf32, #kiln.dims<"s1">>) -> tensor<2x?x3x8xf32, #kiln.dims<"s1">>
      %3 = kiln.transpose %v {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x?x16xf32, #kiln.dims<"s1">>) -> tensor<2x?x3x16xf32, #kiln.dims<"s1">>
      %y = kiln.attention %0, %2, %3 {scale = 0.25 : f64} : (tensor<2x?x3x8xf32, #kiln.dims<"s0">>, tensor<2x?x3x8xf32, #kiln.dims<"s1">>, tensor<2x?x3x16xf32, #kiln.dims<"s1">>) -> tensor<2x?x3x16xf32, #kiln.dims<"s0">>
      return %y : tensor<2x?x3x16xf32, #kiln.dims<"s0">>
    })mlir",
               options);
}

} // namespace
