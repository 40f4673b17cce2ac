//===- MappedFileTest.cpp -------------------------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kiln/Support/MappedFile.h"
#include "kiln/Support/Diagnostics.h"
#include "gtest/gtest.h"
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace kiln;

namespace {
class MappedFileTest : public ::testing::Test {
protected:
  std::string path = ::testing::TempDir() + "kiln-mapped-" + std::to_string(getpid());
  void TearDown() override { unlink(path.c_str()); }
  MappedFile::Failure failure;
};
} // namespace

TEST_F(MappedFileTest, Maps) {
  std::ofstream(path) << "hello";
  auto file = MappedFile::open(path, failure);
  ASSERT_TRUE(file);
  EXPECT_EQ(std::string(file->bytes().begin(), file->bytes().end()), "hello");
  EXPECT_EQ(file->path(), path);
  unlink(path.c_str());
  EXPECT_EQ(file->data()[0], 'h'); // The mapping outlives the name.
}

TEST_F(MappedFileTest, EmptyIsAnEmptyRange) {
  std::ofstream(path).flush();
  auto file = MappedFile::open(path, failure);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->size(), 0u);
}

TEST_F(MappedFileTest, Failures) {
  EXPECT_FALSE(MappedFile::open(path, failure));
  EXPECT_EQ(failure.kind, MappedFile::Failure::NotFound);
  EXPECT_FALSE(MappedFile::open("/dev/zero", failure));
  EXPECT_EQ(failure.kind, MappedFile::Failure::NotRegular);
  EXPECT_EQ(failure.text, "a device");
  EXPECT_FALSE(MappedFile::open("/", failure));
  EXPECT_EQ(failure.text, "a directory");
  EXPECT_FALSE(MappedFile::open(llvm::StringRef("a\0b", 3), failure));
  // A FIFO without a writer would block whoever opens it.
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(MappedFile::open(path, failure));
  EXPECT_EQ(failure.text, "a pipe");
}

TEST_F(MappedFileTest, Reports) {
  DiagnosticEngine diags;
  EXPECT_FALSE(MappedFile::open(path, diags));
  EXPECT_FALSE(MappedFile::open("/", diags));
  ASSERT_EQ(diags.errorCount(), 2u);
  EXPECT_EQ(diags.all()[0].diag, Diag::FileNotFound);
  EXPECT_EQ(diags.all()[1].message, "cannot read '/': it is a directory, not a regular file");
  EXPECT_EQ(diags.exitCode(), ExitCode::File);
}
