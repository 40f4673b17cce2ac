//===- Lower.cpp - From slim protos to the neutral graph ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One walk resolves names, sorts, inlines, reads tensors and checks. A fault is
// reported and replaced by a value of unknown type, so that the walk goes on and
// one fault does not cause reports of others.
//
//===----------------------------------------------------------------------===//
#include "Lower.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"

using namespace kiln;
using namespace kiln::onnx;
using llvm::StringRef;
using namespace ONNX_NAMESPACE;

/// As Node::label(), for nodes that are not lowered yet.
static std::string labelOf(const NodeProto &proto, uint32_t index) {
  Node node;
  node.name = proto.name();
  node.opType = proto.op_type();
  node.domain = canonicalDomain(proto.domain()).str();
  node.index = index;
  return node.label();
}

static std::string definerText(const NodeList &nodes, Scope::Definition definition) {
  switch (definition.by) {
  case Scope::Definer::Input:
    return "an input";
  case Scope::Definer::Initializer:
    return "an initializer";
  case Scope::Definer::Node:
    break;
  }
  return "node " + labelOf(nodes[definition.node], definition.node);
}

bool Lowering::define(Scope &scope, StringRef name, Scope::Definition definition,
                      StringRef graphName,
                      llvm::function_ref<std::string(Scope::Definition)> text) {
  auto [it, isNew] = scope.definitions.try_emplace(name, definition);
  if (!isNew) {
    diags.report(Diag::DuplicateValue, printable(name), text(it->second), text(definition));
    return false;
  }
  for (Scope *outer = scope.parent; outer; outer = outer->parent)
    if (outer->definitions.count(name)) {
      diags.report(Diag::ShadowedValue, printable(name), printable(graphName));
      return false;
    }
  return true;
}

/// C programs see the names of inputs and outputs.
bool Lowering::checkName(StringRef name, const char *noun, int i, StringRef graph) {
  bool isCut = name.contains('\0');
  if (!name.empty() && !isCut)
    return true;
  auto &diag = diags.report(Diag::MissingName, noun + (" " + std::to_string(i)) + " of graph '" +
                                                   printable(graph) + "'");
  if (isCut)
    diag.note("'" + printable(name) + "' has a NUL byte, which no name may have");
  return false;
}

void Lowering::lowerInputs(const GraphProto &proto, Scope &scope, const Frame &frame, Graph &graph,
                           llvm::ArrayRef<Type> inputTypes) {
  auto text = [&](Scope::Definition d) { return definerText(proto.node(), d); };
  for (int i = 0; i != proto.input_size(); ++i) {
    const ValueInfoProto &input = proto.input(i);
    if (!checkName(input.name(), "input", i, proto.name()))
      continue;
    std::string what = "input '" + printable(input.name()) + "'";
    std::optional<Type> stated = lowerType(input.type(), what);
    // A subgraph's inputs may be untyped, the model's may not.
    if (!scope.parent && stated && !stated->known())
      diags.report(Diag::MissingType, printable(input.name()));
    Type type = stated.value_or(Type());
    if (!type.known() && static_cast<size_t>(i) < inputTypes.size())
      type = inputTypes[i];
    define(scope, input.name(), {Scope::Definer::Input, 0}, proto.name(), text);
    ValueId id = model.addValue(frame.path + input.name(), std::move(type));
    scope.values[input.name()] = id;
    graph.inputs.push_back(id);
  }
}

