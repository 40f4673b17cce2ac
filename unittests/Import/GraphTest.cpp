//===- GraphTest.cpp - Names, order and types of values -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ModelBuilder.h"
#include <chrono>

using namespace kiln;
using namespace kiln::onnx;
using namespace kiln::onnx::testing;

static GraphParts base() {
  GraphParts g;
  g.inputs = {info("x", tensorType(1, {2}))};
  g.outputs = {info("y")};
  return g;
}

TEST(Graph, UndefinedValues) {
  GraphParts g = base();
  g.nodes = {node("Add", {"x", "ghost"}, {"t"}, {}, "add"), node("Add", {"t", "spook"}, {"y"}),
             node("Neg", {"ghost"}, {"z"}, {}, "neg")};
  Loaded l(model(g));
  EXPECT_CODES(l, "K140 K140 K140");
  EXPECT_SAYS(l, "node 'add' (Add): value 'ghost' is not defined");
  EXPECT_SAYS(l, "node #1 (Add): value 'spook'");
  EXPECT_SAYS(l, "'neg' (Neg)");
  EXPECT_EQ(l.exit(), 1);
}

TEST(Graph, DuplicateValues) {
  GraphParts g = base();
  g.nodes = {node("Neg", {"x"}, {"y"}, {}, "a"), node("Abs", {"x"}, {"y"}, {}, "b")};
  Loaded l(model(g));
  EXPECT_CODES(l, "K141");
  EXPECT_SAYS(l, "value 'y' is defined twice: by node 'a' (Neg) and by node 'b' (Abs)");

  GraphParts input = base();
  input.nodes = {node("Neg", {"x"}, {"x"}), node("Neg", {"x"}, {"y"})};
  Loaded overInput(model(input));
  EXPECT_CODES(overInput, "K141");
  EXPECT_SAYS(overInput, "by an input and by node #0");

  GraphParts twice = base();
  twice.inputs.push_back(info("x"));
  twice.nodes = {node("Neg", {"x"}, {"y"})};
  EXPECT_CODES(Loaded(model(twice)), "K141");

  GraphParts tensors = base();
  tensors.initializers = {floats("w", {1}), floats("w", {2})};
  tensors.nodes = {node("Add", {"x", "w"}, {"y"})};
  EXPECT_CODES(Loaded(model(tensors)), "K141");

  GraphParts both = base();
  both.initializers = {floats("w", {1})};
  both.nodes = {node("Neg", {"x"}, {"w"}), node("Neg", {"w"}, {"y"})};
  EXPECT_CODES(Loaded(model(both)), "K141");

  GraphParts same = base();
  same.nodes = {node("Dropout", {"x"}, {"y", "y"})};
  EXPECT_CODES(Loaded(model(same)), "K141");
}

TEST(Graph, CyclesNameTheirNodes) {
  GraphParts g = base();
  g.nodes = {node("Add", {"b", "x"}, {"a"}, {}, "first"), node("Neg", {"a"}, {"b"}, {}, "second"),
             node("Neg", {"b"}, {"y"})};
  Loaded l(model(g));
  EXPECT_CODES(l, "K143");
  EXPECT_SAYS(l, "'second' (Neg) -> 'first' (Add) -> 'second' (Neg)");

  GraphParts self = base();
  self.nodes = {node("Neg", {"y"}, {"y"}, {}, "self")};
  Loaded s(model(self));
  EXPECT_CODES(s, "K143");
  EXPECT_SAYS(s, "'self' (Neg) -> 'self' (Neg)");
}

TEST(Graph, CycleThroughASubgraph) {
  GraphParts branch;
  branch.outputs = {info("inner")};
  branch.nodes = {node("Neg", {"y"}, {"inner"})};
  GraphParts other = branch;
  other.outputs = {info("inner2")};
  other.nodes = {node("Neg", {"x"}, {"inner2"})};
  GraphParts g = base();
  g.inputs.push_back(info("c", 9));
  g.nodes = {node("If", {"c"}, {"y"},
                  {graphAttr("then_branch", branch), graphAttr("else_branch", other)})};
  EXPECT_CODES(Loaded(model(g)), "K143");
}

