//===- TensorTest.cpp - Constants and their payloads ----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ModelBuilder.h"
#include "llvm/ADT/StringExtras.h"

using namespace kiln;
using namespace kiln::onnx;
using namespace kiln::onnx::testing;

/// A model whose output is the constant `w`.
static Loaded loadConstant(const Msg &tensor, int ir = 14, const LoadOptions &options = {}) {
  GraphParts g;
  g.outputs = {info("w", Msg())};
  g.initializers = {tensor};
  return Loaded(model(g, 25, ir).bytes, options);
}

static std::string hexOf(const Loaded &l) {
  if (!l.model)
    return l.text();
  return llvm::toHex(l.model->graph.initializers[0].tensor.bytes(), /*LowerCase=*/true);
}

TEST(Tensor, TypedArraysBecomeRawData) {
  auto typed = [](int type, std::initializer_list<int64_t> dims, unsigned field,
                  const std::string &packed) {
    return hexOf(loadConstant(tensorHead("w", type, dims).str(field, packed)));
  };
  EXPECT_EQ(typed(1, {2}, 4, rawBytes<float>({1.0f, -2.0f})), "0000803f000000c0");
  EXPECT_EQ(typed(11, {1}, 10, rawBytes<double>({1.0})), "000000000000f03f");
  EXPECT_EQ(typed(14, {1}, 4, rawBytes<float>({1.0f, 2.0f})), "0000803f00000040");
  EXPECT_EQ(typed(15, {1}, 10, rawBytes<double>({0, 0})), std::string(32, '0'));
  EXPECT_EQ(typed(7, {2}, 7, varints({1, -1})), "0100000000000000ffffffffffffffff");
  EXPECT_EQ(typed(13, {1}, 11, varints({-1})), "ffffffffffffffff");
  EXPECT_EQ(typed(12, {1}, 11, varints({0xfffffffe})), "feffffff");
  EXPECT_EQ(typed(6, {2}, 5, varints({5, -6})), "05000000faffffff");
  EXPECT_EQ(typed(3, {2}, 5, varints({-128, 127})), "807f");
  EXPECT_EQ(typed(2, {2}, 5, varints({255, 0})), "ff00");
  EXPECT_EQ(typed(5, {1}, 5, varints({-2})), "feff");
  EXPECT_EQ(typed(4, {1}, 5, varints({65535})), "ffff");
  EXPECT_EQ(typed(9, {3}, 5, varints({1, 0, 1})), "010001");
  EXPECT_EQ(typed(10, {2}, 5, varints({0x3c00, 0xc000})), "003c00c0");
  EXPECT_EQ(typed(16, {1}, 5, varints({0x3f80})), "803f");
  EXPECT_EQ(typed(17, {2}, 5, varints({0x7e, 0xfe})), "7efe");
  // Two elements an entry, the odd one padded.
  EXPECT_EQ(typed(21, {3}, 5, varints({0x21, 0x03})), "2103");
  EXPECT_EQ(typed(22, {3}, 5, varints({0xf8, 0x07})), "f807");
  EXPECT_EQ(typed(25, {5}, 5, varints({0xe4, 0x01})), "e401");
  // Six bits: an element an entry, packed into a stream of bits in raw data.
  EXPECT_EQ(typed(27, {5}, 5, varints({1, 2, 3, 4, 63})), "8130103f");
}

TEST(Tensor, UnpackedArraysAndSeveralFragments) {
  Msg unpacked = tensorHead("w", 7, {3}).num(7, 1).num(7, 2).num(7, 3);
  EXPECT_EQ(hexOf(loadConstant(unpacked)), "010000000000000002000000000000000300000000000000");
  Msg loose = tensorHead("w", 1, {2}).f32(4, 1).f32(4, 2);
  EXPECT_EQ(hexOf(loadConstant(loose)), "0000803f00000040");
  Msg split =
      tensorHead("w", 1, {3}).str(4, rawBytes<float>({1})).f32(4, 2).str(4, rawBytes<float>({4}));
  EXPECT_EQ(hexOf(loadConstant(split)), "0000803f0000004000008040");
  // Of several raw_data the last one counts, as protobuf has it.
  Msg twice = rawTensor("w", 2, {2}, "xx").str(9, "ab");
  EXPECT_EQ(hexOf(loadConstant(twice)), "6162");
}

