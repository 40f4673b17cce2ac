//===- WireScanTest.cpp - Files that are broken as such -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ModelBuilder.h"

using namespace kiln;
using namespace kiln::onnx;
using namespace kiln::onnx::testing;

static Msg reluModel() {
  GraphParts g;
  g.inputs = {info("x", tensorType(1, {2}))};
  g.outputs = {info("y")};
  g.initializers = {floats("w", {1, 2})};
  g.nodes = {node("Add", {"x", "w"}, {"t"}), node("Relu", {"t"}, {"y"})};
  return model(g);
}

TEST(WireScan, LoadsAModel) {
  Loaded l(reluModel());
  ASSERT_LOADS(l);
  EXPECT_EQ(l.model->irVersion, 8);
  EXPECT_EQ(l.model->opsets.at(""), 17);
  ASSERT_EQ(l.model->graph.nodes.size(), 2u);
  EXPECT_EQ(l.model->graph.nodes[0].sinceVersion, 14);
  EXPECT_EQ(l.model->graph.nodes[0].opset, 17);
  ASSERT_EQ(l.model->graph.initializers.size(), 1u);
}

TEST(WireScan, TensorPointsIntoTheFile) {
  std::string bytes = reluModel().bytes;
  auto owner = std::make_shared<std::string>(bytes);
  DiagnosticEngine diags;
  llvm::ArrayRef<uint8_t> range(reinterpret_cast<const uint8_t *>(owner->data()), owner->size());
  auto m = loadModelFromMemory(range, owner, "m.onnx", {}, diags);
  ASSERT_TRUE(m);
  const Tensor &w = m->graph.initializers[0].tensor;
  EXPECT_GE(w.data, range.begin());
  EXPECT_LE(w.data + w.size, range.end());
  EXPECT_EQ(w.owner, owner);
}

TEST(WireScan, EmptyFile) {
  Loaded l("");
  EXPECT_CODES(l, "K101");
  EXPECT_EQ(l.exit(), 1);
}

TEST(WireScan, WhatAFileIsInstead) {
  const std::pair<std::string, const char *> cases[] = {
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "Git LFS"},
      {std::string("PK\x03\x04\x14\x00", 6), "zip archive"},
      {"<!DOCTYPE html><html></html>", "HTML"},
      {"{\"graph\": {}}", "JSON"},
      {"this is no model at all\n", "text file"},
      {std::string("\x80\x02}q\x00", 5), "pickle"},
      {std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), "not a protobuf"},
      {"GGUF\x03", "GGUF"},
  };
  for (const auto &[bytes, expected] : cases) {
    Loaded l(bytes);
    EXPECT_CODES(l, "K102");
    EXPECT_SAYS(l, expected);
    EXPECT_EQ(l.exit(), 1);
  }
}

TEST(WireScan, EveryTruncationIsAnErrorAndNoCrash) {
  std::string bytes = reluModel().bytes;
  for (size_t size = 1; size != bytes.size(); ++size) {
    Loaded l(bytes.substr(0, size));
    EXPECT_FALSE(l.model) << size;
    EXPECT_EQ(l.exit(), 1) << size;
  }
  Loaded l(bytes.substr(0, bytes.size() - 3));
  EXPECT_CODES(l, "K103");
  EXPECT_SAYS(l, "are left");
}

TEST(WireScan, EveryFlippedByteIsHandled) {
  std::string bytes = reluModel().bytes;
  for (size_t i = 0; i != bytes.size(); ++i)
    for (int flip : {0x01, 0x80, 0xff}) {
      std::string broken = bytes;
      broken[i] = static_cast<char>(broken[i] ^ flip);
      Loaded l(broken); // Loads or reports; the constructor checks that it is one of them.
    }
}

TEST(WireScan, NestedLengthPastItsParent) {
  // A node that claims to be longer than the graph around it.
  Msg graph;
  graph.tag(1, 2).varint(100).str(2, "x");
  Loaded l(Msg().num(1, 8).msg(8, opset(17)).msg(7, graph).str(6, "trailing text"));
  EXPECT_CODES(l, "K104");
}

TEST(WireScan, WrongWireTypes) {
  for (unsigned wire : {3u, 4u, 6u, 7u}) {
    Loaded l(Msg().num(1, 8).tag(7, wire).varint(0));
    EXPECT_CODES(l, "K104");
  }
  // raw_data that is a number.
  GraphParts g;
  g.outputs = {info("w")};
  g.initializers = {tensorHead("w", 1, {1}).num(9, 5)};
  Loaded l(model(g));
  EXPECT_CODES(l, "K104");
}

TEST(WireScan, FieldNumberZero) {
  Loaded l(Msg().num(1, 8).num(0, 1));
  EXPECT_CODES(l, "K104");
}

TEST(WireScan, UnknownFieldsAreSkipped) {
  Msg m = reluModel();
  m.str(99, "new").num(98, 5).f32(97, 1);
  Loaded l(m);
  ASSERT_LOADS(l);
}

TEST(WireScan, NoGraph) {
  Loaded l(Msg().num(1, 8).msg(8, opset(17)));
  EXPECT_CODES(l, "K106");
}

TEST(WireScan, IRVersions) {
  GraphParts g;
  g.inputs = {info("x")};
  g.outputs = {info("y")};
  g.nodes = {node("Relu", {"x"}, {"y"})};
  Loaded missing(Msg().msg(8, opset(17)).msg(7, g));
  EXPECT_CODES(missing, "K105");
  EXPECT_EQ(missing.exit(), 1);
  Loaded negative(model(g, 17, -3));
  EXPECT_CODES(negative, "K105");
  Loaded future(model(g, 17, 999));
  EXPECT_CODES(future, "K204");
  EXPECT_SAYS(future, "999");
  EXPECT_SAYS(future, "14");
  EXPECT_EQ(future.exit(), 3);
  Loaded newest(model(g, 17, 14));
  ASSERT_LOADS(newest);
}

static Msg nested(unsigned depth) {
  GraphParts g;
  g.name = "level" + std::to_string(depth);
  std::string out = "o" + std::to_string(depth);
  g.outputs = {info(out)};
  if (depth == 0)
    g.nodes = {node("Relu", {"x"}, {out.c_str()})};
  else
    g.nodes = {
        node("If", {"c"}, {out.c_str()},
             {graphAttr("then_branch", nested(depth - 1)),
              graphAttr("else_branch", Msg(GraphParts{{node("Relu", {"x"}, {("e" + out).c_str()})},
                                                      {},
                                                      {},
                                                      {info("e" + out)},
                                                      {},
                                                      {},
                                                      "e"}))})};
  return g;
}

static Msg nestedModel(unsigned depth) {
  Msg m = nested(depth);
  return model(m.msg(11, info("x")).msg(11, info("c", 9)));
}

TEST(WireScan, DeepNestingIsBounded) {
  Loaded fine(nestedModel(50));
  ASSERT_LOADS(fine);
  Loaded deep(nestedModel(200));
  EXPECT_CODES(deep, "K208");
  EXPECT_EQ(deep.exit(), 3);
}

TEST(WireScan, DeepTypesAreBounded) {
  Msg type = tensorType(1);
  for (int i = 0; i != 2000; ++i)
    type = sequenceOf(type);
  GraphParts g;
  g.inputs = {info("x", type)};
  g.outputs = {info("x")};
  Loaded l(model(g));
  EXPECT_CODES(l, "K104");
}

TEST(WireScan, TrainingInfoIsIgnored) {
  Msg m = reluModel();
  m.msg(20, Msg().msg(1, GraphParts{}));
  Loaded l(m);
  ASSERT_LOADS(l);
}