TEST(Graph, UnsortedNodesAreSorted) {
  GraphParts g = base();
  g.nodes = {node("Neg", {"c"}, {"y"}), node("Abs", {"b"}, {"c"}), node("Relu", {"x"}, {"b"})};
  Loaded l(model(g));
  ASSERT_LOADS(l);
  ASSERT_EQ(l.model->graph.nodes.size(), 3u);
  EXPECT_EQ(l.model->graph.nodes[0].opType, "Relu");
  EXPECT_EQ(l.model->graph.nodes[0].index, 2u);
  EXPECT_EQ(l.model->graph.nodes[2].opType, "Neg");
}

TEST(Graph, SortingSeesUsesInsideSubgraphs) {
  GraphParts then, otherwise;
  then.outputs = {info("p")};
  then.nodes = {node("Neg", {"late"}, {"p"})};
  otherwise.outputs = {info("q")};
  otherwise.nodes = {node("Neg", {"x"}, {"q"})};
  GraphParts g = base();
  g.inputs.push_back(info("c", 9));
  g.nodes = {node("If", {"c"}, {"y"},
                  {graphAttr("then_branch", then), graphAttr("else_branch", otherwise)}),
             node("Abs", {"x"}, {"late"})};
  Loaded l(model(g));
  ASSERT_LOADS(l);
  EXPECT_EQ(l.model->graph.nodes[0].opType, "Abs");
  const Node &branch = l.model->graph.nodes[1];
  const Graph &inner = *branch.attributes[0].graphs[0];
  ASSERT_EQ(inner.captures.size(), 1u);
  EXPECT_EQ(inner.captures[0], l.model->graph.nodes[0].outputs[0]);
  EXPECT_TRUE(l.model->graph.captures.empty());
}

TEST(Graph, BranchesMayReuseNamesOfEachOther) {
  GraphParts branch;
  branch.outputs = {info("p")};
  branch.nodes = {node("Neg", {"x"}, {"p"})};
  GraphParts g = base();
  g.inputs.push_back(info("c", 9));
  g.nodes = {node("If", {"c"}, {"y"},
                  {graphAttr("then_branch", branch), graphAttr("else_branch", branch)})};
  Loaded l(model(g));
  ASSERT_LOADS(l);
  const Node &n = l.model->graph.nodes[0];
  EXPECT_NE(n.attributes[0].graphs[0]->outputs[0].value,
            n.attributes[1].graphs[0]->outputs[0].value);
}

TEST(Graph, InnerValuesAreInvisibleOutside) {
  GraphParts branch;
  branch.outputs = {info("p")};
  branch.nodes = {node("Neg", {"x"}, {"p"})};
  GraphParts g = base();
  g.inputs.push_back(info("c", 9));
  g.nodes = {node("If", {"c"}, {"t"},
                  {graphAttr("then_branch", branch), graphAttr("else_branch", branch)}),
             node("Add", {"t", "p"}, {"y"})};
  Loaded l(model(g));
  EXPECT_CODES(l, "K140");
  EXPECT_SAYS(l, "'p' is not defined");
}

static Loaded loop(const char *carried) {
  GraphParts body;
  body.name = "body";
  body.inputs = {info("i", Msg()), info("go", Msg()), info(carried, Msg())};
  body.outputs = {info("go_out", Msg()), info("b_out", Msg())};
  body.nodes = {node("Identity", {"go"}, {"go_out"}), node("Add", {carried, carried}, {"b_out"})};
  GraphParts g;
  g.inputs = {info("b", tensorType(1, {1}))};
  g.outputs = {info("y")};
  g.initializers = {rawTensor("m", 7, {}, rawBytes<int64_t>({3}))};
  g.nodes = {node("Loop", {"m", "", "b"}, {"y"}, {graphAttr("body", body)}, "loop")};
  return Loaded(model(g));
}

TEST(Graph, ShadowingNamesTheValue) {
  Loaded l = loop("b");
  EXPECT_CODES(l, "K142");
  EXPECT_SAYS(l, "value 'b' of subgraph 'body'");
}

