//===- ToProto.cpp - Back from the neutral graph to protos ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ToProto.h"

using namespace kiln::onnx;
using namespace ONNX_NAMESPACE;

std::string kiln::onnx::protoName(ValueId value) {
  return value == noValue ? std::string() : "kiln_value_" + std::to_string(value);
}

TypeProto kiln::onnx::toProto(const Type &type) {
  TypeProto proto;
  auto fillTensor = [&](auto &tensor) {
    tensor.set_elem_type(static_cast<int>(type.elemType));
    if (!type.hasShape)
      return;
    auto &shape = *tensor.mutable_shape();
    for (const Dim &dim : type.dims) {
      auto &d = *shape.add_dim();
      if (dim.kind == Dim::Kind::Fixed)
        d.set_dim_value(dim.value);
      else if (dim.kind == Dim::Kind::Symbol)
        d.set_dim_param(dim.symbol);
    }
  };
  auto inner = [&] { return type.element ? toProto(*type.element) : TypeProto(); };
  switch (type.kind) {
  case Type::Kind::None:
    break;
  case Type::Kind::Tensor:
    fillTensor(*proto.mutable_tensor_type());
    break;
  case Type::Kind::SparseTensor:
    fillTensor(*proto.mutable_sparse_tensor_type());
    break;
  case Type::Kind::Sequence:
    *proto.mutable_sequence_type()->mutable_elem_type() = inner();
    break;
  case Type::Kind::Optional:
    *proto.mutable_optional_type()->mutable_elem_type() = inner();
    break;
  case Type::Kind::Map:
    proto.mutable_map_type()->set_key_type(static_cast<int>(type.elemType));
    *proto.mutable_map_type()->mutable_value_type() = inner();
    break;
  case Type::Kind::Opaque:
    proto.mutable_opaque_type();
    break;
  }
  return proto;
}

static TensorProto toProto(const Tensor &tensor, const std::string &name) {
  TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(static_cast<int>(tensor.elemType));
  for (int64_t dim : tensor.dims)
    proto.add_dims(dim);
  if (tensor.strings)
    for (const std::string &s : *tensor.strings)
      proto.add_string_data(s);
  else
    proto.set_raw_data(tensor.data, tensor.size);
  return proto;
}

static GraphProto toProto(const Model &model, const Graph &graph);

static AttributeProto toProto(const Model &model, const Attribute &attribute) {
  using Kind = Attribute::Kind;
  AttributeProto proto;
  proto.set_name(attribute.name);
  // Sparse tensors are held densely by now.
  Kind kind = attribute.kind == Kind::SparseTensor ? Kind::Tensor : attribute.kind;
  proto.set_type(static_cast<AttributeProto::AttributeType>(kind));
  switch (kind) {
  case Kind::Undefined:
  case Kind::SparseTensor:
    break;
  case Kind::Float:
    proto.set_f(attribute.f);
    break;
  case Kind::Int:
    proto.set_i(attribute.i);
    break;
  case Kind::String:
    proto.set_s(attribute.s);
    break;
  case Kind::Tensor:
    *proto.mutable_t() = toProto(attribute.tensors[0], attribute.tensors[0].name);
    break;
  case Kind::Graph:
    *proto.mutable_g() = toProto(model, *attribute.graphs[0]);
    break;
  case Kind::Floats:
    proto.mutable_floats()->Add(attribute.floats.begin(), attribute.floats.end());
    break;
  case Kind::Ints:
    proto.mutable_ints()->Add(attribute.ints.begin(), attribute.ints.end());
    break;
  case Kind::Strings:
    for (const std::string &s : attribute.strings)
      proto.add_strings(s);
    break;
  case Kind::Tensors:
  case Kind::SparseTensors:
    for (const Tensor &tensor : attribute.tensors)
      *proto.add_tensors() = toProto(tensor, tensor.name);
    break;
  case Kind::Graphs:
    for (const auto &graph : attribute.graphs)
      *proto.add_graphs() = toProto(model, *graph);
    break;
  case Kind::TypeProto:
    *proto.mutable_tp() = kiln::onnx::toProto(attribute.types[0]);
    break;
  case Kind::TypeProtos:
    for (const Type &type : attribute.types)
      *proto.add_type_protos() = kiln::onnx::toProto(type);
    break;
  }
  return proto;
}

static GraphProto toProto(const Model &model, const Graph &graph) {
  GraphProto proto;
  proto.set_name(graph.name);
  auto addInfo = [&](ValueInfoProto &info, ValueId id) {
    info.set_name(protoName(id));
    if (model.typeOf(id).known())
      *info.mutable_type() = kiln::onnx::toProto(model.typeOf(id));
  };
  for (ValueId input : graph.inputs)
    addInfo(*proto.add_input(), input);
  for (const Initializer &initializer : graph.initializers)
    *proto.add_initializer() = toProto(initializer.tensor, protoName(initializer.value));
  for (const Node &node : graph.nodes)
    *proto.add_node() = kiln::onnx::toProto(model, node);
  for (const Output &output : graph.outputs)
    addInfo(*proto.add_output(), output.value);
  return proto;
}

NodeProto kiln::onnx::toProto(const Model &model, const Node &node) {
  NodeProto proto;
  proto.set_name(node.name);
  proto.set_op_type(node.opType);
  proto.set_domain(node.domain);
  proto.set_overload(node.overload);
  for (ValueId input : node.inputs)
    proto.add_input(protoName(input));
  for (ValueId output : node.outputs)
    proto.add_output(protoName(output));
  for (const Attribute &attribute : node.attributes)
    *proto.add_attribute() = ::toProto(model, attribute);
  return proto;
}
