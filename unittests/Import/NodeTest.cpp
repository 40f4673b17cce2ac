//===- NodeTest.cpp - Nodes against their schemas -------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ModelBuilder.h"

using namespace kiln;
using namespace kiln::onnx;
using namespace kiln::onnx::testing;

/// A graph of one node with inputs a, b (float), i (int64), c (bool) and output y.
static Msg one(const Msg &n, int64_t version = 17, const Msg &type = Msg()) {
  GraphParts g;
  g.inputs = {info("a"), info("b"), info("i", 7), info("c", 9)};
  g.outputs = {info("y", type)};
  g.nodes = {n};
  return model(g, version);
}

TEST(Node, UnknownOperators) {
  Loaded l(one(node("ReverseV2", {"a"}, {"y"}, {}, "r")));
  EXPECT_CODES(l, "K120");
  EXPECT_SAYS(l, "node 'r' (ReverseV2): operator ReverseV2 does not exist in ai.onnx opset 17");
  EXPECT_EQ(l.exit(), 1);

  Loaded newer(one(node("Gelu", {"a"}, {"y"}), 17));
  EXPECT_CODES(newer, "K120");
  EXPECT_SAYS(newer, "Gelu exists from ai.onnx opset 20 on");
  ASSERT_LOADS(Loaded(one(node("Gelu", {"a"}, {"y"}), 20)));

  Loaded typo(one(node("Relo", {"a"}, {"y"})));
  EXPECT_SAYS(typo, "did you mean Relu?");
  Loaded letterCase(one(node("relu", {"a"}, {"y"})));
  EXPECT_SAYS(letterCase, "did you mean Relu?");
}

TEST(Node, AllUnknownOperatorsAtOnce) {
  GraphParts g;
  g.inputs = {info("x")};
  g.outputs = {info("c")};
  g.nodes = {node("Foo", {"x"}, {"a"}, {}, "n1"), node("Bar", {"a"}, {"b"}, {}, "n2"),
             node("Foo", {"b"}, {"c"}, {}, "n3"), node("Acme", {"x"}, {"d"}, {}, "n4", "com.acme")};
  Loaded l(model(g));
  EXPECT_CODES(l, "K120 K120 K120 K201");
  EXPECT_SAYS(l, "nodes 'n1' (Foo), 'n3' (Foo): operator Foo does not exist");
  // What is invalid stays invalid, whatever is refused besides.
  EXPECT_EQ(l.exit(), 1);
}

TEST(Node, WithdrawnOperators) {
  Loaded l(one(node("Upsample", {"a", "b"}, {"y"}), 17));
  EXPECT_CODES(l, "K121");
  EXPECT_SAYS(l, "Upsample was withdrawn from ai.onnx in opset 10");
}

TEST(Node, UnknownDomains) {
  Loaded l(one(node("Foo", {"a"}, {"y"}, {}, "", "com.acme")));
  EXPECT_CODES(l, "K201");
  EXPECT_SAYS(l, "domain 'com.acme'");
  EXPECT_SAYS(l, "opset_import does not name the domain");
  EXPECT_EQ(l.exit(), 3);
  Msg imported = one(node("Foo", {"a"}, {"y"}, {}, "", "com.acme"));
  imported.msg(8, opset(1, "com.acme"));
  Loaded known(imported);
  EXPECT_CODES(known, "K201");
  EXPECT_FALSE(known.says("opset_import does not name"));
  // An import that no node uses does no harm.
  Msg unused = one(node("Relu", {"a"}, {"y"}));
  unused.msg(8, opset(77, "com.acme")).msg(8, opset(99, "ai.onnx.ml"));
  ASSERT_LOADS(Loaded(unused));
}

