//===- Expand.cpp - Operators that ONNX defines as functions --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lower.h"
#include "ToProto.h"
#include "kiln/Import/ONNX/Load.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <new>

using namespace kiln;
using namespace kiln::onnx;
using llvm::StringRef;
using namespace ONNX_NAMESPACE;

static const OpSchema *schemaOf(const Model &model, const Node &node) {
  const SchemaInfo *info = model.schemas->find(node.opType, node.domain, node.opset);
  return info ? info->schema : nullptr;
}

bool kiln::onnx::hasSchemaFunction(const Model &model, const Node &node) {
  const OpSchema *schema = schemaOf(model, node);
  return schema && (schema->HasFunction() || schema->HasContextDependentFunction());
}

static bool buildBody(const Model &model, const Node &node, llvm::ArrayRef<Type> inputTypes,
                      FunctionProto &function) {
  const OpSchema *schema = schemaOf(model, node);
  if (!schema)
    return false;
  // The opset decides among several bodies: operators inside may have changed
  // although this one has not.
  if (const FunctionProto *body =
          schema->HasFunction() ? schema->GetFunction(node.opset) : nullptr) {
    function = *body;
  } else if (schema->HasContextDependentFunction()) {
    std::vector<TypeProto> types;
    for (size_t i = 0; i != node.inputs.size(); ++i)
      types.push_back(toProto(i < inputTypes.size() && inputTypes[i].known()
                                  ? inputTypes[i]
                                  : model.typeOf(node.inputs[i])));
    NodeProto proto = toProto(model, node);
    // Some builders read an attribute that has a default without asking whether it
    // is there.
    for (const auto &[name, attribute] : schema->attributes())
      if (attribute.default_value.type() != AttributeProto::UNDEFINED && !node.attribute(name)) {
        AttributeProto &fallback = *proto.add_attribute();
        fallback = attribute.default_value;
        fallback.set_name(name);
      }
    FunctionBodyBuildContextImpl context(proto, types);
    if (!schema->BuildContextDependentFunction(context, function, node.opset))
      return false;
  } else {
    return false;
  }
  // Bodies import at least the operator's own domain, not always ai.onnx.
  auto importAt = [&](StringRef domain, int64_t version) {
    if (version < 1 || llvm::any_of(
                           function.opset_import(),
                           [&](const OperatorSetIdProto &import) {
                             return canonicalDomain(import.domain()) == domain;
                           }))
      return;
    auto &import = *function.add_opset_import();
    import.set_domain(domain.str());
    import.set_version(version);
  };
  importAt(node.domain, node.opset);
  auto base = model.opsets.find("");
  importAt("", base == model.opsets.end() ? newestOpset : base->second);
  // References in the body see the schema's defaults where the node says nothing.
  for (const auto &[name, attribute] : schema->attributes())
    if (attribute.default_value.type() != AttributeProto::UNDEFINED && !node.attribute(name)) {
      AttributeProto &fallback = *function.add_attribute_proto();
      fallback = attribute.default_value;
      fallback.set_name(name);
    }
  return true;
}

/// Gives values other ids, in subgraphs too.
static void rename(std::vector<Node> &nodes, const llvm::DenseMap<ValueId, ValueId> &ids) {
  auto apply = [&](ValueId &id) {
    if (auto it = ids.find(id); it != ids.end())
      id = it->second;
  };
  for (Node &node : nodes) {
    llvm::for_each(node.inputs, apply);
    llvm::for_each(node.outputs, apply);
    for (Attribute &attribute : node.attributes)
      for (const std::shared_ptr<Graph> &graph : attribute.graphs) {
        rename(graph->nodes, ids);
        llvm::for_each(graph->captures, apply);
        for (Output &output : graph->outputs)
          apply(output.value);
      }
  }
}

