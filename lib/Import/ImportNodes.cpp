//===- ImportNodes.cpp - Nodes of a graph and of graphs in it -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelImporter.h"
#include "dialects/Kiln/ops/Symbol/Symbol.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace kiln;

namespace {
class OnnxNodeImporter final : public NodeImporter {
public:
  OnnxNodeImporter(ModelImporter &importer, const onnx::Node &node, Location loc)
      : NodeImporter(importer.b, loc), importer(importer), node(node) {}

  StringRef opType() const override { return node.opType; }
  int sinceVersion() const override { return node.sinceVersion; }
  unsigned numInputs() const override { return static_cast<unsigned>(node.inputs.size()); }
  unsigned numOutputs() const override { return static_cast<unsigned>(node.outputs.size()); }
  Value input(unsigned i) const override { return importer.values.lookup(node.input(i)); }
  bool outputUsed(unsigned i) const override { return node.output(i) != onnx::noValue; }

  using NodeImporter::floatAttr;
  using NodeImporter::intAttr;
  std::optional<int64_t> intAttr(StringRef name) const override {
    auto *a = node.attribute(name);
    return a ? std::optional(a->i) : std::nullopt;
  }
  std::optional<double> floatAttr(StringRef name) const override {
    auto *a = node.attribute(name);
    return a ? std::optional<double>(a->f) : std::nullopt;
  }
  std::optional<StringRef> stringAttr(StringRef name) const override {
    auto *a = node.attribute(name);
    return a ? std::optional<StringRef>(a->s) : std::nullopt;
  }
  std::optional<SmallVector<int64_t>> intsAttr(StringRef name) const override {
    auto *a = node.attribute(name);
    return a ? std::optional(SmallVector<int64_t>(a->ints.begin(), a->ints.end())) : std::nullopt;
  }
  std::optional<SmallVector<double>> floatsAttr(StringRef name) const override {
    auto *a = node.attribute(name);
    return a ? std::optional(SmallVector<double>(a->floats.begin(), a->floats.end()))
             : std::nullopt;
  }
  std::optional<SmallVector<std::string>> stringsAttr(StringRef name) const override {
    auto *a = node.attribute(name);
    return a ? std::optional(SmallVector<std::string>(a->strings.begin(), a->strings.end()))
             : std::nullopt;
  }
  ElementsAttr tensorAttr(StringRef name) const override {
    auto *a = node.attribute(name);
    if (!a || a->tensors.empty())
      return nullptr;
    return importer.elements(a->tensors.front(), "attribute '" + name + "' of " + node.label());
  }

  FailureOr<Shape> exprs(unsigned i) override {
    std::string hint = importer.model.values[node.inputs[i]].name;
    if (auto elements = importer.symbolic.findOrBind(input(i), b, loc, hint))
      return Shape(elements->begin(), elements->end());
    return refuse("input " + Twine(i) + " ('" + hint +
                      "') holds sizes whose number is not known or above " +
                      Twine(SymbolicValues::maxElements),
                  "a shape operand of static length");
  }
  std::optional<Shape> knownExprs(Value value) const override {
    auto elements = importer.symbolic.find(value);
    return elements ? std::optional(Shape(elements->begin(), elements->end())) : std::nullopt;
  }
  Shape bind(Value tensor, StringRef hint) override {
    auto symbols = importer.symbolic.bind(tensor, b, loc, hint, /*isSize=*/false);
    return Shape(symbols.begin(), symbols.end());
  }
  Shape bindSizes(Value tensor, StringRef hint, const Twine &what) override {
    auto symbols = importer.symbolic.bind(tensor, b, loc, hint, /*isSize=*/true);
    for (const Expr &size : symbols)
      addRequire(0, size, "0 <= " + what, Relation::AtMost);
    return Shape(symbols.begin(), symbols.end());
  }
  Expr freshSize(StringRef hint) override { return importer.symbolic.fresh(hint, /*isSize=*/true); }
  void require(const Expr &x, const Expr &y, const Twine &text, Relation relation) override {
    bool provable = x == y;
    if (relation == Relation::AtMost)
      provable |= (y - x).isNonNegative();
    if (relation == Relation::Broadcast)
      provable |= x.isConstant(1) || y.isConstant(1);
    auto left = x.constant(), right = y.constant();
    if (left && right) {
      if (!holds(relation, *left, *right))
        (void)invalid(text + ": got " + Twine(*left) + " and " + Twine(*right));
      return;
    }
    if (!provable)
      addRequire(x, y, text, relation);
  }