TEST(Node, DefaultDomainHasTwoNames) {
  Loaded l(one(node("Relu", {"a"}, {"y"}, {}, "", "ai.onnx")));
  ASSERT_LOADS(l);
  EXPECT_EQ(l.model->graph.nodes[0].domain, "");
  GraphParts g;
  g.inputs = {info("a")};
  g.outputs = {info("y")};
  g.nodes = {node("Relu", {"a"}, {"y"})};
  ASSERT_LOADS(Loaded(Msg().num(1, 8).msg(8, opset(17, "ai.onnx")).msg(7, g)));
  // Both spellings at one version are one import; at two versions they disagree.
  ASSERT_LOADS(Loaded(Msg().num(1, 8).msg(8, opset(17)).msg(8, opset(17, "ai.onnx")).msg(7, g)));
  EXPECT_CODES(Loaded(Msg().num(1, 8).msg(8, opset(17)).msg(8, opset(18, "ai.onnx")).msg(7, g)),
               "K111");
}

TEST(Node, Opsets) {
  auto with = [](std::initializer_list<Msg> imports, int ir = 8) {
    GraphParts g;
    g.inputs = {info("a")};
    g.outputs = {info("y")};
    g.nodes = {node("Relu", {"a"}, {"t"}), node("Relu", {"t"}, {"y"})};
    Msg m = Msg().num(1, ir);
    for (const Msg &import : imports)
      m.msg(8, import);
    return Loaded(m.msg(7, g));
  };
  Loaded missing = with({});
  EXPECT_CODES(missing, "K110");
  EXPECT_SAYS(missing, "imports no opset of domain 'ai.onnx'");
  EXPECT_SAYS(missing, "up to opset 28");
  Loaded future = with({opset(9999)});
  EXPECT_CODES(future, "K202");
  EXPECT_SAYS(future, "opset 9999; the newest that Kiln knows is 28");
  EXPECT_EQ(future.exit(), 3);
  Loaded zero = with({opset(0)});
  EXPECT_CODES(zero, "K112");
  EXPECT_SAYS(zero, "opset 7 to 28");
  EXPECT_EQ(zero.exit(), 1);
  EXPECT_CODES(with({opset(-5)}), "K112");
  EXPECT_CODES(with({Msg().str(1, "")}), "K112");
  Loaded twice = with({opset(17), opset(13)});
  EXPECT_CODES(twice, "K111");
  EXPECT_SAYS(twice, "versions 17 and 13");
  EXPECT_CODES(with({opset(17), opset(17)}), "K111");
  Loaded old = with({opset(6)});
  EXPECT_CODES(old, "K203");
  EXPECT_SAYS(old, "oldest that Kiln accepts is 7");
  EXPECT_EQ(old.exit(), 3);
  EXPECT_CODES(with({}, 2), "K203");
  ASSERT_LOADS(with({opset(7)}));
  ASSERT_LOADS(with({opset(28)}));
}

TEST(Node, TooNewOpsetOfAnotherDomain) {
  Msg m = one(node("Scaler", {"a"}, {"y"}, {}, "", "ai.onnx.ml"));
  EXPECT_CODES(Loaded(m), "K110");
  Msg future = m;
  future.msg(8, opset(99, "ai.onnx.ml"));
  EXPECT_CODES(Loaded(future), "K202");
  m.msg(8, opset(3, "ai.onnx.ml"));
  ASSERT_LOADS(Loaded(m));
}

TEST(Node, Counts) {
  Loaded l(one(node("Relu", {"a", "b"}, {"y"}, {}, "r")));
  EXPECT_CODES(l, "K122");
  EXPECT_SAYS(l, "node 'r' (Relu): Relu takes exactly 1 input, not 2");
  Loaded few(one(node("Conv", {"a"}, {"y"})));
  EXPECT_SAYS(few, "Conv takes 2 to 3 inputs, not 1");
  Loaded none(one(node("Concat", {}, {"y"}, {intAttr("axis", 0)})));
  EXPECT_SAYS(none, "Concat takes at least 1 input, not 0");
  Loaded outputs(one(node("Relu", {"a"}, {"y", "z"})));
  EXPECT_CODES(outputs, "K123");
  Loaded empty(one(node("Add", {"a", ""}, {"y"})));
  EXPECT_CODES(empty, "K124");
  EXPECT_SAYS(empty, "required input 1 ('B') of Add is missing");
}