void Lowering::addInitializer(Scope &scope, const Frame &frame, Graph &graph, StringRef name,
                              std::optional<Tensor> tensor) {
  auto it = scope.values.find(name);
  bool isInput =
      it != scope.values.end() && scope.definitions.lookup(name).by == Scope::Definer::Input;
  if (isInput && tensor) {
    Type &declared = model.values[it->second].type;
    Type actual = tensor->type();
    bool same = !declared.known() || declared.str() == actual.str();
    if (same && declared.hasShape) {
      same = declared.dims.size() == actual.dims.size();
      for (size_t i = 0; same && i != actual.dims.size(); ++i)
        same = declared.dims[i].kind != Dim::Kind::Fixed || declared.dims[i] == actual.dims[i];
    }
    if (!same) {
      diags.report(Diag::InitializerDiffers, printable(name), actual.fullStr(), declared.fullStr());
      declared = {};
    }
  }
  ValueId id;
  if (isInput) {
    id = it->second;
    // Until ir_version 4 every initializer had to be an input too: no default is
    // meant, and the value is a constant.
    if (model.irVersion < 4) {
      llvm::erase(graph.inputs, id);
      isInput = false;
      if (tensor)
        model.values[id].type = tensor->type();
    }
  } else {
    id = model.addValue(frame.path + name.str(), tensor ? tensor->type() : Type());
    scope.values[name] = id;
  }
  if (tensor)
    graph.initializers.push_back({id, std::move(*tensor), isInput});
}

void Lowering::lowerInitializers(const GraphProto &proto, Scope &scope, const Frame &frame,
                                 Graph &graph) {
  auto text = [&](Scope::Definition d) { return definerText(proto.node(), d); };
  llvm::DenseSet<StringRef> seen;
  auto accept = [&](StringRef name, const char *noun, int i) {
    if (!checkName(name, noun, i, proto.name()))
      return false;
    if (!seen.insert(name).second) {
      diags.report(Diag::DuplicateValue, printable(name), "an initializer", "another");
      return false;
    }
    auto it = scope.definitions.find(name);
    return it != scope.definitions.end() ||
           define(scope, name, {Scope::Definer::Initializer, 0}, proto.name(), text);
  };
  for (int i = 0; i != proto.initializer_size(); ++i) {
    const TensorProto &tensor = proto.initializer(i);
    if (accept(tensor.name(), "initializer", i))
      addInitializer(scope, frame, graph, tensor.name(),
                     tensors.read(tensor, *frame.source,
                                  "initializer '" + printable(tensor.name()) + "'", ""));
  }
  for (int i = 0; i != proto.sparse_initializer_size(); ++i) {
    const SparseTensorProto &sparse = proto.sparse_initializer(i);
    const std::string &name = sparse.values().name();
    if (accept(name, "sparse initializer", i))
      addInitializer(scope, frame, graph, name,
                     tensors.readSparse(sparse, *frame.source,
                                        "sparse initializer '" + printable(name) + "'", ""));
  }
}

void Lowering::lowerOutputs(const GraphProto &proto, Scope &scope, const Frame &frame,
                            Graph &graph) {
  for (int i = 0; i != proto.output_size(); ++i) {
    const ValueInfoProto &output = proto.output(i);
    if (!checkName(output.name(), "output", i, proto.name()))
      continue;
    std::optional<ValueId> id = lookup(scope, output.name());
    if (!id) {
      diags.report(Diag::UndefinedOutput, printable(output.name()), printable(proto.name()));
      continue;
    }
    Type declared = scope.declared.lookup(output.name());
    // A node's results are compared where the node is; these have no node.
    Scope::Definition d = scope.definitions.lookup(output.name());
    const Type &actual = model.typeOf(*id);
    if (d.by != Scope::Definer::Node && declared.known() && actual.known() &&
        declared.str() != actual.str())
      diags.report(Diag::DeclaredTypeDiffers, printable(output.name()), declared.str(),
                   definerText(proto.node(), d), actual.str());
    graph.outputs.push_back({frame.path + output.name(), *id, std::move(declared)});
  }
}

void Lowering::lowerGraph(const GraphProto &proto, Scope *parent, const Frame &frame, Graph &graph,
                          llvm::ArrayRef<Type> inputTypes) {
  Scope scope;
  scope.parent = parent;
  graph.name = proto.name();
  lowerInputs(proto, scope, frame, graph, inputTypes);
  lowerInitializers(proto, scope, frame, graph);
  for (const auto *list : {&proto.value_info(), &proto.output()})
    for (const ValueInfoProto &info : *list) {
      std::optional<Type> type = lowerType(info.type(), "value '" + printable(info.name()) + "'");
      Type &declared = scope.declared[info.name()];
      if (type && type->known() && (!declared.hasShape || type->hasShape))
        declared = std::move(*type);
    }
  lowerNodes(proto.node(), {scope, frame, graph});
  lowerOutputs(proto, scope, frame, graph);
}

