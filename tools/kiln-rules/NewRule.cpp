//===- NewRule.cpp - A rule and its test, ready to run --------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NewRule.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace kiln;

static constexpr StringLiteral fusionRule =
    R"(// A sum and what follows it: say here what the rule is for.
#include "kiln.pdll"

Pattern {
  let sum = op<kiln.add>(_: Value, _: Value);
  let root = op<kiln.tanh>(sum);
  Float(root.0);
  rewrite root with { Fuse(root, attr<"\"loop\"">); };
}
)";

static constexpr StringLiteral fusionTest =
    R"(// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-rules{$RULES}))' | FileCheck %s

// CHECK-LABEL: @match
// CHECK:       kiln.fusion "loop"
// CHECK-SAME:  rule = "$NAME"
func.func @match(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = kiln.add %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = kiln.tanh %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// The sum is read twice, so it must lie in memory.
// CHECK-LABEL: @near_miss
// CHECK-NOT:   kiln.fusion
func.func @near_miss(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = kiln.add %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = kiln.tanh %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}
)";

static constexpr StringLiteral algebraRule =
    R"(// -(x - y) is y - x: say here what the rule is for.
#include "kiln.pdll"

Pattern {
  let x: Value;
  let root = op<kiln.neg>(op<kiln.sub>(x, y: Value));
  Float(x);
  rewrite root with { replace root with op<kiln.sub>(y, x); };
}
)";

static constexpr StringLiteral algebraTest =
    R"(// RUN: kiln-opt %s --pass-pipeline='builtin.module(func.func(kiln-apply-algebra{$RULES}))' | FileCheck %s

// CHECK-LABEL: @match
// CHECK-SAME:  (%[[X:.*]]: tensor<2x3xf32>, %[[Y:.*]]: tensor<3xf32>)
// CHECK-NEXT:  kiln.sub %[[Y]], %[[X]]
// CHECK-NEXT:  return
func.func @match(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = kiln.sub %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = kiln.neg %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// Not of integers.
// CHECK-LABEL: @near_miss
// CHECK:       kiln.neg
func.func @near_miss(%x: tensor<2x3xi32>, %y: tensor<3xi32>) -> tensor<2x3xi32> {
  %0 = kiln.sub %x, %y : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %1 = kiln.neg %0 : (tensor<2x3xi32>) -> tensor<2x3xi32>
  return %1 : tensor<2x3xi32>
}
)";

static bool isName(StringRef name) {
  return !name.empty() && isLower(name.front()) &&
         all_of(name, [](char c) { return isLower(c) || isDigit(c) || c == '_'; });
}

static int fail(const Twine &text) {
  errs() << "kiln-rules: " << text << "\n";
  return 2;
}

static std::string fill(StringRef text, StringRef key, StringRef value) {
  std::string result;
  for (size_t at; (at = text.find(key)) != StringRef::npos; text = text.drop_front(at + key.size()))
    result += (text.take_front(at) + value).str();
  return result + text.str();
}

static bool write(StringRef path, StringRef text) {
  std::error_code error;
  raw_fd_ostream os(path, error, sys::fs::CD_CreateNew, sys::fs::FA_Write, sys::fs::OF_Text);
  if (!error) {
    os << text;
    os.close();
    error = os.error();
    os.clear_error();
  }
  if (error)
    errs() << "kiln-rules: cannot write '" << path << "': " << error.message() << "\n";
  return !error;
}

int kiln::writeNewRule(const NewRule &rule, const RuleLibrary &library) {
  if (!isName(rule.name))
    return fail("a rule's name is of small letters, digits and _, like matmul_gelu");
  if (any_of(library.builtIn(), [&](const auto &other) { return other->name == rule.name; }))
    return fail("there is a built-in rule '" + rule.name + "'");
  if (std::error_code error = sys::fs::create_directories(rule.folder)) {
    fail("cannot make the folder '" + rule.folder + "': " + error.message());
    return 4;
  }
  SmallString<128> file(rule.folder), test(rule.folder);
  sys::path::append(file, rule.name + ".pdll");
  sys::path::append(test, rule.name + ".mlir");
  bool fusion = rule.kind == RuleKind::Fusion;
  std::string body = fill(fusion ? fusionTest : algebraTest, "$RULES", "rules=%S only=$NAME");
  if (!write(file, (fusion ? fusionRule : algebraRule)))
    return 4;
  if (!write(test, fill(body, "$NAME", rule.name))) {
    // Both or none.
    sys::fs::remove(file);
    return 4;
  }
  outs() << file << "\n"
         << test << "\n\n"
         << "Next:\n"
         << "  kiln-rules check " << rule.name << " --rules " << rule.folder << "\n"
         << "  kilnc MODEL.onnx --rules " << rule.folder << " --explain\n"
         << "Constraints and rewrites: kiln-rules show --natives\n";
  return 0;
}
