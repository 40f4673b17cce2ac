//===- ExternalDataTest.cpp - Files, and tensors beside them --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ModelBuilder.h"
#include "llvm/ADT/STLExtras.h"

using namespace kiln;
using namespace kiln::onnx;
using namespace kiln::onnx::testing;

using Entries = std::initializer_list<std::pair<std::string, std::string>>;

static Msg externalModel(Entries entries) {
  GraphParts g;
  g.outputs = {info("w")};
  g.initializers = {externalTensor("w", 1, {4}, entries)};
  return model(g);
}

namespace {
class ExternalDataTest : public ::testing::Test {
protected:
  TempDir dir;
  void SetUp() override { dir.write("w.bin", rawBytes<float>({1, 2, 3, 4})); }
  Loaded load(Entries entries) {
    return Loaded(externalModel(entries).bytes, {}, dir.file("m.onnx"));
  }
};
} // namespace

TEST_F(ExternalDataTest, IsMapped) {
  for (Entries entries :
       {Entries{{"location", "w.bin"}}, Entries{{"location", "w.bin"}, {"offset", "0"}},
        Entries{{"location", "./w.bin"}, {"length", "16"}, {"checksum", "?"}}}) {
    Loaded l = load(entries);
    ASSERT_LOADS(l);
    const Tensor &w = l.model->graph.initializers[0].tensor;
    ASSERT_EQ(w.size, 16u);
    EXPECT_EQ(std::string(reinterpret_cast<const char *>(w.data), 16),
              rawBytes<float>({1, 2, 3, 4}));
  }
}

TEST_F(ExternalDataTest, IsFoundBesideTheModelFromAnyDirectory) {
  std::string odd = dir.file("a 'b'c;$(x) \xc3\xbc \xe6\xa8\xa1\xe5\x9e\x8b");
  ASSERT_EQ(mkdir(odd.c_str(), 0777), 0);
  ASSERT_EQ(rename(dir.file("w.bin").c_str(), (odd + "/w.bin").c_str()), 0);
  std::ofstream(odd + "/-m.onnx", std::ios::binary) << externalModel({{"location", "w.bin"}}).bytes;
  DiagnosticEngine diags;
  EXPECT_TRUE(loadModel(odd + "/-m.onnx", {}, diags));
}

TEST_F(ExternalDataTest, IsMappedOnce) {
  GraphParts g;
  g.outputs = {info("a"), info("b")};
  g.initializers = {externalTensor("a", 1, {2}, {{"location", "w.bin"}, {"length", "8"}}),
                    externalTensor("b", 1, {2}, {{"location", "w.bin"}, {"offset", "8"}})};
  Loaded l(model(g).bytes, {}, dir.file("m.onnx"));
  ASSERT_LOADS(l);
  const auto &list = l.model->graph.initializers;
  EXPECT_EQ(list[0].tensor.owner, list[1].tensor.owner);
  EXPECT_EQ(list[0].tensor.data + 8, list[1].tensor.data);
}

TEST_F(ExternalDataTest, MayNotLeaveTheDirectory) {
  dir.write("secret.bin", std::string(16, 's'));
  ASSERT_EQ(mkdir(dir.file("sub").c_str(), 0777), 0);
  auto loadIn = [&](const std::string &location) {
    return Loaded(externalModel({{"location", location}}).bytes, {}, dir.file("sub/m.onnx"));
  };
  for (const char *location :
       {"../secret.bin", "/etc/passwd", "x/../../secret.bin", "..", "x/.."}) {
    Loaded l = loadIn(location);
    EXPECT_CODES(l, "K171");
    EXPECT_SAYS(l, "initializer 'w'");
    EXPECT_SAYS(l, location);
    EXPECT_EQ(l.exit(), 1);
  }
  EXPECT_CODES(loadIn(std::string("a\0b", 3)), "K171");
  EXPECT_CODES(loadIn(""), "K170");
  ASSERT_EQ(symlink("../secret.bin", dir.file("sub/link.bin").c_str()), 0);
  Loaded link = loadIn("link.bin");
  EXPECT_CODES(link, "K171");
  EXPECT_SAYS(link, "symbolic link");
  ASSERT_EQ(symlink("..", dir.file("sub/up").c_str()), 0);
  EXPECT_CODES(loadIn("up/secret.bin"), "K171");
}

TEST_F(ExternalDataTest, SymlinksInsideTheDirectoryAreFine) {
  ASSERT_EQ(symlink("w.bin", dir.file("alias.bin").c_str()), 0);
  ASSERT_LOADS(load({{"location", "alias.bin"}}));
}