void Lowering::lowerNodes(const NodeList &nodes, Place place) {
  llvm::DenseMap<StringRef, uint32_t> definedBy;
  auto text = [&](Scope::Definition d) { return definerText(nodes, d); };
  for (int i = 0; i != nodes.size(); ++i)
    for (const std::string &output : nodes[i].output()) {
      // '' is an output that nobody wants; any number of nodes may have it.
      if (output.empty())
        continue;
      uint32_t index = static_cast<uint32_t>(i);
      if (define(place.scope, output, {Scope::Definer::Node, index}, place.graph.name, text))
        definedBy[output] = index;
      else
        place.scope.declared.erase(output);
    }
  std::vector<uint32_t> order =
      sortNodes(nodes, definedBy, freeNames, [&](llvm::ArrayRef<uint32_t> cycle) {
        std::string path;
        for (size_t i = 0; i != cycle.size() && i != 8; ++i)
          path += labelOf(nodes[cycle[i]], cycle[i]) + " -> ";
        if (cycle.size() > 8)
          path += "... (" + std::to_string(cycle.size()) + " nodes) -> ";
        path += labelOf(nodes[cycle[0]], cycle[0]);
        Diagnostic &d = diags.report(Diag::CyclicGraph, path);
        d.note("values: " + llvm::join(llvm::map_range(cycle.take_front(8),
                                                       [&](uint32_t i) {
                                                         return nodes[i].output_size()
                                                                    ? printable(nodes[i].output(0))
                                                                    : std::string();
                                                       }),
                                       ", "));
      });
  place.graph.nodes.reserve(place.graph.nodes.size() + order.size());
  for (uint32_t index : order)
    lowerNode(nodes[index], index, place);
}

std::optional<ValueId> Lowering::lookup(Scope &scope, StringRef name) {
  for (Scope *s = &scope; s; s = s->parent) {
    if (auto it = s->values.find(name); it != s->values.end())
      return it->second;
    // Defined, but not yet: it is on a cycle, which is reported.
    if (s->definitions.count(name))
      return s->values[name] = model.addValue(name.str(), Type());
  }
  if (auto it = outerValues.find(name); it != outerValues.end())
    return it->second;
  return std::nullopt;
}

ValueId Lowering::use(Place place, StringRef name, const Node &node) {
  if (name.empty())
    return noValue;
  if (std::optional<ValueId> id = lookup(place.scope, name))
    return *id;
  diags.report(Diag::UndefinedValue, printable(name))
      .atNode(node.label())
      .withOp(node.opType, node.domain, node.opset);
  return model.addValue(name.str(), Type());
}

ValueId Lowering::addResult(Place place, StringRef name) {
  if (name.empty())
    return noValue;
  auto it = place.scope.declared.find(name);
  ValueId id = model.addValue(place.frame.path + name.str(),
                              it == place.scope.declared.end() ? Type() : it->second);
  place.scope.values[name] = id;
  return id;
}

/// Whatever else the schema demands, in ONNX's words, which are less clear than
/// ours; "" when nothing is wrong.
static std::string schemaFault(const SchemaInfo &schema, const NodeProto &proto) {
  // It does not follow references to attributes of functions.
  if (llvm::any_of(proto.attribute(),
                   [](const AttributeProto &a) { return !a.ref_attr_name().empty(); }))
    return "";
  // Two things are fine with Kiln that are not with ONNX's check: an output that
  // nobody wants, whichever it is, and an attribute whose one value tells its type.
  bool lax = llvm::is_contained(proto.output(), "") ||
             llvm::any_of(proto.attribute(), [](const AttributeProto &a) { return !a.has_type(); });
  NodeProto copy;
  if (lax) {
    copy = proto;
    for (std::string &output : *copy.mutable_output())
      if (output.empty())
        output = "unwanted";
    for (AttributeProto &attribute : *copy.mutable_attribute())
      if (auto it = schema.attributes.find(attribute.name()); it != schema.attributes.end())
        attribute.set_type(static_cast<AttributeProto::AttributeType>(it->second.kind));
  }
  try {
    schema.schema->Verify(lax ? copy : proto);
  } catch (const std::exception &e) {
    return e.what();
  }
  return "";
}

