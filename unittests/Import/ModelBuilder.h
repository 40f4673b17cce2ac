//===- ModelBuilder.h - ONNX files for tests, byte by byte ------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests write the wire format themselves: hostile files are the point, and no
// serialiser writes those. A message is a string; fields are appended by number.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_UNITTESTS_IMPORT_MODELBUILDER_H
#define KILN_UNITTESTS_IMPORT_MODELBUILDER_H

#include "kiln/Import/ONNX/Load.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace kiln::onnx::testing {

class Msg {
public:
  std::string bytes;

  Msg &varint(uint64_t value) {
    for (; value > 0x7f; value >>= 7)
      bytes += static_cast<char>(value | 0x80);
    bytes += static_cast<char>(value);
    return *this;
  }
  Msg &tag(unsigned field, unsigned wire) { return varint(field << 3 | wire); }
  Msg &num(unsigned field, int64_t value) {
    return tag(field, 0).varint(static_cast<uint64_t>(value));
  }
  Msg &str(unsigned field, const std::string &value) {
    tag(field, 2).varint(value.size());
    bytes += value;
    return *this;
  }
  Msg &msg(unsigned field, const Msg &value) { return str(field, value.bytes); }
  Msg &f32(unsigned field, float value) {
    tag(field, 5);
    bytes.append(reinterpret_cast<const char *>(&value), 4);
    return *this;
  }
  Msg &add(const Msg &other) {
    bytes += other.bytes;
    return *this;
  }
};

template <typename T> std::string rawBytes(std::initializer_list<T> values) {
  std::string result(values.size() * sizeof(T), '\0');
  std::memcpy(result.data(), values.begin(), result.size());
  return result;
}
inline std::string varints(std::initializer_list<int64_t> values) {
  Msg m;
  for (int64_t value : values)
    m.varint(static_cast<uint64_t>(value));
  return m.bytes;
}

// TensorProto: 1 dims, 2 data_type, 4 float_data, 5 int32_data, 6 string_data,
// 7 int64_data, 8 name, 9 raw_data, 10 double_data, 11 uint64_data.
inline Msg tensorHead(const std::string &name, int type, std::initializer_list<int64_t> dims) {
  Msg m;
  for (int64_t dim : dims)
    m.num(1, dim);
  return m.num(2, type).str(8, name);
}
inline Msg rawTensor(const std::string &name, int type, std::initializer_list<int64_t> dims,
                     const std::string &raw) {
  return tensorHead(name, type, dims).str(9, raw);
}
inline Msg floats(const std::string &name, std::initializer_list<float> values) {
  return rawTensor(name, 1, {static_cast<int64_t>(values.size())}, rawBytes(values));
}
inline Msg entry(const std::string &key, const std::string &value) {
  return Msg().str(1, key).str(2, value);
}
inline Msg externalTensor(const std::string &name, int type, std::initializer_list<int64_t> dims,
                          std::initializer_list<std::pair<std::string, std::string>> entries) {
  Msg m = tensorHead(name, type, dims);
  for (const auto &[key, value] : entries)
    m.msg(13, entry(key, value));
  return m.num(14, 1);
}

// TypeProto: 1 tensor {1 elem_type, 2 shape {1 dim {1 value, 2 param}}}, 4 sequence {1 elem_type}.
struct DimText {
  DimText(int64_t value) : m(Msg().num(1, value)) {}
  DimText(const char *name) : m(Msg().str(2, name)) {}
  Msg m;
};
inline Msg tensorType(int elem) { return Msg().msg(1, Msg().num(1, elem)); }
inline Msg tensorType(int elem, std::initializer_list<DimText> dims) {
  Msg shape;
  for (const DimText &dim : dims)
    shape.msg(1, dim.m);
  return Msg().msg(1, Msg().num(1, elem).msg(2, shape));
}
inline Msg sequenceOf(const Msg &type) { return Msg().msg(4, Msg().msg(1, type)); }
inline Msg info(const std::string &name, const Msg &type) {
  return Msg().str(1, name).msg(2, type);
}
inline Msg info(const std::string &name, int elem = 1) { return info(name, tensorType(elem)); }

// AttributeProto: 1 name, 20 type, 2 f, 3 i, 4 s, 5 t, 6 g, 7 floats, 8 ints, 21 ref_attr_name.
inline Msg attr(const std::string &name, int type) { return Msg().str(1, name).num(20, type); }
inline Msg intAttr(const std::string &name, int64_t value) { return attr(name, 2).num(3, value); }
inline Msg floatAttr(const std::string &name, float value) { return attr(name, 1).f32(2, value); }
inline Msg strAttr(const std::string &name, const std::string &value) {
  return attr(name, 3).str(4, value);
}
inline Msg tensorAttr(const std::string &name, const Msg &tensor) {
  return attr(name, 4).msg(5, tensor);
}
inline Msg graphAttr(const std::string &name, const Msg &graph) {
  return attr(name, 5).msg(6, graph);
}
inline Msg intsAttr(const std::string &name, std::initializer_list<int64_t> values) {
  Msg m = attr(name, 7);
  for (int64_t value : values)
    m.num(8, value);
  return m;
}
inline Msg refAttr(const std::string &name, int type, const std::string &ref) {
  return attr(name, type).str(21, ref);
}

