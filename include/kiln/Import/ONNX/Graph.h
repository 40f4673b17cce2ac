//===- Graph.h - A checked ONNX model, free of protobuf ---------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What loadModel() returns. Names are resolved: every value of the model, those
// of subgraphs included, has one ValueId, so nothing below needs scopes. Nodes
// are in topological order, calls of the model's own functions are inlined, and
// every node has passed the check against its operator's schema.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_IMPORT_ONNX_GRAPH_H
#define KILN_IMPORT_ONNX_GRAPH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kiln::onnx {

/// The numbers are those of TensorProto.DataType.
enum class ElemType : uint8_t {
  Undefined = 0,
  Float = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  UInt32 = 12,
  UInt64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  UInt4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  UInt2 = 25,
  Int2 = 26,
  Float6E2M3 = 27,
  Float6E3M2 = 28,
};
constexpr unsigned numElemTypes = 29;

/// As ONNX's schemas write it: "float", "int64", "bfloat16".
llvm::StringRef elemTypeName(ElemType type);
/// Bits of one element in raw data; 0 for strings and for Undefined.
unsigned elemTypeBits(ElemType type);
/// Bytes of so many elements in raw data (sub-byte types are packed); nothing on overflow.
std::optional<uint64_t> packedBytes(ElemType type, uint64_t elements);

struct Dim {
  enum class Kind : uint8_t {
    Unknown, ///< unset, "", "?" or negative: a size of its own
    Fixed,
    Symbol, ///< equal names mean equal sizes
  };
  Kind kind = Kind::Unknown;
  int64_t value = -1;
  std::string symbol;

  static Dim fixed(int64_t value) { return {Kind::Fixed, value, {}}; }
  bool operator==(const Dim &o) const {
    return kind == o.kind && value == o.value && symbol == o.symbol;
  }
};

struct Type {
  enum class Kind : uint8_t { None, Tensor, SparseTensor, Sequence, Optional, Map, Opaque };
  Kind kind = Kind::None;                  ///< None: not stated and not deduced
  ElemType elemType = ElemType::Undefined; ///< of tensors; of a Map, its key
  bool hasShape = false;
  std::vector<Dim> dims;
  std::shared_ptr<const Type> element; ///< of Sequence, Optional and Map

  static Type tensor(ElemType elemType) { return {Kind::Tensor, elemType, false, {}, nullptr}; }
  static Type tensor(ElemType elemType, llvm::ArrayRef<int64_t> dims);
  bool isTensor() const { return kind == Kind::Tensor; }
  bool known() const { return kind != Kind::None; }
  /// Without its shape, as schemas write it: "tensor(float)", "seq(tensor(int64))".
  std::string str() const;
  /// With its shape: "tensor(float)[2, batch, ?]".
  std::string fullStr() const;
};

/// Row-major, little-endian, sub-byte elements packed from the low bits up.
struct Tensor {
  std::string name;
  ElemType elemType = ElemType::Undefined;
  std::vector<int64_t> dims;
  /// Points into the mapped model, a mapped data file or owned storage; promises
  /// no alignment. `owner` keeps it alive. Null for strings and for no elements.
  const uint8_t *data = nullptr;
  size_t size = 0;
  std::shared_ptr<const void> owner;
  /// The elements when elemType is String.
  std::shared_ptr<const std::vector<std::string>> strings;

  uint64_t numElements() const;
  llvm::ArrayRef<uint8_t> bytes() const { return {data, size}; }
  Type type() const { return Type::tensor(elemType, dims); }
};

struct Graph;

struct Attribute {
  /// The numbers are those of AttributeProto.AttributeType.
  enum class Kind : uint8_t {
    Undefined = 0,
    Float = 1,
    Int = 2,
    String = 3,
    Tensor = 4,
    Graph = 5,
    Floats = 6,
    Ints = 7,
    Strings = 8,
    Tensors = 9,
    Graphs = 10,
    SparseTensor = 11, ///< held densely in tensors[0]
    SparseTensors = 12,
    TypeProto = 13,
    TypeProtos = 14,
  };
  std::string name;
  Kind kind = Kind::Undefined;
  float f = 0;
  int64_t i = 0;
  std::string s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  /// One element for the singular kinds. A copied node shares its graphs.
  std::vector<Tensor> tensors;
  std::vector<std::shared_ptr<Graph>> graphs;
  std::vector<Type> types;

  static llvm::StringRef kindName(Kind kind);
};

/// An index into Model::values.
using ValueId = uint32_t;
/// An optional input that is left out, or an output that nobody wants. (The two
/// numbers above it are the ones that a DenseMap cannot hold.)
constexpr ValueId noValue = ~0u - 2;

struct Node {
  std::string opType;
  std::string domain; ///< "" for ai.onnx
  std::string name;   ///< may be empty; inlined nodes have "call/name"
  std::string overload;
  std::string docString;
  uint32_t index = 0;   ///< position in the file's list of nodes
  int opset = 0;        ///< version of the domain where the node stands
  int sinceVersion = 0; ///< of its schema
  std::vector<ValueId> inputs, outputs;
  std::vector<Attribute> attributes;

  /// Null when absent; defaults of the schema are not filled in.
  const Attribute *attribute(llvm::StringRef name) const;
  int64_t intOr(llvm::StringRef name, int64_t fallback) const;
  float floatOr(llvm::StringRef name, float fallback) const;
  llvm::StringRef stringOr(llvm::StringRef name, llvm::StringRef fallback) const;
  ValueId input(size_t i) const { return i < inputs.size() ? inputs[i] : noValue; }
  ValueId output(size_t i) const { return i < outputs.size() ? outputs[i] : noValue; }
  /// For messages: "'conv1' (Conv)", "#12 (Conv)".
  std::string label() const;
};

struct ValueInfo {
  std::string name; ///< for people; unique only within one graph
  /// As declared; without a declaration the element type that the schemas give.
  Type type;
};

struct Initializer {
  ValueId value;
  Tensor tensor;
  /// Also a graph input: the caller may give another value. (Before ir_version 4
  /// every initializer had to be listed as an input; such are constants here.)
  bool isInput = false;
};

struct Output {
  std::string name;
  ValueId value; ///< may be an input or an initializer, and may occur twice
  Type declared;
};

struct Graph {
  std::string name;
  std::vector<ValueId> inputs;
  std::vector<Initializer> initializers;
  std::vector<Node> nodes;
  std::vector<Output> outputs;
  /// Values of graphs around this one that it or a graph inside it reads.
  std::vector<ValueId> captures;

  /// The initializer that an input may be left out for, or null.
  const Initializer *defaultOf(ValueId input) const;
};

class SchemaTable;

struct Model {
  std::string path;
  /// Of the file, without those that it refers to; as long as the model lives.
  llvm::ArrayRef<uint8_t> bytes;
  std::shared_ptr<const void> bytesOwner;
  int64_t irVersion = 0;
  std::string producerName, producerVersion, domain, docString;
  int64_t modelVersion = 0;
  std::map<std::string, int64_t> opsets; ///< by domain; "" is ai.onnx
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<ValueInfo> values;
  Graph graph;

  ValueId addValue(std::string name, Type type) {
    values.push_back({std::move(name), std::move(type)});
    return static_cast<ValueId>(values.size() - 1);
  }
  const Type &typeOf(ValueId value) const;

  /// What has been looked up of ONNX's schemas; Load.cpp's own.
  std::shared_ptr<SchemaTable> schemas;
};

} // namespace kiln::onnx

#endif
