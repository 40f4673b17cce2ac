//===- LowerAttribute.cpp - Attributes and types of protos ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lower.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

using namespace kiln;
using namespace kiln::onnx;
using llvm::StringRef;
using namespace ONNX_NAMESPACE;
using Kind = Attribute::Kind;

/// The fields of the message that hold a value.
static llvm::SmallVector<Kind, 2> usedFields(const AttributeProto &proto) {
  llvm::SmallVector<Kind, 2> used;
  auto add = [&](bool present, Kind kind) {
    if (present)
      used.push_back(kind);
  };
  add(proto.has_f(), Kind::Float);
  add(proto.has_i(), Kind::Int);
  add(proto.has_s(), Kind::String);
  add(proto.has_t(), Kind::Tensor);
  add(proto.has_g(), Kind::Graph);
  add(proto.has_sparse_tensor(), Kind::SparseTensor);
  add(proto.has_tp(), Kind::TypeProto);
  add(proto.floats_size(), Kind::Floats);
  add(proto.ints_size(), Kind::Ints);
  add(proto.strings_size(), Kind::Strings);
  add(proto.tensors_size(), Kind::Tensors);
  add(proto.graphs_size(), Kind::Graphs);
  add(proto.sparse_tensors_size(), Kind::SparseTensors);
  add(proto.type_protos_size(), Kind::TypeProtos);
  return used;
}

/// The kind that tag and contents agree on; what is wrong goes to `fault`.
static Kind kindOf(const AttributeProto &proto, std::string &fault) {
  llvm::SmallVector<Kind, 2> used = usedFields(proto);
  Kind tag = static_cast<Kind>(proto.type());
  auto name = [](Kind kind) { return Attribute::kindName(kind).str(); };
  if (used.size() > 1)
    fault = "holds both " + name(used[0]) + " and " + name(used[1]);
  else if (tag == Kind::Undefined && used.empty())
    fault = "has neither a type nor a value";
  else if (tag == Kind::Undefined)
    return used[0]; // Files of ir_version 1 have no tags.
  else if (!used.empty() && used[0] != tag)
    fault = "is tagged as " + name(tag) + " but holds " + name(used[0]);
  else if (used.empty() && (tag == Kind::Tensor || tag == Kind::Graph ||
                            tag == Kind::SparseTensor || tag == Kind::TypeProto))
    fault = "is tagged as " + name(tag) + " but holds nothing";
  return tag;
}

std::optional<Attribute> Lowering::lowerAttribute(const AttributeProto &proto, const Node &node,
                                                  Place place) {
  std::string shown = printable(proto.name());
  auto malformed = [&](StringRef text) {
    diags.report(Diag::MalformedAttribute, shown, text)
        .atNode(node.label())
        .withOp(node.opType, node.domain, node.opset);
    return std::nullopt;
  };
  if (proto.name().empty()) {
    diags.report(Diag::MissingName, "an attribute").atNode(node.label());
    return std::nullopt;
  }
  if (!proto.ref_attr_name().empty()) {
    if (!place.frame.function)
      return malformed("refers to a function's attribute outside of a function");
    auto it = place.frame.attributes.find(proto.ref_attr_name());
    assert(it != place.frame.attributes.end() && "the caller drops unbound references");
    Attribute copy = it->second;
    copy.name = proto.name();
    // Two nodes must not define the same values.
    for (std::shared_ptr<Graph> &graph : copy.graphs) {
      llvm::DenseMap<ValueId, ValueId> renamed;
      graph = cloneGraph(*graph, renamed);
    }
    return copy;
  }

  std::string fault;
  Attribute result;
  result.name = proto.name();
  result.kind = kindOf(proto, fault);
  if (!fault.empty())
    return malformed(fault);
  result.f = proto.f();
  result.i = proto.i();
  result.s = proto.s();
  result.floats.assign(proto.floats().begin(), proto.floats().end());
  result.ints.assign(proto.ints().begin(), proto.ints().end());
  result.strings.assign(proto.strings().begin(), proto.strings().end());

  bool ok = true;
  std::string what = "attribute '" + shown + "'", label = node.label();
  auto keep = [&](std::optional<Tensor> tensor) {
    if (tensor)
      result.tensors.push_back(std::move(*tensor));
    else
      ok = false;
  };
  if (proto.has_t())
    keep(tensors.read(proto.t(), *place.frame.source, what, label));
  for (const TensorProto &tensor : proto.tensors())
    keep(tensors.read(tensor, *place.frame.source, what, label));
  if (proto.has_sparse_tensor())
    keep(tensors.readSparse(proto.sparse_tensor(), *place.frame.source, what, label));
  for (const SparseTensorProto &sparse : proto.sparse_tensors())
    keep(tensors.readSparse(sparse, *place.frame.source, what, label));
  if (proto.has_g())
    lowerGraphAttribute(proto.g(), result, node, place);
  for (const GraphProto &graph : proto.graphs())
    lowerGraphAttribute(graph, result, node, place);
  auto keepType = [&](const TypeProto &type) {
    if (std::optional<Type> lowered = lowerType(type, what))
      result.types.push_back(std::move(*lowered));
    else
      ok = false;
  };
  if (proto.has_tp())
    keepType(proto.tp());
  llvm::for_each(proto.type_protos(), keepType);
  if (!ok)
    return std::nullopt;
  return result;
}