void Lowering::lowerNode(const NodeProto &proto, uint32_t index, Place place) {
  if (nodeCount >= options.maxNodes) {
    if (!tooManyReported)
      diags.report(Diag::TooManyNodes, options.maxNodes);
    tooManyReported = true;
    return;
  }
  Node node;
  node.opType = proto.op_type();
  node.domain = canonicalDomain(proto.domain()).str();
  node.name = place.frame.path + proto.name();
  if (proto.name().empty() && !place.frame.path.empty())
    node.name += "#" + std::to_string(index);
  node.overload = proto.overload();
  node.docString = proto.doc_string();
  node.index = index;
  // Calls count too: functions that only call functions grow as well.
  ++nodeCount;
  const FunctionProto *function = findFunction(node.domain, node.opType, node.overload);
  int64_t opset = opsetOf(node, place.frame);
  node.opset = opset > 0 ? static_cast<int>(opset) : 0;

  node.inputs.reserve(proto.input_size());
  for (const std::string &input : proto.input())
    node.inputs.push_back(use(place, input, node));
  if (function) {
    inlineCall(*function, proto, node, place);
    return;
  }
  const SchemaInfo *schema = opset == badOpset ? nullptr : checker.resolve(node);
  if (schema)
    node.sinceVersion = schema->since;
  bool ok = schema != nullptr;
  for (const AttributeProto &attribute : proto.attribute()) {
    if (!attribute.ref_attr_name().empty() && place.frame.function &&
        !place.frame.attributes.count(attribute.ref_attr_name()))
      continue; // The call leaves it out, so it is left out here.
    if (std::optional<Attribute> lowered = lowerAttribute(attribute, node, place))
      node.attributes.push_back(std::move(*lowered));
    else
      ok = false;
  }
  for (const std::string &output : proto.output())
    node.outputs.push_back(addResult(place, output));

  if (ok && checker.checkForm(node, *schema)) {
    // ONNX's check rejects what is only discouraged.
    if (std::string fault = schema->deprecated ? "" : schemaFault(*schema, proto); !fault.empty()) {
      ok = false;
      diags.report(Diag::SchemaViolation, printable(fault, 1000))
          .atNode(node.label())
          .withOp(node.opType, node.domain, node.opset);
    }
    if (ok && checker.checkSubgraphs(node))
      checker.checkTypes(node, *schema);
  }
  place.graph.nodes.push_back(std::move(node));
}

void Lowering::computeCaptures(Graph &graph) {
  llvm::DenseSet<ValueId> inside(graph.inputs.begin(), graph.inputs.end());
  for (const Initializer &initializer : graph.initializers)
    inside.insert(initializer.value);
  llvm::DenseSet<ValueId> seen;
  auto use = [&](ValueId id) {
    if (id != noValue && !inside.contains(id) && seen.insert(id).second)
      graph.captures.push_back(id);
  };
  graph.captures.clear();
  for (Node &node : graph.nodes) {
    llvm::for_each(node.inputs, use);
    for (Attribute &attribute : node.attributes)
      for (const std::shared_ptr<Graph> &inner : attribute.graphs) {
        computeCaptures(*inner);
        llvm::for_each(inner->captures, use);
      }
    inside.insert(node.outputs.begin(), node.outputs.end());
  }
  for (const Output &output : graph.outputs)
    use(output.value);
}

bool Lowering::lowerModel(const ModelProto &proto, const PayloadSource &source) {
  modelSource = &source;
  Frame frame;
  frame.source = &source;
  readOpsets(proto.opset_import(), frame.opsets, "");
  for (const auto &[domain, version] : frame.opsets)
    if (version != badOpset)
      model.opsets[domain] = version;
  if (!collectFunctions(proto))
    return false;
  findRecursion();
  lowerGraph(proto.graph(), nullptr, frame, model.graph, {});
  if (proto.graph().output_size() == 0)
    diags.report(Diag::NoOutputs);
  if (diags.hasErrors())
    return false;
  computeCaptures(model.graph);
  return true;
}