TEST(Graph, TypesFlowIntoLoopsAndOut) {
  Loaded l = loop("state");
  ASSERT_LOADS(l);
  const Graph &body = *l.model->graph.nodes[0].attributes[0].graphs[0];
  EXPECT_EQ(l.model->typeOf(body.inputs[0]).elemType, ElemType::Int64);
  EXPECT_EQ(l.model->typeOf(body.inputs[1]).elemType, ElemType::Bool);
  EXPECT_EQ(l.model->typeOf(body.inputs[2]).elemType, ElemType::Float);
  EXPECT_EQ(l.model->typeOf(body.outputs[1].value).elemType, ElemType::Float);
}

TEST(Graph, MissingNames) {
  GraphParts g = base();
  g.inputs.push_back(info(""));
  g.outputs.push_back(info(""));
  g.initializers = {floats("", {1})};
  g.nodes = {node("Neg", {"x"}, {"y"})};
  EXPECT_CODES(Loaded(model(g)), "K144 K144 K144");
}

TEST(Graph, UndefinedOutputsAndNone) {
  GraphParts g = base();
  g.nodes = {node("Neg", {"x"}, {"z"})};
  Loaded l(model(g));
  EXPECT_CODES(l, "K145");
  EXPECT_SAYS(l, "output 'y' of graph 'main'");
  g.outputs.clear();
  EXPECT_CODES(Loaded(model(g)), "K107");
}

TEST(Graph, OutputsMayBeAnythingAndTwice) {
  GraphParts g = base();
  g.initializers = {floats("w", {7, 8})};
  g.outputs = {info("y"), info("y"), info("x"), info("w")};
  g.nodes = {node("Neg", {"x"}, {"y"})};
  Loaded l(model(g));
  ASSERT_LOADS(l);
  const Graph &graph = l.model->graph;
  ASSERT_EQ(graph.outputs.size(), 4u);
  EXPECT_EQ(graph.outputs[0].value, graph.outputs[1].value);
  EXPECT_EQ(graph.outputs[2].value, graph.inputs[0]);
  EXPECT_EQ(graph.outputs[3].value, graph.initializers[0].value);
}

TEST(Graph, InitializerThatIsAnInput) {
  GraphParts g = base();
  g.inputs.push_back(info("w", tensorType(1, {2})));
  g.initializers = {floats("w", {1, 1})};
  g.nodes = {node("Add", {"x", "w"}, {"y"})};
  Loaded l(model(g));
  ASSERT_LOADS(l);
  ASSERT_EQ(l.model->graph.inputs.size(), 2u);
  EXPECT_TRUE(l.model->graph.initializers[0].isInput);
  EXPECT_EQ(l.model->graph.defaultOf(l.model->graph.inputs[0]), nullptr);
  EXPECT_EQ(l.model->graph.defaultOf(l.model->graph.inputs[1]), &l.model->graph.initializers[0]);
  // Before ir_version 4 it had to be listed, and means a constant.
  Loaded old(model(g, 8, 3));
  ASSERT_LOADS(old);
  EXPECT_EQ(old.model->graph.inputs.size(), 1u);
  EXPECT_FALSE(old.model->graph.initializers[0].isInput);

  for (const Msg &type : {tensorType(7, {2}), tensorType(1, {3}), tensorType(1, {2, 1})}) {
    g.inputs[1] = info("w", type);
    Loaded differs(model(g));
    EXPECT_CODES(differs, "K167");
    EXPECT_SAYS(differs, "initializer 'w' is tensor(float)[2]");
  }
  g.inputs[1] = info("w", tensorType(1, {"n"}));
  ASSERT_LOADS(Loaded(model(g)));
}

TEST(Graph, EmptyNamesAreNoValues) {
  GraphParts g = base();
  g.initializers = {rawTensor("hi", 1, {}, rawBytes<float>({5}))};
  g.outputs = {info("y"), info("m1"), info("m2")};
  g.nodes = {node("Clip", {"x", "", "hi"}, {"y"}), node("TopK", {"x", "k"}, {"", "m1"}),
             node("TopK", {"x", "k"}, {"", "m2"})};
  g.initializers.push_back(rawTensor("k", 7, {1}, rawBytes<int64_t>({1})));
  g.outputs[1] = info("m1", 7);
  g.outputs[2] = info("m2", 7);
  Loaded l(model(g));
  ASSERT_LOADS(l);
  EXPECT_EQ(l.model->graph.nodes[0].inputs[1], noValue);
  EXPECT_EQ(l.model->graph.nodes[1].outputs[0], noValue);
  EXPECT_EQ(l.model->graph.nodes[0].input(7), noValue);
}