static bool expand(Model &model, const Node &node, llvm::ArrayRef<Type> inputTypes,
                   std::vector<Node> &result, DiagnosticEngine &diags) {
  FunctionProto body;
  if (!buildBody(model, node, inputTypes, body))
    return false;
  for (size_t i = 0; i != node.inputs.size() && i < inputTypes.size(); ++i)
    if (node.inputs[i] != noValue && !model.typeOf(node.inputs[i]).known())
      model.values[node.inputs[i]].type = inputTypes[i];

  // Constants of the body go the way of a file's, so that one reader serves both.
  auto bytes = std::make_shared<std::string>(body.SerializeAsString());
  llvm::ArrayRef<uint8_t> range(reinterpret_cast<const uint8_t *>(bytes->data()), bytes->size());
  ScanResult scan = scanMessage(MessageKind::Function, range);
  FunctionProto slim;
  if (scan.error.kind != ScanError::None || !slim.ParseFromString(scan.slim)) {
    diags.report(Diag::Internal, "the function body of " + node.opType + " does not parse");
    return false;
  }
  PayloadSource source{range, bytes, std::move(scan.payloads)};
  DiagnosticEngine inner(model.path);
  LoadOptions options;
  ExternalData external(model.path, inner);
  Lowering lowering(model, options, external, inner);
  for (const Attribute &attribute : node.attributes)
    for (const std::shared_ptr<Graph> &graph : attribute.graphs)
      for (ValueId captured : graph->captures)
        lowering.outerValues[protoName(captured)] = captured;

  Graph graph;
  std::vector<ValueId> results;
  std::string path =
      (node.name.empty() ? node.opType + "#" + std::to_string(node.index) : node.name) + "/";
  const ValueId firstNew = static_cast<ValueId>(model.values.size());
  if (!lowering.lowerFunctionBody(slim, source, node.inputs, node.attributes, path, graph,
                                  results)) {
    std::string text;
    llvm::raw_string_ostream os(text);
    inner.printText(os);
    // Bodies are built from what the node says: operands that contradict each other
    // give a body that does not hold together.
    diags
        .report(Diag::SchemaViolation,
                "the function that defines " + node.opType + " is not valid for these operands")
        .atNode(node.label())
        .note(text);
    return false;
  }

  llvm::DenseMap<ValueId, ValueId> ids;
  llvm::SmallVector<std::pair<ValueId, ValueId>> copies;
  for (size_t k = 0; k != node.outputs.size() && k != results.size(); ++k) {
    if (node.outputs[k] == noValue)
      continue;
    if (results[k] == noValue) {
      diags
          .report(Diag::SchemaViolation, "the function that defines " + node.opType +
                                             " does not compute output " + std::to_string(k) +
                                             " for these operands")
          .atNode(node.label());
      return false;
    }
    if (results[k] >= firstNew && ids.try_emplace(results[k], node.outputs[k]).second) {
      Type &type = model.values[node.outputs[k]].type;
      if (!type.known())
        type = model.values[results[k]].type;
    } else {
      copies.push_back({results[k], node.outputs[k]});
    }
  }
  // A result that is an operand itself, or another result again.
  for (auto [from, to] : copies) {
    Node copy;
    copy.opType = "Identity";
    copy.name = path + "result";
    copy.index = node.index;
    for (const auto &import : slim.opset_import())
      if (canonicalDomain(import.domain()).empty())
        copy.opset = static_cast<int>(import.version());
    copy.sinceVersion = sinceVersion("Identity", "", copy.opset);
    copy.inputs = {from};
    copy.outputs = {to};
    graph.nodes.push_back(std::move(copy));
  }
  rename(graph.nodes, ids);
  result = std::move(graph.nodes);
  return true;
}

bool kiln::onnx::expandSchemaFunction(Model &model, const Node &node,
                                      llvm::ArrayRef<Type> inputTypes, Expansion &result,
                                      DiagnosticEngine &diags) {
  try {
    return expand(model, node, inputTypes, result.nodes, diags);
  } catch (const std::bad_alloc &) {
    diags.report(Diag::OutOfMemory, "expanding " + printable(node.opType));
  } catch (const std::exception &e) {
    // ONNX's builders throw when operands or attributes are not what they expect.
    diags
        .report(Diag::SchemaViolation, "the function that defines " + node.opType +
                                           " cannot be built: " + printable(e.what(), 1000))
        .atNode(node.label());
  }
  return false;
}
