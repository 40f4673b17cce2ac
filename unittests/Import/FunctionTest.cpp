//===- FunctionTest.cpp - Functions of models and of schemas --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ModelBuilder.h"

using namespace kiln;
using namespace kiln::onnx;
using namespace kiln::onnx::testing;

static Msg call(const char *name, std::initializer_list<const char *> inputs,
                std::initializer_list<const char *> outputs,
                std::initializer_list<Msg> attributes = {}, const char *label = "") {
  return node(name, inputs, outputs, attributes, label, "local");
}

static Msg withFunctions(const GraphParts &g, std::initializer_list<Msg> functions) {
  Msg m = model(g);
  m.msg(8, opset(1, "local"));
  for (const Msg &f : functions)
    m.msg(25, f);
  return m;
}

static GraphParts callF(const Msg &n) {
  GraphParts g;
  g.inputs = {info("x", tensorType(1, {2})), info("c", 9)};
  g.outputs = {info("y")};
  g.nodes = {n};
  return g;
}

static std::string ops(const std::vector<Node> &nodes) {
  std::string result;
  for (const Node &n : nodes)
    result += (result.empty() ? "" : " ") + n.opType;
  return result;
}

TEST(Function, CallsAreInlined) {
  GraphParts g = callF(call("f", {"x"}, {"t"}, {}, "one"));
  g.nodes.push_back(call("f", {"t"}, {"y"}));
  // f(x) = g(x) + x, g(x) = -x
  Loaded l(withFunctions(
      g, {function("g", {"a"}, {"b"}, {node("Neg", {"a"}, {"b"})}),
          function("f", {"a"}, {"b"},
                   {call("g", {"a"}, {"t"}), node("Add", {"t", "a"}, {"b"}, {}, "sum")})}));
  ASSERT_LOADS(l);
  const auto &nodes = l.model->graph.nodes;
  EXPECT_EQ(ops(nodes), "Neg Add Neg Add");
  EXPECT_EQ(nodes[1].name, "one/sum");
  EXPECT_EQ(nodes[3].name, "f#1/sum");
  EXPECT_EQ(nodes[1].inputs[1], l.model->graph.inputs[0]);
  EXPECT_EQ(nodes[2].inputs[0], nodes[1].outputs[0]);
  // The caller's names win outside.
  EXPECT_EQ(l.model->values[nodes[1].outputs[0]].name, "t");
  EXPECT_EQ(l.model->values[nodes[3].outputs[0]].name, "y");
  EXPECT_EQ(l.model->values[nodes[0].outputs[0]].name, "one/t");
  EXPECT_EQ(l.model->typeOf(nodes[3].outputs[0]).elemType, ElemType::Float);
}

TEST(Function, AttributesAreBound) {
  Msg f = function("f", {"a"}, {"b"},
                   {node("LeakyRelu", {"a"}, {"t"}, {refAttr("alpha", 1, "slope")}),
                    node("Elu", {"t"}, {"b"}, {refAttr("alpha", 1, "other")})},
                   {"other"});
  f.msg(11, floatAttr("slope", 0.25f));
  Loaded fallback(withFunctions(callF(call("f", {"x"}, {"y"})), {f}));
  ASSERT_LOADS(fallback);
  EXPECT_EQ(fallback.model->graph.nodes[0].floatOr("alpha", 9), 0.25f);
  // What the call leaves out is left out.
  EXPECT_EQ(fallback.model->graph.nodes[1].attribute("alpha"), nullptr);
  Loaded given(withFunctions(
      callF(call("f", {"x"}, {"y"}, {floatAttr("slope", 0.5f), floatAttr("other", 2)})), {f}));
  ASSERT_LOADS(given);
  EXPECT_EQ(given.model->graph.nodes[0].floatOr("alpha", 9), 0.5f);
  EXPECT_EQ(given.model->graph.nodes[1].floatOr("alpha", 9), 2.0f);
  Loaded unknown(withFunctions(callF(call("f", {"x"}, {"y"}, {floatAttr("nope", 1)})), {f}));
  EXPECT_CODES(unknown, "K125");
  Loaded wrong(withFunctions(callF(call("f", {"x"}, {"y"}, {intAttr("slope", 1)})), {f}));
  EXPECT_CODES(wrong, "K126");
}

