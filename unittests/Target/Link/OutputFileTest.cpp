//===- OutputFileTest.cpp - All or nothing --------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/Link/OutputFile.h"
#include "TestObjects.h"
#include "llvm/Support/raw_ostream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace kiln;
using namespace kiln::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

static std::string write(StringRef path, StringRef bytes = "text") {
  return toString(writeFileAtomically(path, bytes));
}

TEST(OutputFile, writes_and_replaces) {
  TemporaryFolder folder;
  std::string path = folder / "out";
  EXPECT_EQ(write(path, "one"), "");
  EXPECT_EQ(readFile(path), "one");
  EXPECT_EQ(toString(writeFileAtomically(path, "two", 0555)), "");
  EXPECT_EQ(readFile(path), "two");
  struct stat status;
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0555u);
  // A file that may not be written may still be replaced.
  EXPECT_EQ(write(path, "three"), "");
  EXPECT_THAT(folder.entries(), ElementsAre("out"));
}

TEST(OutputFile, nothing_appears_before_commit) {
  TemporaryFolder folder;
  EXPECT_EQ(write(folder / "out", "old"), "");
  auto file = OutputFile::create(folder / "out");
  ASSERT_TRUE(bool(file));
  EXPECT_EQ(toString((*file)->write(0, "new and longer")), "");
  EXPECT_EQ(readFile(folder / "out"), "old");
  file->reset();
  EXPECT_EQ(readFile(folder / "out"), "old");
  EXPECT_THAT(folder.entries(), ElementsAre("out"));
}

TEST(OutputFile, error_of_the_printer_passes_through) {
  TemporaryFolder folder;
  Error error = writeFileAtomically(folder / "out", [](raw_ostream &stream) {
    stream << "half";
    return createStringError("cannot print");
  });
  EXPECT_EQ(toString(std::move(error)), "cannot print");
  EXPECT_THAT(folder.entries(), IsEmpty());
}

TEST(OutputFile, odd_names) {
  TemporaryFolder folder;
  std::string longest(255, 'n');
  for (std::string name : {std::string("with space"), std::string("new\nline"), std::string("-"),
                           std::string("\xc3\xa4.so"), std::string("-o"), longest})
    EXPECT_EQ(write(folder / name, name), "") << name;
  EXPECT_EQ(folder.entries().size(), 6u);
  EXPECT_EQ(readFile(folder / longest), longest);
  EXPECT_THAT(write(folder / std::string(256, 'n')), HasSubstr("File name too long"));
}

TEST(OutputFile, relative_path_and_link) {
  TemporaryFolder folder;
  ASSERT_EQ(::mkdir((folder / "sub").c_str(), 0755), 0);
  EXPECT_EQ(write(folder / "sub/real", "old"), "");
  ASSERT_EQ(::symlink("sub/real", (folder / "link").c_str()), 0);
  EXPECT_EQ(write(folder / "link", "new"), "");
  EXPECT_EQ(readFile(folder / "sub/real"), "new");
  EXPECT_EQ(write(folder / "sub/../relative", "x"), "");
  EXPECT_EQ(readFile(folder / "relative"), "x");
}

TEST(OutputFile, wrong_paths) {
  TemporaryFolder folder;
  std::string missing = folder / "none";
  EXPECT_EQ(write(missing + "/out"), "cannot write '" + missing +
                                         "/out': No such file or directory (there is no folder '" +
                                         missing + "')");
  EXPECT_EQ(write(folder.path), "cannot write '" + folder.path + "': Is a directory");
  EXPECT_EQ(write(folder / "new/"), "cannot write '" + folder.path + "/new/': Is a directory");
  EXPECT_EQ(write(""), "cannot write: the output path is empty");
  EXPECT_EQ(write(folder / "file"), "");
  EXPECT_EQ(write(folder / "file/out"),
            "cannot write '" + folder.path + "/file/out': Not a directory");
  std::error_code code = errorToErrorCode(writeFileAtomically(missing + "/out", "text"));
  EXPECT_EQ(code, std::errc::no_such_file_or_directory);
}

TEST(OutputFile, devices_are_written_not_replaced) {
  EXPECT_EQ(write("/dev/full"), "cannot write '/dev/full': No space left on device");
  EXPECT_EQ(write("/dev/null"), "");
  struct stat status;
  ASSERT_EQ(::stat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST(OutputFile, standard_output) {
  TemporaryFolder folder;
  std::string path = folder / "captured";
  pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open(path.c_str(), O_WRONLY | O_CREAT, 0644), STDOUT_FILENO);
    ::_exit(write("-") == "" ? 0 : 1);
  }
  int status;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(readFile(path), "text");
}

TEST(OutputFile, closed_standard_output) {
  pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open("/dev/full", O_WRONLY), STDOUT_FILENO);
    ::_exit(write("-") == "cannot write to standard output: No space left on device" ? 0 : 1);
  }
  int status;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(OutputFile, read_only_folder) {
  TemporaryFolder folder;
  ASSERT_EQ(::chmod(folder.path.c_str(), 0555), 0);
  // Root may write everywhere, so somebody else tries.
  pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0)
      ::_exit(2);
    std::string path = folder / "out";
    ::_exit(write(path) == "cannot write '" + path + "': Permission denied" ? 0 : 1);
  }
  int status;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(folder.entries(), IsEmpty());
  ::chmod(folder.path.c_str(), 0755);
}