TEST(Tensor, Strings) {
  Loaded l = loadConstant(tensorHead("w", 8, {2}).str(6, "a").str(6, std::string("b\0c", 3)));
  ASSERT_LOADS(l);
  const Tensor &w = l.model->graph.initializers[0].tensor;
  ASSERT_TRUE(w.strings);
  EXPECT_EQ((*w.strings)[1], std::string("b\0c", 3));
  EXPECT_EQ(w.data, nullptr);
  EXPECT_CODES(loadConstant(tensorHead("w", 8, {2}).str(6, "a")), "K163");
  EXPECT_CODES(loadConstant(rawTensor("w", 8, {1}, "a")), "K165");
  EXPECT_CODES(loadConstant(tensorHead("w", 1, {1}).str(6, "a")), "K165");
}

TEST(Tensor, ScalarsAndEmptyTensors) {
  Loaded scalar = loadConstant(rawTensor("w", 1, {}, rawBytes<float>({3})));
  ASSERT_LOADS(scalar);
  EXPECT_EQ(scalar.model->graph.initializers[0].tensor.numElements(), 1u);
  Loaded empty = loadConstant(tensorHead("w", 1, {0, INT64_MAX, 7}));
  ASSERT_LOADS(empty);
  EXPECT_EQ(empty.model->graph.initializers[0].tensor.size, 0u);
}

TEST(Tensor, RawDataOfWrongLength) {
  Loaded none = loadConstant(rawTensor("w", 3, {128}, ""));
  EXPECT_CODES(none, "K162");
  EXPECT_SAYS(none, "initializer 'w' needs 128 bytes of data (tensor(int8)[128]) but has 0");
  Loaded few = loadConstant(rawTensor("w", 1, {1000000}, "abcd"));
  EXPECT_SAYS(few, "needs 4000000 bytes");
  EXPECT_SAYS(few, "has 4");
  EXPECT_CODES(loadConstant(rawTensor("w", 1, {3}, std::string(13, 'x'))), "K162");
  EXPECT_CODES(loadConstant(rawTensor("w", 21, {3}, "x")), "K162");
  EXPECT_CODES(loadConstant(tensorHead("w", 1, {})), "K162");
}

TEST(Tensor, TypedArrayOfWrongCount) {
  Loaded l = loadConstant(tensorHead("w", 10, {32}).str(5, varints({1, 2, 3, 4})));
  EXPECT_CODES(l, "K163");
  EXPECT_SAYS(l, "needs 32 entries in int32_data");
  EXPECT_SAYS(l, "has 4");
  EXPECT_CODES(loadConstant(tensorHead("w", 7, {1}).str(7, varints({1, 2}))), "K163");
  // Dimensions that promise much are not believed before the data is seen.
  EXPECT_CODES(loadConstant(tensorHead("w", 7, {1ll << 40}).str(7, varints({1, 2}))), "K163");
}

TEST(Tensor, MalformedTypedArrays) {
  EXPECT_CODES(loadConstant(tensorHead("w", 7, {1}).str(7, "\xff\xff")), "K104");
  EXPECT_CODES(loadConstant(tensorHead("w", 1, {1}).str(4, "abc")), "K162");
  // A float array in tags of a number.
  EXPECT_CODES(loadConstant(tensorHead("w", 1, {1}).num(4, 7)), "K104");
}

TEST(Tensor, DataInTwoPlaces) {
  Loaded l = loadConstant(rawTensor("w", 1, {1}, "abcd").str(4, rawBytes<float>({1})));
  EXPECT_CODES(l, "K164");
  EXPECT_SAYS(l, "in raw_data and in float_data");
  // An empty field beside the real one is no second place.
  ASSERT_LOADS(loadConstant(rawTensor("w", 1, {1}, "abcd").str(4, "")));
}

TEST(Tensor, DataInAWrongField) {
  Loaded l = loadConstant(tensorHead("w", 7, {1}).str(4, rawBytes<float>({1})));
  EXPECT_CODES(l, "K165");
  EXPECT_SAYS(l, "of type int64 has its data in float_data");
}

TEST(Tensor, EntriesThatDoNotFit) {
  for (auto [type, value] : {std::pair<int, int64_t>{3, 128},
                             {3, -129},
                             {2, 256},
                             {2, -1},
                             {4, 65536},
                             {9, 2},
                             {10, 65536},
                             {21, 256},
                             {27, 64}}) {
    Loaded l = loadConstant(tensorHead("w", type, {1}).str(5, varints({value})));
    EXPECT_CODES(l, "K166");
    EXPECT_SAYS(l, std::to_string(value));
  }
  EXPECT_CODES(loadConstant(tensorHead("w", 12, {1}).str(11, varints({1ll << 32}))), "K166");
}

