//===- ImportModel.cpp - A checked ONNX graph as kiln IR ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Import/ImportModel.h"
#include "SymbolicValues.h"
#include "dialects/Kiln/ops/Constant/Constant.h"
#include "dialects/Kiln/ops/Symbol/Symbol.h"
#include "kiln/Import/ONNX/Load.h"
#include "kiln/Reference/TensorData.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kiln;

namespace {

/// State of one import, shared by all nodes.
class ModelImporter {
public:
  ModelImporter(onnx::Model &model, const ImportOptions &options, const ImportTable &table,
                MLIRContext &context, kiln::DiagnosticEngine &diags)
      : model(model), options(options), table(table), context(context), b(&context), diags(&diags) {
  }

  OwningOpRef<ModuleOp> run();

  onnx::Model &model;
  const ImportOptions &options;
  const ImportTable &table;
  MLIRContext &context;
  OpBuilder b;
  /// Another one while something is tried.
  kiln::DiagnosticEngine *diags;
  SymbolicValues symbolic;
  DenseMap<onnx::ValueId, Value> values;
  /// Values that a reported node should have made.
  DenseSet<onnx::ValueId> missing;

  /// A graph of which some nodes have been imported.
  struct GraphState {
    const onnx::Graph &graph;
    size_t next = 0;
    /// The values of its outputs, when a node has ended it.
    std::optional<SmallVector<Value>> outputs = std::nullopt;
  };
  /// The one that nodes are taken from; null while a schema's function is
  /// expanded: its nodes are no graph's.
  GraphState *current = nullptr;
  /// Nodes so far; some count more than once.
  uint64_t imported = 0;

  void importNode(const onnx::Node &node, unsigned depth);
  void importNodes();
  void importInitializers(const onnx::Graph &graph);
  FailureOr<SmallVector<Value>> importSubgraph(const onnx::Graph &graph, ValueRange inputs);
  FailureOr<NodeImporter::Rest> importRest(const onnx::Node &node, ValueRange outputs);
  ElementsAttr elements(const onnx::Tensor &tensor, const Twine &what);

private:
  std::optional<RankedTensorType> inputType(const onnx::ValueInfo &info);
  Expr inputDim(const onnx::ValueInfo &info, size_t axis);
  Expr declareSymbol(StringRef modelName, StringRef symbol);
  ImportHandler handlerOf(const onnx::Node &node) const;
  bool isSupported(const onnx::Node &node) const;
  void reportUnsupported(const onnx::Node &node);
  void poison(const onnx::Node &node);
  void setSymbols(ModuleOp module);
  bool importInputs(func::FuncOp function);
  void importOutputs(func::FuncOp function);