TEST(Node, UnknownAttributes) {
  Loaded l(one(node("Relu", {"a"}, {"y"}, {intAttr("alpha", 1)}, "r")));
  EXPECT_CODES(l, "K125");
  EXPECT_SAYS(l, "Relu has no attribute 'alpha' in opset 17");
  Loaded older(one(node("Softmax", {"a"}, {"y"}, {intAttr("axes", 1)})));
  EXPECT_SAYS(older, "its attributes are axis");
  Loaded moved(one(node("Squeeze", {"a"}, {"y"}, {intsAttr("axes", {0})}), 13));
  EXPECT_SAYS(moved, "Squeeze has it at version 1");
  ASSERT_LOADS(Loaded(one(node("Squeeze", {"a"}, {"y"}, {intsAttr("axes", {0})}), 11)));
  // Notes of tools to themselves.
  ASSERT_LOADS(Loaded(one(node("Relu", {"a"}, {"y"}, {intAttr("__note", 1)}))));
}

TEST(Node, AttributesOfAWrongKind) {
  Loaded l(one(node("Concat", {"a"}, {"y"}, {floatAttr("axis", 1)})));
  EXPECT_CODES(l, "K126");
  EXPECT_SAYS(l, "attribute 'axis' must be an int, not a float");
  Loaded missing(one(node("Concat", {"a"}, {"y"})));
  EXPECT_CODES(missing, "K127");
  Loaded twice(one(node("Concat", {"a"}, {"y"}, {intAttr("axis", 1), intAttr("axis", 1)})));
  EXPECT_CODES(twice, "K128");
}

TEST(Node, AttributesThatContradictTheirTag) {
  auto with = [](const Msg &attribute) {
    return Loaded(one(node("Transpose", {"a"}, {"y"}, {attribute}, "t")));
  };
  Loaded l = with(attr("perm", 7).f32(2, 1.0f));
  EXPECT_CODES(l, "K129");
  EXPECT_SAYS(l, "node 't' (Transpose): attribute 'perm' is tagged as ints but holds a float");
  EXPECT_CODES(with(intsAttr("perm", {0}).num(3, 5)), "K129");
  EXPECT_CODES(with(Msg().str(1, "perm")), "K129");
  EXPECT_CODES(with(Msg().num(20, 7).num(8, 0)), "K144");
  EXPECT_CODES(with(Msg().str(1, "perm").num(20, 99)), "K129");
  EXPECT_CODES(with(attr("perm", 5)), "K129");
  EXPECT_CODES(with(refAttr("perm", 7, "outer")), "K129");
  // Without a tag the one value speaks for itself; an empty list is a list.
  ASSERT_LOADS(with(Msg().str(1, "perm").num(8, 0)));
  ASSERT_LOADS(with(attr("perm", 7)));
}

TEST(Node, OperandTypes) {
  Loaded l(one(node("Not", {"a"}, {"y"}, {}, "n")));
  EXPECT_CODES(l, "K130");
  EXPECT_SAYS(l, "node 'n' (Not): input X 'a' has type tensor(float); Not-1 allows tensor(bool)");
  Loaded differ(one(node("Add", {"a", "i"}, {"y"})));
  EXPECT_CODES(differ, "K131");
  EXPECT_SAYS(differ, "input B 'i' has type tensor(int64) but 'a' has tensor(float)");
  // Types follow from nodes, not from declarations alone.
  GraphParts g;
  g.inputs = {info("a")};
  g.outputs = {info("y", Msg())};
  g.nodes = {node("Shape", {"a"}, {"s"}), node("Add", {"s", "a"}, {"y"})};
  EXPECT_CODES(Loaded(model(g)), "K131");
  g.nodes = {node("Shape", {"a"}, {"s"}), node("Cast", {"s"}, {"f"}, {intAttr("to", 1)}),
             node("Add", {"f", "a"}, {"y"})};
  ASSERT_LOADS(Loaded(model(g)));
}

