//===- Graph.cpp - A checked ONNX model, free of protobuf -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kiln/Import/ONNX/Graph.h"
#include "kiln/Support/Diagnostics.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

using namespace kiln::onnx;
using llvm::StringRef;

namespace {
struct ElemInfo {
  const char *name;
  unsigned bits;
};
} // namespace

// In the order of ElemType.
static constexpr ElemInfo elemInfos[numElemTypes] = {
    {"undefined", 0},      {"float", 32},       {"uint8", 8},          {"int8", 8},
    {"uint16", 16},        {"int16", 16},       {"int32", 32},         {"int64", 64},
    {"string", 0},         {"bool", 8},         {"float16", 16},       {"double", 64},
    {"uint32", 32},        {"uint64", 64},      {"complex64", 64},     {"complex128", 128},
    {"bfloat16", 16},      {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8}, {"float8e5m2", 8},
    {"float8e5m2fnuz", 8}, {"uint4", 4},        {"int4", 4},           {"float4e2m1", 4},
    {"float8e8m0", 8},     {"uint2", 2},        {"int2", 2},           {"float6e2m3", 6},
    {"float6e3m2", 6},
};

StringRef kiln::onnx::elemTypeName(ElemType type) {
  return elemInfos[static_cast<unsigned>(type)].name;
}
unsigned kiln::onnx::elemTypeBits(ElemType type) {
  return elemInfos[static_cast<unsigned>(type)].bits;
}
std::optional<uint64_t> kiln::onnx::packedBytes(ElemType type, uint64_t elements) {
  uint64_t bits = elemTypeBits(type), result;
  if (bits >= 8) {
    if (__builtin_mul_overflow(elements, bits / 8, &result))
      return std::nullopt;
    return result;
  }
  // Whole groups of eight elements first: elements * bits may overflow.
  return elements / 8 * bits + llvm::divideCeil(elements % 8 * bits, 8);
}

Type Type::tensor(ElemType elemType, llvm::ArrayRef<int64_t> dims) {
  Type type = tensor(elemType);
  type.hasShape = true;
  for (int64_t dim : dims)
    type.dims.push_back(Dim::fixed(dim));
  return type;
}

std::string Type::str() const {
  std::string inner = element ? element->str() : "?";
  switch (kind) {
  case Kind::None:
    return "unknown";
  case Kind::Tensor:
    return "tensor(" + elemTypeName(elemType).str() + ")";
  case Kind::SparseTensor:
    return "sparse_tensor(" + elemTypeName(elemType).str() + ")";
  case Kind::Sequence:
    return "seq(" + inner + ")";
  case Kind::Optional:
    return "optional(" + inner + ")";
  case Kind::Map:
    return "map(" + elemTypeName(elemType).str() + "," + inner + ")";
  case Kind::Opaque:
    return "opaque";
  }
  llvm_unreachable("unknown kind of type");
}

std::string Type::fullStr() const {
  std::string result = str();
  if (!hasShape)
    return result;
  result += '[';
  for (size_t i = 0; i != dims.size(); ++i) {
    if (i)
      result += ", ";
    if (dims[i].kind == Dim::Kind::Fixed)
      result += std::to_string(dims[i].value);
    else
      result += dims[i].kind == Dim::Kind::Symbol ? printable(dims[i].symbol) : "?";
  }
  return result + ']';
}

uint64_t Tensor::numElements() const {
  uint64_t count = 1;
  for (int64_t dim : dims)
    count *= static_cast<uint64_t>(dim);
  return count;
}

StringRef Attribute::kindName(Kind kind) {
  static constexpr const char *names[] = {
      "undefined", "a float",         "an int",         "a string", "a tensor",
      "a graph",   "floats",          "ints",           "strings",  "tensors",
      "graphs",    "a sparse tensor", "sparse tensors", "a type",   "types",
  };
  return names[static_cast<unsigned>(kind)];
}

const Attribute *Node::attribute(StringRef name) const {
  for (const Attribute &attribute : attributes)
    if (attribute.name == name)
      return &attribute;
  return nullptr;
}
int64_t Node::intOr(StringRef name, int64_t fallback) const {
  const Attribute *a = attribute(name);
  return a ? a->i : fallback;
}
float Node::floatOr(StringRef name, float fallback) const {
  const Attribute *a = attribute(name);
  return a ? a->f : fallback;
}
StringRef Node::stringOr(StringRef name, StringRef fallback) const {
  const Attribute *a = attribute(name);
  return a ? StringRef(a->s) : fallback;
}

std::string Node::label() const {
  std::string result =
      name.empty() ? "#" + std::to_string(index) : "'" + kiln::printable(name) + "'";
  return result + " (" + kiln::printable(domain.empty() ? opType : domain + "." + opType) + ")";
}

const Initializer *Graph::defaultOf(ValueId input) const {
  for (const Initializer &initializer : initializers)
    if (initializer.isInput && initializer.value == input)
      return &initializer;
  return nullptr;
}

const Type &Model::typeOf(ValueId value) const {
  static const Type none;
  return value == noValue ? none : values[value].type;
}