TEST_F(ExternalDataTest, DirectoriesOfBlobsAreFine) {
  // snapshots/m.onnx and snapshots/w.bin are links into blobs/.
  for (const char *sub : {"snapshots", "blobs"})
    ASSERT_EQ(mkdir(dir.file(sub).c_str(), 0777), 0);
  dir.write("blobs/123", externalModel({{"location", "w.bin"}}).bytes);
  ASSERT_EQ(rename(dir.file("w.bin").c_str(), dir.file("blobs/456").c_str()), 0);
  ASSERT_EQ(symlink("../blobs/123", dir.file("snapshots/m.onnx").c_str()), 0);
  ASSERT_EQ(symlink("../blobs/456", dir.file("snapshots/w.bin").c_str()), 0);
  DiagnosticEngine diags;
  EXPECT_TRUE(loadModel(dir.file("snapshots/m.onnx"), {}, diags));
}

TEST_F(ExternalDataTest, MustBeARegularFile) {
  ASSERT_EQ(mkfifo(dir.file("pipe").c_str(), 0666), 0);
  Loaded fifo = load({{"location", "pipe"}});
  EXPECT_CODES(fifo, "K173");
  EXPECT_SAYS(fifo, "is a pipe, not a regular file");
  EXPECT_EQ(fifo.exit(), 4);
  ASSERT_EQ(mkdir(dir.file("folder").c_str(), 0777), 0);
  EXPECT_SAYS(load({{"location", "folder"}}), "is a directory");
  Loaded missing = load({{"location", "none.bin"}});
  EXPECT_CODES(missing, "K173");
  EXPECT_SAYS(missing, "'none.bin' does not exist");
}

TEST_F(ExternalDataTest, OneMissingFileIsOneError) {
  GraphParts g;
  g.outputs = {info("a"), info("b")};
  g.initializers = {externalTensor("a", 1, {2}, {{"location", "no"}}),
                    externalTensor("b", 1, {2}, {{"location", "no"}})};
  EXPECT_CODES(Loaded(model(g).bytes, {}, dir.file("m.onnx")), "K173");
}

TEST_F(ExternalDataTest, Bounds) {
  auto codes = [&](const char *offset, const char *length) {
    return load({{"location", "w.bin"}, {"offset", offset}, {"length", length}}).codes();
  };
  EXPECT_EQ(codes("18446744073709551600", "16"), "K172");
  EXPECT_EQ(codes("18446744073709551600", "32"), "K162");
  EXPECT_EQ(codes("16", "16"), "K172");
  EXPECT_EQ(codes("1", "16"), "K172");
  EXPECT_EQ(codes("-1", "16"), "K170");
  EXPECT_EQ(codes("0", "-16"), "K170");
  EXPECT_EQ(codes("0", "8"), "K162");
  EXPECT_EQ(codes("abc", "16"), "K170");
  EXPECT_EQ(codes("", "16"), "K170");
  EXPECT_EQ(codes("0x0", "16"), "K170");
  EXPECT_EQ(codes("99999999999999999999", "16"), "K170");
  EXPECT_EQ(codes("0", "16"), "");
  Loaded l = load({{"location", "w.bin"}, {"offset", "8"}});
  EXPECT_SAYS(
      l,
      "initializer 'w': external data at offset 8, 16 bytes, passes the end of 'w.bin' (16 bytes)");
}

TEST_F(ExternalDataTest, Entries) {
  EXPECT_CODES(load({{"offset", "0"}}), "K170");
  EXPECT_CODES(load({{"location", "w.bin"}, {"location", "w.bin"}}), "K170");
  GraphParts g;
  g.outputs = {info("w")};
  g.initializers = {externalTensor("w", 1, {4}, {{"location", "w.bin"}}).str(9, "abcd")};
  EXPECT_CODES(Loaded(model(g).bytes, {}, dir.file("m.onnx")), "K164");
  g.initializers = {externalTensor("w", 8, {4}, {{"location", "w.bin"}})};
  EXPECT_CODES(Loaded(model(g).bytes, {}, dir.file("m.onnx")), "K165");
}

TEST(LoadModel, FileErrors) {
  TempDir dir;
  auto codeOf = [&](const std::string &path) {
    DiagnosticEngine diags(path);
    EXPECT_FALSE(loadModel(path, {}, diags));
    return diagCode(diags.all()[0].diag) + " " + std::to_string(static_cast<int>(diags.exitCode()));
  };
  EXPECT_EQ(codeOf(dir.file("none.onnx")), "K002 4");
  EXPECT_EQ(codeOf(dir.path), "K004 4");
  EXPECT_EQ(codeOf("/dev/null"), "K004 4");
  ASSERT_EQ(mkfifo(dir.file("pipe").c_str(), 0666), 0);
  EXPECT_EQ(codeOf(dir.file("pipe")), "K004 4");
  EXPECT_EQ(codeOf(dir.write("empty.onnx", "")), "K101 1");
  EXPECT_EQ(codeOf(""), "K002 4");
  if (geteuid() != 0) {
    std::string path = dir.write("locked.onnx", "x");
    ASSERT_EQ(chmod(path.c_str(), 0), 0);
    EXPECT_EQ(codeOf(path), "K003 4");
  }
}
