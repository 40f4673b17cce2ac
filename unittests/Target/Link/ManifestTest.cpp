//===- ManifestTest.cpp - Writing and reading manifests -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/Link/Manifest.h"
#include "TestObjects.h"
#include "kiln/Target/Link/OutputFile.h"
#include "gmock/gmock.h"

using namespace llvm;
using namespace kiln;
using namespace kiln::test;
using testing::HasSubstr;

static Manifest example() {
  Manifest manifest;
  manifest.kiln = "0.1.0";
  manifest.compiler = "LLVM 22.1.8";
  manifest.abiMajor = 1;
  manifest.abiMinor = 2;
  manifest.moduleMajor = 3;
  manifest.moduleMinor = 4;
  manifest.modelFile = "a \"quoted\" name.onnx";
  manifest.modelDigest = "blake3:00";
  manifest.digest = "ff";
  manifest.target = "cpu";
  manifest.cpu = "x86-64-v3";
  manifest.features = "avx2,fma";
  manifest.options = {{"O", "2"}, {"dim batch", "1..8"}};
  manifest.weights = {{"w0", uint64_t(1) << 40, 0x0000beef}};
  manifest.rules = {{"conv_relu", "blake3:11", true}};
  manifest.decisions = {
      {"conv_relu", "Relu", {"/conv1", "/relu1"}, "fired", "measured", {"22"}, ""},
      {"add_relu", "AddRelu", {}, "lost", "predicted", {}, "overlaps conv_relu"}};
  return manifest;
}

static std::string whyUnread(StringRef text) {
  Expected<Manifest> manifest = readManifest(text);
  return manifest ? "" : toString(manifest.takeError());
}

TEST(Manifest, reads_what_it_writes) {
  std::string text = writeManifest(example());
  Expected<Manifest> read = readManifest(text);
  ASSERT_TRUE(bool(read)) << toString(read.takeError());
  EXPECT_EQ(writeManifest(*read), text);
  EXPECT_EQ(read->weights[0].bytes, uint64_t(1) << 40);
  EXPECT_EQ(read->weights[0].crc32c, 0xbeefu);
  EXPECT_EQ(read->decisions[0].records, std::vector<std::string>{"22"});
  EXPECT_EQ(read->options["dim batch"], "1..8");
}

TEST(Manifest, is_one_line_of_valid_UTF_8) {
  Manifest manifest = example();
  manifest.decisions[0].site = {"bad \xff byte", "new\nline"};
  std::string text = writeManifest(manifest);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(whyUnread(text), "");
}

TEST(Manifest, says_what_is_wrong_with_a_text) {
  std::string text = writeManifest(example());
  auto with = [&](StringRef from, StringRef to) {
    std::string changed = text;
    size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from.str();
    return changed.replace(at, from.size(), to);
  };
  EXPECT_THAT(whyUnread(""), HasSubstr("Unexpected EOF"));
  EXPECT_THAT(whyUnread("[]"), HasSubstr("expected object"));
  EXPECT_THAT(whyUnread(StringRef(text).drop_back(2)), HasSubstr("Expected , or ]"));
  EXPECT_THAT(whyUnread(with("kiln-manifest 1.", "kiln-manifest 2.")),
              HasSubstr("kiln-manifest 1.x"));
  EXPECT_EQ(whyUnread(with("kiln-manifest 1.0", "kiln-manifest 1.9")), "");
  EXPECT_THAT(whyUnread(with("0000beef", "xyz")), HasSubstr("8 hexadecimal digits"));
  EXPECT_THAT(whyUnread(with("\"1.2\"", "\"one\"")), HasSubstr("MAJOR.MINOR"));
  EXPECT_THAT(whyUnread(with("\"site\"", "\"sight\"")),
              HasSubstr("missing value at manifest.decisions[0].site"));
}

TEST(Manifest, is_looked_for_in_object_files_only) {
  TemporaryFolder folder;
  auto why = [](StringRef path) { return toString(manifestOf(path).takeError()); };
  EXPECT_THAT(why(folder / "none.so"), HasSubstr("none.so': No such file"));
  std::string text = folder / "text.so", object = folder / "model.o";
  ASSERT_FALSE(errorToBool(writeFileAtomically(text, "hello")));
  EXPECT_THAT(why(text), HasSubstr("text.so'"));
  ASSERT_FALSE(errorToBool(writeFileAtomically(object, compileIR("@x = global i32 1\n"))));
  EXPECT_THAT(why(object), HasSubstr("it has no manifest"));
}