// NodeProto: 1 input, 2 output, 3 name, 4 op_type, 5 attribute, 7 domain.
inline Msg node(const std::string &op, std::initializer_list<const char *> inputs,
                std::initializer_list<const char *> outputs,
                std::initializer_list<Msg> attributes = {}, const std::string &name = "",
                const std::string &domain = "") {
  Msg m;
  for (const char *input : inputs)
    m.str(1, input);
  for (const char *output : outputs)
    m.str(2, output);
  m.str(3, name).str(4, op);
  for (const Msg &attribute : attributes)
    m.msg(5, attribute);
  return domain.empty() ? m : m.str(7, domain);
}

// GraphProto: 1 node, 2 name, 5 initializer, 11 input, 12 output, 13 value_info,
// 15 sparse_initializer.
struct GraphParts {
  std::vector<Msg> nodes, initializers, inputs, outputs, infos, sparse;
  std::string name = "main";
  operator Msg() const {
    Msg m;
    for (const Msg &n : nodes)
      m.msg(1, n);
    m.str(2, name);
    for (const Msg &t : initializers)
      m.msg(5, t);
    for (const Msg &i : inputs)
      m.msg(11, i);
    for (const Msg &o : outputs)
      m.msg(12, o);
    for (const Msg &i : infos)
      m.msg(13, i);
    for (const Msg &s : sparse)
      m.msg(15, s);
    return m;
  }
};

// OperatorSetIdProto: 1 domain, 2 version. ModelProto: 1 ir_version, 7 graph,
// 8 opset_import, 25 functions.
inline Msg opset(int64_t version, const std::string &domain = "") {
  return Msg().str(1, domain).num(2, version);
}
inline Msg model(const Msg &graph, int64_t version = 17, int64_t ir = 8) {
  return Msg().num(1, ir).msg(8, opset(version)).msg(7, graph);
}

// FunctionProto: 1 name, 4 input, 5 output, 6 attribute, 7 node, 9 opset_import,
// 10 domain, 11 attribute_proto.
inline Msg function(const std::string &name, std::initializer_list<const char *> inputs,
                    std::initializer_list<const char *> outputs, std::initializer_list<Msg> nodes,
                    std::initializer_list<const char *> attributes = {},
                    const std::string &domain = "local") {
  Msg m;
  m.str(1, name).str(10, domain).msg(9, opset(17)).msg(9, opset(1, "local"));
  for (const char *input : inputs)
    m.str(4, input);
  for (const char *output : outputs)
    m.str(5, output);
  for (const char *attribute : attributes)
    m.str(6, attribute);
  for (const Msg &n : nodes)
    m.msg(7, n);
  return m;
}

/// Loads, and holds what was said.
struct Loaded {
  DiagnosticEngine diags{"model.onnx"};
  std::unique_ptr<Model> model;

  explicit Loaded(const Msg &m, const LoadOptions &options = {}) : Loaded(m.bytes, options) {}
  explicit Loaded(const std::string &bytes, const LoadOptions &options = {},
                  const std::string &path = "model.onnx") {
    // The exact size on the heap, so that a sanitizer sees any read past the end.
    auto owner = std::make_shared<std::vector<uint8_t>>(bytes.begin(), bytes.end());
    model = loadModelFromMemory(*owner, owner, path, options, diags);
    EXPECT_EQ(model == nullptr, diags.hasErrors()) << text();
  }

  std::string text() const {
    std::string result;
    llvm::raw_string_ostream os(result);
    diags.printText(os);
    return result;
  }
  /// The codes of all diagnostics, in order: "K140 K141".
  std::string codes() const {
    std::string result;
    for (const Diagnostic &d : diags.all())
      result += (result.empty() ? "" : " ") + diagCode(d.diag);
    return result;
  }
  bool says(const std::string &what) const { return text().find(what) != std::string::npos; }
  int exit() const { return static_cast<int>(diags.exitCode()); }
};

#define EXPECT_CODES(loaded, expected) EXPECT_EQ((loaded).codes(), expected) << (loaded).text()
#define EXPECT_SAYS(loaded, what) EXPECT_TRUE((loaded).says(what)) << (loaded).text()
#define ASSERT_LOADS(loaded) ASSERT_TRUE((loaded).model) << (loaded).text()

/// A directory that goes away with the test.
class TempDir {
public:
  TempDir() {
    path = ::testing::TempDir() + "kiln-test-XXXXXX";
    if (!mkdtemp(path.data()))
      ADD_FAILURE() << "cannot make " << path;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TempDir(const TempDir &) = delete;
  std::string file(const std::string &name) const { return path + "/" + name; }
  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }
  std::string path;
};

} // namespace kiln::onnx::testing

#endif