TEST(Node, TypesOfResults) {
  auto typeOf = [](const Msg &n, int64_t version = 25) {
    Loaded l(one(n, version));
    return l.model ? l.model->typeOf(l.model->graph.outputs[0].value).str() : l.text();
  };
  EXPECT_EQ(typeOf(node("Cast", {"a"}, {"y"}, {intAttr("to", 10)})), "tensor(float16)");
  EXPECT_EQ(typeOf(node("Equal", {"a", "b"}, {"y"})), "tensor(bool)");
  EXPECT_EQ(typeOf(node("ConstantOfShape", {"i"}, {"y"})), "tensor(float)");
  EXPECT_EQ(typeOf(node("Constant", {}, {"y"}, {intsAttr("value_ints", {1})})), "tensor(int64)");
  EXPECT_EQ(typeOf(node("SequenceConstruct", {"a", "b"}, {"y"})), "unknown");
  EXPECT_EQ(typeOf(node("RandomNormal", {}, {"y"}, {intsAttr("shape", {1}), intAttr("dtype", 11)})),
            "tensor(double)");
  EXPECT_EQ(typeOf(node("QuantizeLinear", {"a", "b"}, {"y"})), "tensor(uint8)");
  EXPECT_EQ(typeOf(node("EyeLike", {"a"}, {"y"})), "tensor(float)");
}

TEST(Node, DeclaredOutputTypeDiffers) {
  Loaded l(one(node("Relu", {"a"}, {"y"}), 17, tensorType(7)));
  EXPECT_CODES(l, "K133");
  EXPECT_SAYS(l, "value 'y' is declared as tensor(int64) but Relu makes it tensor(float)");
}

TEST(Node, SubgraphArity) {
  GraphParts branch;
  branch.name = "branch";
  branch.outputs = {info("p"), info("q")};
  branch.nodes = {node("Neg", {"a"}, {"p"}), node("Neg", {"a"}, {"q"})};
  Loaded l(one(node("If", {"c"}, {"y"},
                    {graphAttr("then_branch", branch), graphAttr("else_branch", branch)}, "if")));
  EXPECT_CODES(l, "K132 K132");
  EXPECT_SAYS(l, "node 'if' (If): attribute 'then_branch' of If has 2 outputs; 1 expected");

  GraphParts body;
  body.inputs = {info("n", 7)};
  body.outputs = {info("go", 9), info("v")};
  body.nodes = {node("Neg", {"a"}, {"v"}), node("Equal", {"n", "n"}, {"go"})};
  Loaded loop(one(node("Loop", {"i", "c", "b"}, {"y"}, {graphAttr("body", body)})));
  EXPECT_CODES(loop, "K132");
  EXPECT_SAYS(loop, "'body' of Loop has 1 input; 3 expected");
}

TEST(Node, SinceVersions) {
  EXPECT_EQ(sinceVersion("Relu", "", 17), 14);
  EXPECT_EQ(sinceVersion("Relu", "ai.onnx", 13), 13);
  EXPECT_EQ(sinceVersion("Relu", "", 28), 14);
  EXPECT_EQ(sinceVersion("Gelu", "", 19), 0);
  EXPECT_EQ(sinceVersion("Upsample", "", 17), 0);
  EXPECT_EQ(sinceVersion("Upsample", "", 9), 9);
  EXPECT_EQ(sinceVersion("Scaler", "ai.onnx.ml", 3), 1);
  EXPECT_EQ(sinceVersion("Nope", "", 17), 0);
  EXPECT_EQ(sinceVersion("Relu", "nowhere", 17), 0);
  EXPECT_EQ(sinceVersion("Relu", "", 0), 0);
}

TEST(Node, AttributesAreRead) {
  Loaded l(one(node("Transpose", {"a"}, {"y"}, {intsAttr("perm", {1, 0})})));
  ASSERT_LOADS(l);
  const Node &n = l.model->graph.nodes[0];
  ASSERT_TRUE(n.attribute("perm"));
  EXPECT_EQ(n.attribute("perm")->ints, (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(n.attribute("none"), nullptr);
  EXPECT_EQ(n.intOr("none", 5), 5);
  EXPECT_EQ(n.floatOr("none", 0.5f), 0.5f);
  EXPECT_EQ(n.stringOr("none", "s"), "s");
}
