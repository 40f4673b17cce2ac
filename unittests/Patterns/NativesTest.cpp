//===- NativesTest.cpp - C++ functions that rules may call ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Patterns/Natives.h"
#include "kiln/Patterns/Names.h"
#include "kiln/Patterns/RuleLibrary.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace kiln;

static NativeTable makeTable() {
  NativeTable table;
  registerNatives(table);
  return table;
}

static std::string read(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Natives, DeclarationsFollowTheSignatures) {
  NativeTable table = makeTable();
  EXPECT_EQ(table.find("Splat", false)->declaration(),
            "Constraint Splat(value: Value, number: Attr);");
  EXPECT_EQ(table.find("Scalar", false)->declaration(), "Constraint Scalar(value: Value) -> Attr;");
  EXPECT_EQ(table.find("WithOperands", true)->declaration(),
            "Rewrite WithOperands(like: Op, operands: ValueRange) -> Op;");
  EXPECT_EQ(table.find("Splat", true), nullptr) << "it is no rewrite";
}

TEST(Natives, EachSaysWhatItsParametersAreAndMeans) {
  NativeTable table = makeTable();
  for (const auto &[key, native] : table.all()) {
    EXPECT_EQ(native.parameters.size(), native.arguments.size()) << native.name;
    EXPECT_TRUE(llvm::StringRef(native.doc).ends_with(".")) << native.name;
  }
}

TEST(Natives, NearNamesAreFound) {
  NativeTable table = makeTable();
  EXPECT_EQ(didYouMean("SingelUse", table.names(false)), "; did you mean 'SingleUse'?");
  EXPECT_EQ(didYouMean("fuse", table.names(true)), "; did you mean 'Fuse'?");
  EXPECT_EQ(didYouMean("Quantize", table.names(false)), "");
}

/// Editors and readers want the declarations as a file.
TEST(Natives, DeclarationsAreUpToDate) {
  std::string path = KILN_SOURCE_DIR "/patterns/natives.pdll", text;
  llvm::raw_string_ostream os(text);
  writeDeclarations(makeTable(), os);
  if (std::getenv("KILN_UPDATE_DOCS"))
    std::ofstream(path) << text;
  EXPECT_EQ(read(path), text) << "run KILN_UPDATE_DOCS=1 build/unittests/PatternsTests";
}