TEST(Tensor, Dimensions) {
  Loaded negative = loadConstant(rawTensor("w", 1, {2, -3}, ""));
  EXPECT_CODES(negative, "K160");
  EXPECT_SAYS(negative, "initializer 'w'");
  EXPECT_SAYS(negative, "-3");
  // A zero does not hide a negative one.
  EXPECT_CODES(loadConstant(rawTensor("w", 1, {0, -1}, "")), "K160");
  EXPECT_CODES(loadConstant(rawTensor("w", 1, {1ll << 32, 1ll << 32}, "")), "K161");
  EXPECT_CODES(loadConstant(rawTensor("w", 1, {INT64_MAX}, "")), "K161");
  EXPECT_CODES(loadConstant(rawTensor("w", 11, {1ll << 61}, "")), "K161");
}

TEST(Tensor, UnknownElementTypes) {
  for (int type : {0, 29, 250, -1}) {
    Loaded l = loadConstant(rawTensor("w", type, {1}, "abcd"));
    EXPECT_CODES(l, "K151");
    EXPECT_SAYS(l, "initializer 'w' has element type " + std::to_string(type));
  }
}

TEST(Tensor, Segments) {
  Loaded l = loadConstant(rawTensor("w", 1, {1}, "abcd").msg(3, Msg().num(1, 0).num(2, 1)));
  EXPECT_CODES(l, "K207");
}

TEST(Tensor, AttributesNameTheirNode) {
  GraphParts g;
  g.outputs = {info("y")};
  g.nodes = {
      node("Constant", {}, {"y"}, {tensorAttr("value", rawTensor("", 1, {2}, "abc"))}, "c1")};
  Loaded l(model(g));
  EXPECT_CODES(l, "K162");
  EXPECT_SAYS(l, "node 'c1' (Constant): attribute 'value' needs 8 bytes");
}

static Msg sparse(const Msg &values, const Msg &indices, std::initializer_list<int64_t> dims) {
  Msg m;
  m.msg(1, values).msg(2, indices);
  for (int64_t dim : dims)
    m.num(3, dim);
  return m;
}

static Loaded loadSparse(const Msg &tensor, const LoadOptions &options = {}) {
  GraphParts g;
  g.outputs = {info("w", Msg())};
  g.sparse = {tensor};
  return Loaded(model(g).bytes, options);
}

TEST(Tensor, SparseBecomesDense) {
  Msg values = floats("w", {1, 2});
  EXPECT_EQ(
      hexOf(loadSparse(sparse(values, rawTensor("", 7, {2}, rawBytes<int64_t>({0, 3})), {2, 2}))),
      "0000803f000000000000000000000040");
  EXPECT_EQ(hexOf(loadSparse(
                sparse(values, rawTensor("", 7, {2, 2}, rawBytes<int64_t>({0, 1, 1, 0})), {2, 2}))),
            "000000000000803f0000004000000000");
}

TEST(Tensor, BadSparse) {
  Msg values = floats("w", {1, 2});
  auto indices = [](std::initializer_list<int64_t> dims, std::initializer_list<int64_t> list) {
    return rawTensor("", 7, dims, rawBytes<int64_t>(list));
  };
  EXPECT_CODES(loadSparse(sparse(values, indices({2}, {0, 4}), {2, 2})), "K168");
  EXPECT_CODES(loadSparse(sparse(values, indices({2}, {0, -1}), {2, 2})), "K168");
  EXPECT_CODES(loadSparse(sparse(values, indices({1}, {0}), {2, 2})), "K168");
  EXPECT_CODES(loadSparse(sparse(values, indices({2, 1}, {0, 1}), {2, 2})), "K168");
  EXPECT_CODES(loadSparse(sparse(values, indices({2, 2}, {0, 0, 0, 2}), {2, 2})), "K168");
  EXPECT_CODES(loadSparse(sparse(values, indices({2}, {0, 1}), {2, -2})), "K160");
  EXPECT_CODES(
      loadSparse(sparse(rawTensor("w", 1, {2, 1}, std::string(8, 0)), indices({2}, {0, 1}), {2})),
      "K168");
  EXPECT_CODES(loadSparse(sparse(values, rawTensor("", 6, {2}, std::string(8, 0)), {2})), "K168");
  Loaded huge = loadSparse(sparse(values, indices({2}, {0, 1}), {1ll << 40}));
  EXPECT_CODES(huge, "K210");
  EXPECT_EQ(huge.exit(), 3);
}

TEST(Tensor, LoadsATensorFile) {
  TempDir dir;
  DiagnosticEngine diags;
  auto t = loadTensor(dir.write("t.pb", floats("x", {1, 2}).bytes), diags);
  ASSERT_TRUE(t);
  EXPECT_EQ(t->dims, std::vector<int64_t>{2});
  EXPECT_FALSE(loadTensor(dir.write("bad.pb", "\xff\xff"), diags));
  EXPECT_FALSE(loadTensor(dir.file("none.pb"), diags));
  EXPECT_EQ(diags.errorCount(), 2u);
}