  FailureOr<SmallVector<Value>> importGraph(StringRef attribute, ValueRange inputs) override {
    auto *a = node.attribute(attribute);
    if (!a || a->graphs.empty())
      return invalid("attribute '" + attribute + "' is missing");
    return importer.importSubgraph(*a->graphs.front(), inputs);
  }
  FailureOr<Rest> importRest(ValueRange outputs) override {
    if (!importer.current)
      return refuse("outputs whose ranks depend on the run, in the function of an operator",
                    "outputs of one rank");
    return importer.importRest(node, outputs);
  }
  void endGraph(ValueRange outputs) override {
    importer.current->outputs = SmallVector<Value>(outputs);
  }
  void forget(Region &region) override { importer.symbolic.forget(region); }

  LogicalResult refuse(const Twine &reason, const Twine &hint) override {
    auto &diag = importer.diags->report(Diag::UnsupportedForm, reason.str());
    locate(diag);
    if (std::string text = hint.str(); !text.empty())
      diag.nearestSupported(text);
    return failure();
  }
  LogicalResult invalid(const Twine &reason) override {
    locate(importer.diags->report(Diag::SchemaViolation, reason.str()));
    return failure();
  }

private:
  void addRequire(const Expr &x, const Expr &y, const Twine &text, Relation relation) {
    auto message = (Twine(node.label()) + ": " + text).str();
    RequireOp::create(b, loc, exprsAttr(b.getContext(), {x, y}), b.getStringAttr(message),
                      b.getStringAttr(nameOf(relation)));
  }
  void locate(kiln::Diagnostic &diag) {
    diag.atNode(node.label()).withOp(node.opType, node.domain, node.opset);
  }

  ModelImporter &importer;
  const onnx::Node &node;
};
} // namespace

ImportHandler ModelImporter::handlerOf(const onnx::Node &node) const {
  return table.find(node.domain.empty() ? node.opType : node.domain + ":" + node.opType,
                    node.sinceVersion);
}

bool ModelImporter::isSupported(const onnx::Node &node) const {
  return handlerOf(node) || onnx::hasSchemaFunction(model, node);
}

void ModelImporter::reportUnsupported(const onnx::Node &node) {
  diags
      ->report(Diag::UnsupportedOperator, node.opType,
               node.domain.empty() ? "ai.onnx" : node.domain, node.opset)
      .atNode(node.label())
      .withOp(node.opType, node.domain, node.opset);
}

void ModelImporter::poison(const onnx::Node &node) {
  for (onnx::ValueId id : node.outputs)
    if (id != onnx::noValue)
      missing.insert(id);
}

static onnx::Type onnxTypeOf(Value value, const onnx::Type &known) {
  if (!value)
    return onnx::Type();
  onnx::Type type = known;
  type.kind = onnx::Type::Kind::Tensor;
  type.elemType = static_cast<onnx::ElemType>(onnxNumberOf(elementTypeOf(value)));
  type.hasShape = true;
  type.dims.clear();
  for (const Expr &dim : shapeOf(value))
    type.dims.push_back(dim.constant() ? onnx::Dim::fixed(*dim.constant())
                                       : onnx::Dim{onnx::Dim::Kind::Symbol, -1, dim.str().str()});
  return type;
}