  struct Symbol {
    std::string symbol, modelName;
    DimRange range;
  };
  std::vector<Symbol> symbols;
  std::map<std::string, Expr> symbolOf; // by the model's name
  std::set<std::string> usedDims;
};

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

/// Elements of a few bits, packed from the lowest bit on, as a byte each.
static TensorData unpack(const onnx::Tensor &tensor, RankedTensorType type, unsigned width) {
  TensorData data(type);
  bool isSigned = type.getElementType().isSignlessInteger();
  for (int64_t i = 0; i < data.size(); ++i) {
    auto at = static_cast<uint64_t>(i) * width;
    unsigned both = tensor.data[at / 8];
    if (at % 8 + width > 8)
      both |= static_cast<unsigned>(tensor.data[at / 8 + 1]) << 8;
    uint64_t bits = (both >> (at % 8)) & llvm::maxUIntN(width);
    data.mutableBytes()[i] =
        static_cast<char>(isSigned ? llvm::SignExtend64(bits, width) : static_cast<int64_t>(bits));
  }
  return data;
}

ElementsAttr ModelImporter::elements(const onnx::Tensor &tensor, const Twine &what) {
  Type type = elementTypeOfOnnx(&context, static_cast<int64_t>(tensor.elemType));
  if (!type) {
    diags->report(Diag::UnsupportedType, what.str(), onnx::elemTypeName(tensor.elemType));
    return nullptr;
  }
  auto tensorType = RankedTensorType::get(tensor.dims, type);
  if (unsigned width = onnx::elemTypeBits(tensor.elemType); width < 8)
    return elementsAttr(unpack(tensor, tensorType, width),
                        tensor.name.empty() ? "constant" : tensor.name);
  TensorData data(tensorType, reinterpret_cast<const char *>(tensor.data), tensor.owner);
  return elementsAttr(data, tensor.name.empty() ? "constant" : tensor.name);
}

Expr ModelImporter::declareSymbol(StringRef modelName, StringRef symbol) {
  auto range = options.dims.find(modelName.str());
  if (range != options.dims.end()) {
    usedDims.insert(modelName.str());
    if (range->second.isFixed())
      return range->second.lower;
  }
  std::string name = symbolic.claim(symbol);
  symbols.push_back(
      {name, modelName.str(), range == options.dims.end() ? DimRange() : range->second});
  return Expr::symbol(name);
}

Expr ModelImporter::inputDim(const onnx::ValueInfo &info, size_t axis) {
  const onnx::Dim &dim = info.type.dims[axis];
  if (dim.kind == onnx::Dim::Kind::Fixed)
    return dim.value;
  // Unset dims mean no shared size: each gets a symbol of its own.
  bool named = dim.kind == onnx::Dim::Kind::Symbol;
  std::string modelName = named ? dim.symbol : info.name + "_" + std::to_string(axis);
  auto it = symbolOf.find(modelName);
  if (it == symbolOf.end())
    it = symbolOf.emplace(modelName, declareSymbol(modelName, modelName)).first;
  return it->second;
}

std::optional<RankedTensorType> ModelImporter::inputType(const onnx::ValueInfo &info) {
  Type element = info.type.isTensor()
                     ? elementTypeOfOnnx(&context, static_cast<int64_t>(info.type.elemType))
                     : Type();
  if (!element) {
    diags->report(Diag::UnsupportedType, "input '" + info.name + "'", info.type.str());
    return std::nullopt;
  }
  if (!info.type.hasShape) {
    diags
        ->report(Diag::UnsupportedForm,
                 "input '" + info.name + "' has no shape, so its rank is not known")
        .nearestSupported("a shape with named or unnamed dimensions");
    return std::nullopt;
  }
  Shape shape;
  for (size_t axis = 0; axis < info.type.dims.size(); ++axis)
    shape.push_back(inputDim(info, axis));
  return tensorType(shape, element);
}

bool ModelImporter::importInputs(func::FuncOp function) {
  bool good = true;
  for (onnx::ValueId id : model.graph.inputs) {
    const onnx::ValueInfo &info = model.values[id];
    const onnx::Initializer *preset = model.graph.defaultOf(id);
    auto type = inputType(info);
    if (!type) {
      good = false;
      continue;
    }
    NamedAttrList attributes;
    attributes.set(nameAttr, b.getStringAttr(info.name));
    if (preset) {
      ElementsAttr value = elements(preset->tensor, "initializer '" + info.name + "'");
      if (!value)
        return false;
      attributes.set(defaultAttr, value);
    }
    unsigned index = function.getNumArguments();
    if (failed(function.insertArgument(index, *type, attributes.getDictionary(&context),
                                       b.getUnknownLoc())))
      return false;
    values[id] = function.getArgument(index);
  }
  return good;
}

void ModelImporter::importInitializers(const onnx::Graph &graph) {
  for (const onnx::Initializer &initializer : graph.initializers) {
    if (initializer.isInput)
      continue;
    StringRef name = model.values[initializer.value].name;
    ElementsAttr value = elements(initializer.tensor, "initializer '" + name + "'");
    if (!value) {
      missing.insert(initializer.value);
      continue;
    }
    values[initializer.value] = ConstantOp::create(b, NameLoc::get(b.getStringAttr(name)), value);
  }
}

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

void ModelImporter::importOutputs(func::FuncOp function) {
  SmallVector<Value> results(*current->outputs);
  SmallVector<Type> types(ValueRange(results).getTypes());
  func::ReturnOp::create(b, b.getUnknownLoc(), results);
  function.setFunctionType(FunctionType::get(&context, function.getArgumentTypes(), types));
  for (auto [i, output] : llvm::enumerate(model.graph.outputs))
    function.setResultAttr(static_cast<unsigned>(i), nameAttr, b.getStringAttr(output.name));
}

void ModelImporter::setSymbols(ModuleOp module) {
  SmallVector<StringRef> names, modelNames;
  SmallVector<int64_t> lower, upper;
  for (const Symbol &symbol : symbols) {
    names.push_back(symbol.symbol);
    modelNames.push_back(symbol.modelName);
    lower.push_back(symbol.range.lower);
    upper.push_back(symbol.range.upper);
  }
  module->setAttr(symbolsAttr, b.getStrArrayAttr(names));
  module->setAttr(symbolNamesAttr, b.getStrArrayAttr(modelNames));
  module->setAttr(lowerAttr, b.getDenseI64ArrayAttr(lower));
  module->setAttr(upperAttr, b.getDenseI64ArrayAttr(upper));
}

OwningOpRef<ModuleOp> ModelImporter::run() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(b.getUnknownLoc());
  b.setInsertionPointToEnd(module->getBody());
  auto function = func::FuncOp::create(b, b.getUnknownLoc(), "main", b.getFunctionType({}, {}));
  b.setInsertionPointToEnd(function.addEntryBlock());
  if (!importInputs(function))
    return nullptr;
  for (const auto &[name, range] : options.dims)
    if (!usedDims.count(name)) {
      std::string known;
      for (const Symbol &symbol : symbols)
        known += (known.empty() ? "" : ", ") + symbol.modelName;
      diags->report(Diag::Usage, "--dim " + name + ": the model has no such dimension" +
                                     (known.empty() ? "" : " (it has " + known + ")"));
    }
  importInitializers(model.graph);
  GraphState state{model.graph};
  current = &state;
  importNodes();
  if (diags->hasErrors())
    return nullptr;
  importOutputs(function);
  setSymbols(*module);
  return module;
}

OwningOpRef<ModuleOp> kiln::importModel(onnx::Model &model, const ImportOptions &options,
                                        const ImportTable &table, MLIRContext &context,
                                        kiln::DiagnosticEngine &diags) {
  return ModelImporter(model, options, table, context, diags).run();
}
