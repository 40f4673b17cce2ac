//===- DiagnosticsTest.cpp ------------------------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kiln/Support/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace kiln;
using llvm::StringRef;

static std::string textOf(const DiagnosticEngine &diags) {
  std::string text;
  llvm::raw_string_ostream os(text);
  diags.printText(os);
  return text;
}

TEST(Diagnostics, TableIsConsistent) {
  auto all = allDiagnostics();
  ASSERT_FALSE(all.empty());
  // Looked up by binary search, so ascending; a number fits its range's exit code.
  for (size_t i = 1; i < all.size(); ++i)
    EXPECT_LT(all[i - 1].diag, all[i].diag) << all[i].name;
  for (const DiagInfo &info : all) {
    EXPECT_EQ(&diagInfo(info.diag), &info);
    EXPECT_NE(StringRef(info.cause), "") << info.name;
    EXPECT_NE(StringRef(info.cure), "") << info.name;
    unsigned area = static_cast<unsigned>(info.diag) / 100;
    if (area == 2) {
      EXPECT_EQ(info.exit, ExitCode::Refused) << info.name;
    } else if (area == 1) {
      EXPECT_TRUE(info.exit == ExitCode::Invalid || info.exit == ExitCode::File) << info.name;
    }
  }
}

TEST(Diagnostics, Text) {
  DiagnosticEngine diags("m.onnx");
  EXPECT_FALSE(diags.hasErrors());
  EXPECT_EQ(diags.exitCode(), ExitCode::Done);
  diags.report(Diag::UndefinedValue, "ghost").atNode("'a' (Add)").note("did you mean 'g'?");
  diags.report(Diag::OpsetTooNew, "ai.onnx", 99, 28).nearestSupported("opset 28");
  EXPECT_EQ(
      textOf(diags),
      "m.onnx: error K140: node 'a' (Add): value 'ghost' is not defined\n"
      "  note: did you mean 'g'?\n"
      "m.onnx: error K202: the model imports ai.onnx opset 99; the newest that Kiln knows is 28\n"
      "  supported: opset 28\n");
  EXPECT_EQ(diags.errorCount(), 2u);
}

TEST(Diagnostics, EqualMessagesAreOneEntry) {
  DiagnosticEngine diags;
  for (int i = 0; i != 12; ++i)
    diags.report(Diag::UndefinedValue, "v").atNode("#" + std::to_string(i));
  diags.report(Diag::UndefinedValue, "w").atNode("#0");
  EXPECT_EQ(
      textOf(diags),
      "error K140: nodes #0, #1, #2, #3, #4, #5, #6, #7 and 4 more: value 'v' is not defined\n"
      "error K140: node #0: value 'w' is not defined\n");
}

TEST(Diagnostics, ExitCodes) {
  DiagnosticEngine diags;
  diags.warn(Diag::MissingOpset, "x");
  EXPECT_EQ(diags.exitCode(), ExitCode::Done);
  diags.report(Diag::Internal, "x");
  EXPECT_EQ(diags.exitCode(), ExitCode::Internal);
  diags.report(Diag::FileNotFound, "x");
  EXPECT_EQ(diags.exitCode(), ExitCode::File);
  diags.report(Diag::UnsupportedDomain, "x", "y");
  EXPECT_EQ(diags.exitCode(), ExitCode::Refused);
  diags.report(Diag::UndefinedValue, "x");
  EXPECT_EQ(diags.exitCode(), ExitCode::Invalid);
  EXPECT_NE(textOf(diags).find("warning K110"), std::string::npos);
}

TEST(Diagnostics, JSONParsesWhateverNamesHold) {
  DiagnosticEngine diags("a\"\xff.onnx");
  diags.report(Diag::UndefinedValue, "\x01\xfe")
      .atNode("'\xff'")
      .withOp("Add", "", 17)
      .inFile("w.bin");
  diags.report(Diag::UndefinedValue, "\x01\xfe")
      .atNode("second")
      .withOp("Add", "", 17)
      .inFile("w.bin");
  std::string text;
  llvm::raw_string_ostream os(text);
  diags.printJSON(os);
  auto parsed = llvm::json::parse(text);
  ASSERT_TRUE(static_cast<bool>(parsed)) << text;
  const llvm::json::Object &root = *parsed->getAsObject();
  EXPECT_EQ(root.getInteger("version"), 1);
  EXPECT_EQ(root.getInteger("exitCode"), 1);
  const llvm::json::Array &list = *root.getArray("diagnostics");
  ASSERT_EQ(list.size(), 1u);
  const llvm::json::Object &first = *list[0].getAsObject();
  EXPECT_EQ(first.getString("code"), "K140");
  EXPECT_EQ(first.getArray("nodes")->size(), 2u);
  EXPECT_EQ(first.getObject("op")->getInteger("opset"), 17);
  EXPECT_EQ(first.getString("file"), "w.bin");
}

TEST(Diagnostics, FloodsAreCut) {
  DiagnosticEngine diags;
  for (int i = 0; i != 20000; ++i)
    diags.report(Diag::UndefinedValue, i).atNode("n").note("x");
  EXPECT_EQ(diags.errorCount(), 20000u);
  std::string text = textOf(diags);
  EXPECT_LT(text.size(), 50000u);
  EXPECT_NE(text.find("19800 more are not shown"), std::string::npos);
}

TEST(Diagnostics, Printable) {
  EXPECT_EQ(printable("plain"), "plain");
  EXPECT_EQ(printable("a\nb\x7f"), "a\\x0ab\\x7f");
  EXPECT_EQ(printable("\xc3\xbc"), "\xc3\xbc");
  EXPECT_EQ(printable("\xc3"), "\\xc3");
  EXPECT_EQ(printable("abcdef", 3), "abc... (6 bytes)");
  EXPECT_EQ(printable("ab\xc3\xbc", 3), "ab... (4 bytes)");
}

// The page in docs/ is generated: run this test with KILN_UPDATE_DOCS=1 to write it.
TEST(Diagnostics, PageIsUpToDate) {
  std::string text;
  llvm::raw_string_ostream os(text);
  writeDiagnosticsPage(os);
  EXPECT_NE(text.find("### K140 UndefinedValue"), std::string::npos);
  EXPECT_NE(text.find("## K2xx: Refused"), std::string::npos);
  const char *path = KILN_SOURCE_DIR "/docs/diagnostics.md";
  if (std::getenv("KILN_UPDATE_DOCS"))
    std::ofstream(path) << text;
  std::stringstream committed;
  committed << std::ifstream(path).rdbuf();
  EXPECT_TRUE(committed.str() == text) << path << " is stale: run with KILN_UPDATE_DOCS=1";
}