TEST(Graph, DimensionsOfValueInfos) {
  GraphParts g;
  g.inputs = {info("x", tensorType(1, {-1, 3, "?", "", "batch"})), info("s", tensorType(1))};
  g.outputs = {info("y")};
  g.nodes = {node("Neg", {"x"}, {"y"})};
  Loaded l(model(g));
  ASSERT_LOADS(l);
  const Type &type = l.model->typeOf(l.model->graph.inputs[0]);
  ASSERT_EQ(type.dims.size(), 5u);
  EXPECT_EQ(type.fullStr(), "tensor(float)[?, 3, ?, ?, batch]");
  EXPECT_FALSE(l.model->typeOf(l.model->graph.inputs[1]).hasShape);
}

TEST(Graph, TypesOfInputs) {
  auto with = [](const Msg &input) {
    GraphParts g = base();
    g.inputs = {input};
    g.nodes = {node("Neg", {"x"}, {"y"})};
    return Loaded(model(g));
  };
  for (const Msg &absent : {Msg().str(1, "x"), info("x", Msg()), info("x", 0)}) {
    Loaded l = with(absent);
    EXPECT_CODES(l, "K150");
    EXPECT_SAYS(l, "input 'x' has no type");
  }
  for (int number : {99, -4}) {
    Loaded l = with(info("x", number));
    EXPECT_CODES(l, "K151");
    EXPECT_SAYS(l, "input 'x' has element type " + std::to_string(number));
  }
  Loaded inside = with(info("x", sequenceOf(tensorType(77))));
  EXPECT_CODES(inside, "K151");
  Loaded sequence = with(info("x", sequenceOf(tensorType(1))));
  EXPECT_CODES(sequence, "K130");
  EXPECT_SAYS(sequence, "input X 'x' has type seq(tensor(float)); Neg-13 allows tensor(float)");
}

TEST(Graph, UnknownTypesOfOtherValues) {
  GraphParts g = base();
  g.nodes = {node("Neg", {"x"}, {"t"}), node("Neg", {"t"}, {"y"})};
  g.infos = {info("t", 0)};
  ASSERT_LOADS(Loaded(model(g)));
  g.infos = {info("t", 99)};
  EXPECT_CODES(Loaded(model(g)), "K151");
  g.infos = {info("t", 7)};
  Loaded l(model(g));
  EXPECT_CODES(l, "K133");
  EXPECT_SAYS(l, "value 't' is declared as tensor(int64) but Neg makes it tensor(float)");
}

TEST(Graph, HostileNamesAreEscaped) {
  GraphParts g = base();
  g.nodes = {node("Add", {"x", "\x1b[31m\xff"}, {"y"}, {}, "a\nb")};
  Loaded l(model(g));
  EXPECT_CODES(l, "K140");
  EXPECT_SAYS(l, "\\x1b[31m\\xff");
  EXPECT_SAYS(l, "'a\\x0ab'");
}

TEST(Graph, LargeModelsTakeLinearTime) {
  auto seconds = [](int count, bool reversed) {
    std::vector<Msg> nodes;
    for (int i = 0; i != count; ++i)
      nodes.push_back(node("Neg", {("v" + std::to_string(i)).c_str()},
                           {("v" + std::to_string(i + 1)).c_str()}));
    if (reversed)
      std::reverse(nodes.begin(), nodes.end());
    GraphParts g;
    g.inputs = {info("v0")};
    g.outputs = {info("v" + std::to_string(count))};
    g.nodes = nodes;
    Msg m = model(g);
    auto start = std::chrono::steady_clock::now();
    Loaded l(m);
    EXPECT_TRUE(l.model) << l.text();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  seconds(1000, false);
  // Loose bounds: quadratic behaviour would miss them by far.
  EXPECT_LT(seconds(50000, false), 5.0);
  EXPECT_LT(seconds(50000, true), 5.0);
}