void Lowering::lowerGraphAttribute(const GraphProto &proto, Attribute &attribute, const Node &node,
                                   Place place) {
  auto graph = std::make_shared<Graph>();
  attribute.graphs.push_back(graph);
  if (depth >= maxLoweringDepth) {
    if (!tooDeepReported)
      diags.report(Diag::NestedTooDeeply, maxLoweringDepth);
    tooDeepReported = true;
    return;
  }
  // Bodies of loops often leave their inputs untyped; the node's operands tell.
  std::vector<Type> inputTypes;
  bool loop = node.domain.empty() && node.opType == "Loop";
  if (loop || (node.domain.empty() && node.opType == "Scan" && node.sinceVersion >= 9)) {
    for (ValueId input : node.inputs) {
      Type type = model.typeOf(input);
      type.hasShape = false;
      type.dims.clear();
      inputTypes.push_back(std::move(type));
    }
    if (loop) {
      inputTypes.resize(std::max<size_t>(inputTypes.size(), 2));
      inputTypes[0] = Type::tensor(ElemType::Int64);
      inputTypes[1] = Type::tensor(ElemType::Bool);
    }
  }
  ++depth;
  lowerGraph(proto, &place.scope, place.frame, *graph, inputTypes);
  --depth;
}

std::shared_ptr<Graph> Lowering::cloneGraph(const Graph &graph,
                                            llvm::DenseMap<ValueId, ValueId> &renamed) {
  auto copy = std::make_shared<Graph>(graph);
  auto fresh = [&](ValueId &id) {
    if (id == noValue)
      return;
    ValueInfo info = model.values[id];
    id = renamed[id] = model.addValue(std::move(info.name), std::move(info.type));
  };
  auto rename = [&](ValueId &id) {
    if (auto it = renamed.find(id); it != renamed.end())
      id = it->second;
  };
  llvm::for_each(copy->inputs, fresh);
  for (Initializer &initializer : copy->initializers)
    initializer.isInput ? rename(initializer.value) : fresh(initializer.value);
  for (Node &node : copy->nodes) {
    llvm::for_each(node.inputs, rename);
    for (Attribute &attribute : node.attributes)
      for (std::shared_ptr<Graph> &inner : attribute.graphs)
        inner = cloneGraph(*inner, renamed);
    llvm::for_each(node.outputs, fresh);
    ++nodeCount;
  }
  for (Output &output : copy->outputs)
    rename(output.value);
  return copy;
}

// Recursion is bounded by protobuf's own limit for nested messages.
std::optional<Type> Lowering::lowerType(const TypeProto &proto, const std::string &what) {
  Type type;
  auto setElem = [&](int32_t number) {
    if (number >= 0 && number < static_cast<int>(numElemTypes)) {
      type.elemType = static_cast<ElemType>(number);
      return true;
    }
    diags.report(Diag::UnknownElementType, what, number);
    return false;
  };
  auto setShape = [&](const auto &tensor) {
    type.hasShape = tensor.has_shape();
    for (const auto &dim : tensor.shape().dim()) {
      if (dim.has_dim_value() && dim.dim_value() >= 0)
        type.dims.push_back(Dim::fixed(dim.dim_value()));
      else if (dim.has_dim_param() && !dim.dim_param().empty() && dim.dim_param() != "?")
        type.dims.push_back({Dim::Kind::Symbol, -1, dim.dim_param()});
      else
        type.dims.push_back({});
    }
  };
  auto setElement = [&](const TypeProto &element) {
    std::optional<Type> inner = lowerType(element, what);
    if (inner)
      type.element = std::make_shared<Type>(std::move(*inner));
    return inner.has_value();
  };
  bool ok = true;
  switch (proto.value_case()) {
  case TypeProto::kTensorType:
    type.kind = Type::Kind::Tensor;
    ok = setElem(proto.tensor_type().elem_type());
    setShape(proto.tensor_type());
    // A tensor of nothing known: only its shape would be, and nobody asks for that alone.
    if (type.elemType == ElemType::Undefined)
      type = {};
    break;
  case TypeProto::kSparseTensorType:
    type.kind = Type::Kind::SparseTensor;
    ok = setElem(proto.sparse_tensor_type().elem_type());
    setShape(proto.sparse_tensor_type());
    break;
  case TypeProto::kSequenceType:
    type.kind = Type::Kind::Sequence;
    ok = setElement(proto.sequence_type().elem_type());
    break;
  case TypeProto::kOptionalType:
    type.kind = Type::Kind::Optional;
    ok = setElement(proto.optional_type().elem_type());
    break;
  case TypeProto::kMapType:
    type.kind = Type::Kind::Map;
    ok = setElem(proto.map_type().key_type()) && setElement(proto.map_type().value_type());
    break;
  case TypeProto::kOpaqueType:
    type.kind = Type::Kind::Opaque;
    break;
  case TypeProto::VALUE_NOT_SET:
    break;
  }
  if (!ok)
    return std::nullopt;
  return type;
}
