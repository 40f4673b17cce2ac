//===- CompilerTest.cpp - The compiler as a library -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Pipeline/Compilation.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace kiln;
namespace fs = llvm::sys::fs;

//===----------------------------------------------------------------------===//
// A model: y = x + w
//===----------------------------------------------------------------------===//

static std::string number(unsigned field, uint64_t value) {
  std::string bytes(1, static_cast<char>(field << 3));
  for (; value > 127; value >>= 7)
    bytes += static_cast<char>((value & 127) | 128);
  return bytes + static_cast<char>(value);
}

static std::string message(unsigned field, llvm::StringRef text) {
  // The length is written as a number is, behind another type.
  std::string length = number(0, text.size());
  length[0] = static_cast<char>(field << 3 | 2);
  return length + text.str();
}

static std::string floats(llvm::StringRef name, unsigned size) {
  std::string dims = message(1, number(1, size));
  std::string tensor = number(1, 1) + message(2, dims);
  return message(1, name) + message(2, message(1, tensor));
}

static std::string addModel(unsigned size, float first) {
  std::string elements(size * 4, '\0');
  for (unsigned i = 0; i < size; ++i) {
    float value = first + static_cast<float>(i);
    std::memcpy(&elements[i * 4], &value, 4);
  }
  std::string node = message(1, "x") + message(1, "w") + message(2, "y") + message(4, "Add");
  std::string weight = number(1, size) + number(2, 1) + message(8, "w") + message(9, elements);
  std::string graph = message(1, node) + message(2, "g") + message(5, weight) +
                      message(11, floats("x", size)) + message(12, floats("y", size));
  return number(1, 10) + message(7, graph) + message(8, number(2, 21));
}

namespace {
class CompilerTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> made;
    ASSERT_FALSE(fs::createUniqueDirectory("kiln-compiler", made));
    folder = std::string(made) + "/";
    write("a.onnx", addModel(100, 1));
    write("b.onnx", addModel(100, 2));
    options.cpu = "x86-64-v3";
  }
  void TearDown() override { fs::remove_directories(folder); }

  void write(const std::string &name, llvm::StringRef bytes) {
    std::error_code error;
    llvm::raw_fd_ostream(folder + name, error) << bytes;
    ASSERT_FALSE(error);
  }
  std::string read(const std::string &name) {
    auto file = llvm::MemoryBuffer::getFile(folder + name);
    return file ? (*file)->getBuffer().str() : "";
  }
  /// The artefact's bytes. Always under one name, which is part of them.
  std::string compile(Compiler &compiler, const std::string &model) {
    kiln::DiagnosticEngine diags;
    EXPECT_TRUE(
        compiler.compile(folder + model, folder + "out.so", folder + "out.h", options, diags));
    EXPECT_FALSE(diags.hasErrors());
    return read("out.so") + read("out.h");
  }

  std::string folder;
  CompileOptions options;
};
} // namespace

TEST_F(CompilerTest, GivesTheSameBytesInOneProcess) {
  Compiler compiler, other;
  std::string a = compile(compiler, "a.onnx"), b = compile(compiler, "b.onnx");
  EXPECT_GT(a.size(), 1000u);
  EXPECT_NE(a, b);
  EXPECT_EQ(a, compile(compiler, "a.onnx")) << "what was compiled before must not matter";
  EXPECT_EQ(b, compile(other, "b.onnx"));
  options.cacheFolder = folder + "cache";
  EXPECT_EQ(a, compile(other, "a.onnx"));
  EXPECT_EQ(a, compile(other, "a.onnx")) << "from the cache";
  options.threads = 1;
  options.cacheFolder.clear();
  EXPECT_EQ(a, compile(other, "a.onnx"));
}

TEST_F(CompilerTest, GoesOnAfterFailures) {
  Compiler compiler;
  write("bad.onnx", "no model");
  kiln::DiagnosticEngine diags;
  EXPECT_FALSE(compiler.compile(folder + "bad.onnx", folder + "bad.so", "", options, diags));
  EXPECT_EQ(diags.exitCode(), ExitCode::Invalid);
  EXPECT_FALSE(fs::exists(folder + "bad.so"));
  kiln::DiagnosticEngine more;
  EXPECT_FALSE(compiler.compile(folder + "a.onnx", folder + "no/where.so", "", options, more));
  EXPECT_EQ(more.exitCode(), ExitCode::File);
  EXPECT_NE(compile(compiler, "a.onnx"), "");
}

TEST_F(CompilerTest, RefusesToOverwriteTheModel) {
  Compiler compiler;
  std::string before = read("a.onnx");
  kiln::DiagnosticEngine diags;
  EXPECT_FALSE(compiler.compile(folder + "a.onnx", folder + "a.onnx", "", options, diags));
  EXPECT_FALSE(compiler.emit(folder + "a.onnx", Stage::Plan, folder + "a.onnx", options, diags));
  EXPECT_EQ(diags.exitCode(), ExitCode::Usage);
  EXPECT_EQ(read("a.onnx"), before);
}

TEST_F(CompilerTest, PrintsStagesAndStops) {
  Compiler compiler;
  kiln::DiagnosticEngine diags;
  std::string text, phases;
  llvm::raw_string_ostream os(text);
  options.progress = [&](llvm::StringRef phase, unsigned index, unsigned total) {
    phases += (phase + " " + llvm::Twine(index) + "/" + llvm::Twine(total) + " ").str();
  };
  EXPECT_TRUE(compiler.print(folder + "a.onnx", Stage::Fused, os, options, diags));
  EXPECT_NE(text.find("kiln.fusion"), std::string::npos);
  EXPECT_EQ(phases, "load 1/3 import 2/3 fuse 3/3 ");
  phases.clear();
  EXPECT_TRUE(compiler.check(folder + "a.onnx", Phase::Import, options, diags));
  EXPECT_EQ(phases, "load 1/2 import 2/2 ");
  EXPECT_TRUE(
      compiler.compileStatic(folder + "a.onnx", Stage::Obj, folder + "a.o", "", options, diags));
  EXPECT_TRUE(fs::exists(folder + "a.o"));
}