TEST(Function, GraphAttributesAreCopied) {
  GraphParts branch;
  branch.name = "branch";
  branch.outputs = {info("p")};
  branch.nodes = {node("Neg", {"x"}, {"p"})};
  Msg f = function("f", {"c"}, {"b"},
                   {node("If", {"c"}, {"b"},
                         {refAttr("then_branch", 5, "body"), refAttr("else_branch", 5, "body")})},
                   {"body"});
  Loaded l(withFunctions(callF(call("f", {"c"}, {"y"}, {graphAttr("body", branch)})), {f}));
  ASSERT_LOADS(l);
  const Node &n = l.model->graph.nodes[0];
  EXPECT_NE(n.attributes[0].graphs[0]->outputs[0].value,
            n.attributes[1].graphs[0]->outputs[0].value);
  EXPECT_EQ(n.attributes[0].graphs[0]->captures, std::vector<ValueId>{l.model->graph.inputs[0]});
}

TEST(Function, OptionalParameters) {
  Msg f = function("f", {"a", "low", "high"}, {"b"}, {node("Clip", {"a", "low", "high"}, {"b"})});
  Loaded l(withFunctions(callF(call("f", {"x"}, {"y"})), {f}));
  ASSERT_LOADS(l);
  EXPECT_EQ(l.model->graph.nodes[0].inputs, (std::vector<ValueId>{0, noValue, noValue}));
}

TEST(Function, WorksInsideSubgraphs) {
  GraphParts then, otherwise;
  then.outputs = {info("p")};
  then.nodes = {call("f", {"x"}, {"p"})};
  otherwise.outputs = {info("q")};
  otherwise.nodes = {node("Neg", {"x"}, {"q"})};
  Loaded l(withFunctions(
      callF(node("If", {"c"}, {"y"},
                 {graphAttr("then_branch", then), graphAttr("else_branch", otherwise)})),
      {function("f", {"a"}, {"b"}, {node("Abs", {"a"}, {"b"})})}));
  ASSERT_LOADS(l);
  EXPECT_EQ(ops(l.model->graph.nodes[0].attributes[0].graphs[0]->nodes), "Abs");
}

TEST(Function, ResultThatIsAParameter) {
  Loaded l(withFunctions(callF(call("f", {"x"}, {"y"})), {function("f", {"a"}, {"a"}, {})}));
  ASSERT_LOADS(l);
  EXPECT_EQ(l.model->graph.outputs[0].value, l.model->graph.inputs[0]);
  EXPECT_EQ(l.model->graph.outputs[0].name, "y");
}

TEST(Function, RecursionNamesTheCycle) {
  Loaded self(withFunctions(callF(call("f", {"x"}, {"y"})),
                            {function("f", {"a"}, {"b"}, {call("f", {"a"}, {"b"})})}));
  EXPECT_CODES(self, "K180");
  EXPECT_SAYS(self, "local.f -> local.f");
  EXPECT_EQ(self.exit(), 1);
  Loaded mutual(withFunctions(callF(call("f", {"x"}, {"y"})),
                              {function("f", {"a"}, {"b"}, {call("g", {"a"}, {"b"})}),
                               function("g", {"a"}, {"b"}, {call("f", {"a"}, {"b"})})}));
  EXPECT_CODES(mutual, "K180");
  EXPECT_SAYS(mutual, "local.f -> local.g -> local.f");
  GraphParts branch, other;
  branch.outputs = {info("p")};
  branch.nodes = {call("f", {"a", "c"}, {"p"})};
  other.outputs = {info("q")};
  other.nodes = {node("Neg", {"a"}, {"q"})};
  Loaded hidden(withFunctions(
      callF(call("f", {"x", "c"}, {"y"})),
      {function("f", {"a", "c"}, {"b"},
                {node("If", {"c"}, {"b"},
                      {graphAttr("then_branch", branch), graphAttr("else_branch", other)})})}));
  EXPECT_CODES(hidden, "K180");
}

TEST(Function, GrowthIsBounded) {
  // Thirty functions, each of which calls the next twice.
  Msg m = model(callF(call("f0", {"x"}, {"y"})));
  m.msg(8, opset(1, "local"));
  for (int i = 0; i != 30; ++i) {
    std::string next = "f" + std::to_string(i + 1);
    m.msg(25, function("f" + std::to_string(i), {"a"}, {"b"},
                       {call(next.c_str(), {"a"}, {"t"}), call(next.c_str(), {"t"}, {"b"})}));
  }
  m.msg(25, function("f30", {"a"}, {"a"}, {}));
  LoadOptions options;
  options.maxNodes = 100000;
  Loaded l(m, options);
  EXPECT_TRUE(l.says("K209")) << l.text().substr(0, 500);
}