void ModelImporter::importNode(const onnx::Node &node, unsigned depth) {
  // Loops in loops, and branches whose results differ in rank, import nodes again
  // and again: that must end.
  const uint64_t most = onnx::LoadOptions().maxNodes;
  if (++imported > most) {
    if (imported == most + 1)
      diags->report(Diag::UnsupportedForm,
                    "the model's branches and loops import nodes more than " +
                        std::to_string(most) + " times");
    return poison(node);
  }
  auto isMissing = [&](onnx::ValueId id) { return missing.contains(id); };
  if (llvm::any_of(node.inputs, isMissing))
    return poison(node);
  for (const onnx::Attribute &attribute : node.attributes)
    for (const auto &graph : attribute.graphs)
      if (llvm::any_of(graph->captures, isMissing))
        return poison(node);

  Location loc = NameLoc::get(b.getStringAttr(node.name.empty() ? node.label() : node.name));
  // What inference and verifiers say about this node.
  std::string complaint;
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diag) {
    if (diag.getSeverity() == DiagnosticSeverity::Error && complaint.empty())
      complaint = diag.str();
    return success();
  });
  size_t errorsBefore = diags->errorCount();
  if (ImportHandler handle = handlerOf(node)) {
    OnnxNodeImporter importer(*this, node, loc);
    auto results = handle(importer);
    bool good = succeeded(results);
    if (good && current && current->outputs)
      return;
    for (auto [i, id] : llvm::enumerate(node.outputs)) {
      if (id == onnx::noValue)
        continue;
      Value result = good && i < results->size() ? (*results)[i] : Value();
      if (result)
        values[id] = result;
      else
        missing.insert(id), good = false;
    }
    if (!good && diags->errorCount() == errorsBefore)
      (void)importer.invalid(complaint.empty() ? "the importer gave no result" : complaint);
    return;
  }
  SmallVector<onnx::Type> types;
  for (onnx::ValueId id : node.inputs)
    types.push_back(id == onnx::noValue ? onnx::Type()
                                        : onnxTypeOf(values.lookup(id), model.typeOf(id)));
  onnx::Expansion expansion;
  // Function bodies call functions: a schema that expands into itself must end.
  constexpr unsigned maxDepth = 16;
  if (depth < maxDepth && onnx::expandSchemaFunction(model, node, types, expansion, *diags)) {
    GraphState *outer = std::exchange(current, nullptr);
    for (const onnx::Node &inner : expansion.nodes)
      importNode(inner, depth + 1);
    current = outer;
    return;
  }
  poison(node);
  if (diags->errorCount() == errorsBefore)
    reportUnsupported(node);
}

void ModelImporter::importNodes() {
  const onnx::Graph &graph = current->graph;
  if (current->next == 0)
    for (const onnx::Node &node : graph.nodes)
      if (!isSupported(node))
        reportUnsupported(node);
  while (!current->outputs && current->next < graph.nodes.size())
    if (const onnx::Node &node = graph.nodes[current->next++]; isSupported(node))
      importNode(node, 0);
    else
      poison(node);
  if (current->outputs)
    return;
  // Go on after errors: the user wants to hear of every node at once.
  current->outputs.emplace();
  for (const onnx::Output &output : graph.outputs)
    current->outputs->push_back(missing.contains(output.value) ? Value()
                                                               : values.lookup(output.value));
}

FailureOr<SmallVector<Value>> ModelImporter::importSubgraph(const onnx::Graph &graph,
                                                            ValueRange inputs) {
  GraphState state{graph};
  GraphState *outer = std::exchange(current, &state);
  for (auto [id, value] : llvm::zip_equal(graph.inputs, inputs))
    values[id] = value;
  importInitializers(graph);
  importNodes();
  current = outer;
  if (llvm::is_contained(*state.outputs, Value()))
    return failure();
  return *state.outputs;
}

FailureOr<NodeImporter::Rest> ModelImporter::importRest(const onnx::Node &node,
                                                        ValueRange outputs) {
  GraphState state{current->graph, current->next};
  GraphState *outer = std::exchange(current, &state);
  kiln::DiagnosticEngine tried(diags->file());
  kiln::DiagnosticEngine *reports = std::exchange(diags, &tried);
  DenseSet<onnx::ValueId> missingBefore = missing;
  for (auto [id, value] : llvm::zip_equal(node.outputs, outputs))
    values[id] = value;
  importNodes();
  current = outer;
  diags = reports;
  if (!tried.hasErrors() && !llvm::is_contained(*state.outputs, Value()))
    return NodeImporter::Rest{*state.outputs, ""};
  missing = std::move(missingBefore);
  auto breaksModel = [](const kiln::Diagnostic &d) { return d.diag == Diag::SchemaViolation; };
  if (tried.hasErrors() && llvm::all_of(tried.all(), breaksModel)) {
    const kiln::Diagnostic &first = tried.all().front();
    return NodeImporter::Rest{{}, first.node + ": " + first.message};
  }
  diags->append(tried);
  return failure();
}