TEST(Function, LongChainsAreBounded) {
  Msg m = model(callF(call("f0", {"x"}, {"y"})));
  m.msg(8, opset(1, "local"));
  for (int i = 0; i != 3000; ++i)
    m.msg(25, function("f" + std::to_string(i), {"a"}, {"b"},
                       {call(("f" + std::to_string(i + 1)).c_str(), {"a"}, {"b"})}));
  m.msg(25, function("f3000", {"a"}, {"a"}, {}));
  Loaded l(m);
  EXPECT_CODES(l, "K208");
}

TEST(Function, Faults) {
  auto body = function("f", {"a"}, {"b"}, {node("Neg", {"a"}, {"b"})});
  EXPECT_CODES(Loaded(withFunctions(callF(call("f", {"x", "x"}, {"y"})), {body})), "K182");
  EXPECT_CODES(Loaded(withFunctions(callF(call("f", {"x"}, {"y", "z"})), {body})), "K182");
  EXPECT_CODES(Loaded(withFunctions(callF(call("f", {"x"}, {"y"})), {body, body})), "K181");
  Loaded ghost(
      withFunctions(callF(call("f", {"x"}, {"y"}, {}, "call")),
                    {function("f", {"a"}, {"b"}, {node("Add", {"a", "x"}, {"b"}, {}, "add")})}));
  EXPECT_CODES(ghost, "K140"); // The graph's x is not visible in a function.
  EXPECT_SAYS(ghost, "'call/add' (Add)");
  Loaded noOutput(withFunctions(callF(call("f", {"x"}, {"y"})), {function("f", {"a"}, {"b"}, {})}));
  EXPECT_CODES(noOutput, "K145");
  Loaded unknown(withFunctions(callF(call("f", {"x"}, {"y"})),
                               {function("f", {"a"}, {"b"}, {node("Nope", {"a"}, {"b"})})}));
  EXPECT_CODES(unknown, "K120");
}

TEST(Function, HasItsOwnOpset) {
  Msg f = Msg()
              .str(1, "f")
              .str(10, "local")
              .str(4, "a")
              .str(5, "b")
              .msg(9, opset(11))
              .msg(7, node("Squeeze", {"a"}, {"b"}, {intsAttr("axes", {0})}));
  Loaded l(withFunctions(callF(call("f", {"x"}, {"y"})), {f}));
  ASSERT_LOADS(l);
  EXPECT_EQ(l.model->graph.nodes[0].opset, 11);
  EXPECT_EQ(l.model->graph.nodes[0].sinceVersion, 11);
}

/// Expands the only node of a model.
static std::string expanded(const Msg &m, llvm::ArrayRef<Type> types = {}) {
  Loaded l(m);
  if (!l.model)
    return l.text();
  Node n = l.model->graph.nodes[0];
  Expansion result;
  if (!expandSchemaFunction(*l.model, n, types, result, l.diags))
    return "no body " + l.text();
  // Its outputs are defined, by new nodes and once.
  for (ValueId output : n.outputs) {
    int definitions = 0;
    for (const Node &inner : result.nodes)
      definitions += llvm::count(inner.outputs, output);
    EXPECT_EQ(definitions, output == noValue ? 0 : 1);
  }
  for (const Node &inner : result.nodes)
    EXPECT_NE(inner.sinceVersion, 0) << inner.opType;
  return ops(result.nodes);
}

static Msg oneNode(const Msg &n, int64_t version) {
  GraphParts g;
  g.inputs = {info("a", tensorType(1, {2, 3})), info("b"), info("h", tensorType(10, {2, 3}))};
  g.outputs = {info("y", Msg())};
  g.nodes = {n};
  return model(g, version, 10);
}

TEST(Expand, FixedBodies) {
  EXPECT_EQ(expanded(oneNode(node("GreaterOrEqual", {"a", "b"}, {"y"}), 16)), "Greater Equal Or");
  EXPECT_EQ(expanded(oneNode(node("Relu", {"a"}, {"y"}), 6 + 1)), "no body ");
}

TEST(Expand, DefaultsOfTheSchemaAreBound) {
  Loaded l(oneNode(node("ThresholdedRelu", {"a"}, {"y"}), 22));
  ASSERT_LOADS(l);
  Expansion result;
  ASSERT_TRUE(expandSchemaFunction(*l.model, l.model->graph.nodes[0], {}, result, l.diags))
      << l.text();
  bool found = false;
  for (const Node &n : result.nodes)
    if (const Attribute *value = n.attribute("value_float"))
      found |= value->f == 1.0f;
    else if (const Attribute *tensor = n.attribute("value"))
      found |= tensor->tensors[0].size == 4;
  EXPECT_TRUE(found) << ops(result.nodes);
}

TEST(Expand, TheOpsetChoosesTheBody) {
  auto reduceAxes = [](int64_t version) {
    Loaded l(oneNode(node("LogSoftmax", {"a"}, {"y"}), version));
    Expansion result;
    EXPECT_TRUE(expandSchemaFunction(*l.model, l.model->graph.nodes[0], {}, result, l.diags));
    for (const Node &n : result.nodes)
      if (n.opType == "ReduceMax")
        return std::pair(n.sinceVersion, n.attribute("axes") != nullptr);
    return std::pair(0, false);
  };
  EXPECT_EQ(reduceAxes(13), std::pair(13, true));
  EXPECT_EQ(reduceAxes(20), std::pair(20, false));
}

TEST(Expand, TypesDecideTheBody) {
  // Unknown types: no body, and no complaint.
  GraphParts g;
  g.inputs = {info("a", tensorType(1, {2, 3})), info("w", tensorType(1, {3}))};
  g.outputs = {info("y")};
  g.nodes = {node("LayerNormalization", {"a", "w"}, {"y"})};
  std::string f32 = expanded(model(g));
  EXPECT_NE(f32.find("ReduceMean"), std::string::npos) << f32;
  Loaded l(model(g));
  Expansion result;
  ASSERT_TRUE(expandSchemaFunction(*l.model, l.model->graph.nodes[0],
                                   {Type::tensor(ElemType::Float, {2, 3})}, result, l.diags));
  for (const Node &n : result.nodes)
    EXPECT_TRUE(llvm::StringRef(n.name).starts_with("LayerNormalization#0/")) << n.name;
}

TEST(Expand, BodiesWithSubgraphsKeepCaptures) {
  GraphParts body;
  body.name = "body";
  body.inputs = {info("e", tensorType(1))};
  body.outputs = {info("r", tensorType(1))};
  body.nodes = {node("Add", {"e", "b"}, {"r"})};
  GraphParts g;
  g.inputs = {info("s", sequenceOf(tensorType(1))), info("b")};
  g.outputs = {info("y", sequenceOf(tensorType(1)))};
  g.nodes = {node("SequenceMap", {"s"}, {"y"}, {graphAttr("body", body)})};
  Loaded l(model(g));
  ASSERT_LOADS(l);
  Expansion result;
  ASSERT_TRUE(expandSchemaFunction(*l.model, l.model->graph.nodes[0], {}, result, l.diags))
      << l.text();
  bool captured = false;
  for (const Node &n : result.nodes)
    if (n.opType == "Loop")
      captured =
          llvm::is_contained(n.attribute("body")->graphs[0]->captures, l.model->graph.inputs[1]);
  EXPECT_TRUE(captured) << ops(result.nodes);
}

TEST(Expand, ContradictoryOperandsAreTheModelsFault) {
  // The delta rule needs decay and beta, which the schema calls optional.
  GraphParts g;
  for (const char *name : {"q", "k", "v"})
    g.inputs.push_back(info(name, tensorType(1, {1, 4, 2, 8})));
  g.outputs = {info("y"), info("state")};
  g.nodes = {node("LinearAttention", {"q", "k", "v"}, {"y", "state"},
                  {intAttr("q_num_heads", 2), intAttr("kv_num_heads", 2),
                   strAttr("update_rule", "gated_delta")})};
  Loaded l(model(g, 27, 10));
  ASSERT_LOADS(l);
  Expansion result;
  EXPECT_FALSE(expandSchemaFunction(*l.model, l.model->graph.nodes[0], {}, result, l.diags));
  EXPECT_CODES(l, "K134");
  EXPECT_EQ(l.exit(), 1);
  EXPECT_TRUE(result.nodes.empty());
}

TEST(Expand, HasSchemaFunction) {
  Loaded l(oneNode(node("Softplus", {"a"}, {"y"}), 22));
  ASSERT_LOADS(l);
  EXPECT_TRUE(hasSchemaFunction(*l.model, l.model->graph.nodes[0]));
  Loaded conv(oneNode(node("MatMul", {"a", "b"}, {"y"}), 17));
  ASSERT_LOADS(conv);
  EXPECT_FALSE(hasSchemaFunction(*conv.model, conv.model->graph.nodes[0]));
}
