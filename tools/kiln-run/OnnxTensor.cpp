//===- OnnxTensor.cpp - ONNX's TensorProto, read from the wire ------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reader of the few fields that matter, so that the program needs no protobuf.
//
//===----------------------------------------------------------------------===//
#include "TensorFiles.h"

#include <algorithm>
#include <cstring>

namespace kiln::run {
namespace {

enum Field : uint32_t {
  Dims = 1,
  DataType = 2,
  FloatData = 4,
  Int32Data = 5,
  StringData = 6,
  Int64Data = 7,
  Name = 8,
  RawData = 9,
  DoubleData = 10,
  Uint64Data = 11,
  DataLocation = 14,
};

enum Wire : uint32_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

class WireReader {
public:
  explicit WireReader(std::string_view data) : data(data) {}

  bool atEnd() const { return data.empty(); }

  bool readVarint(uint64_t &value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && !data.empty(); shift += 7) {
      auto byte = uint8_t(data.front());
      data.remove_prefix(1);
      value |= uint64_t(byte & 127) << shift;
      if (!(byte & 128))
        return true;
    }
    return false;
  }

  bool readBytes(uint64_t size, std::string_view &bytes) {
    if (size > data.size())
      return false;
    bytes = data.substr(0, size);
    data.remove_prefix(size);
    return true;
  }

private:
  std::string_view data;
};

/// What a field carries: a number, or bytes (of a packed list, a text, or one
/// fixed-width value).
struct Value {
  uint32_t field;
  uint32_t wire;
  uint64_t number = 0;
  std::string_view bytes;
};

bool readValue(WireReader &reader, Value &value) {
  uint64_t key, length;
  if (!reader.readVarint(key))
    return false;
  value.field = uint32_t(key >> 3);
  value.wire = key & 7;
  switch (value.wire) {
  case Varint:
    return reader.readVarint(value.number);
  case Fixed64:
    return reader.readBytes(8, value.bytes);
  case Fixed32:
    return reader.readBytes(4, value.bytes);
  case Bytes:
    return reader.readVarint(length) && reader.readBytes(length, value.bytes);
  default:
    return false;
  }
}

/// A repeated number, packed or one by one.
bool appendNumbers(const Value &value, std::vector<uint64_t> &numbers) {
  if (value.wire == Varint) {
    numbers.push_back(value.number);
    return true;
  }
  WireReader reader(value.bytes);
  while (!reader.atEnd()) {
    uint64_t number;
    if (!reader.readVarint(number))
      return false;
    numbers.push_back(number);
  }
  return true;
}

bool toType(uint64_t onnxType, DLDataType &type) {
  switch (onnxType) {
  case 1:
    type = {kDLFloat, 32, 1};
    return true;
  case 2:
    type = {kDLUInt, 8, 1};
    return true;
  case 3:
    type = {kDLInt, 8, 1};
    return true;
  case 4:
    type = {kDLUInt, 16, 1};
    return true;
  case 5:
    type = {kDLInt, 16, 1};
    return true;
  case 6:
    type = {kDLInt, 32, 1};
    return true;
  case 7:
    type = {kDLInt, 64, 1};
    return true;
  case 9:
    type = {kDLBool, 8, 1};
    return true;
  case 10:
    type = {kDLFloat, 16, 1};
    return true;
  case 11:
    type = {kDLFloat, 64, 1};
    return true;
  case 12:
    type = {kDLUInt, 32, 1};
    return true;
  case 13:
    type = {kDLUInt, 64, 1};
    return true;
  case 16:
    type = {kDLBfloat, 16, 1};
    return true;
  case 17:
    type = {kDLFloat8_e4m3fn, 8, 1};
    return true;
  case 18:
    type = {kDLFloat8_e4m3fnuz, 8, 1};
    return true;
  case 19:
    type = {kDLFloat8_e5m2, 8, 1};
    return true;
  case 20:
    type = {kDLFloat8_e5m2fnuz, 8, 1};
    return true;
  case 21:
    type = {kDLUInt, 4, 1};
    return true;
  case 22:
    type = {kDLInt, 4, 1};
    return true;
  case 23:
    type = {kDLFloat4_e2m1fn, 4, 1};
    return true;
  case 25:
    type = {kDLUInt, 2, 1};
    return true;
  case 26:
    type = {kDLInt, 2, 1};
    return true;
  case 27:
    type = {kDLFloat6_e2m3fn, 6, 1};
    return true;
  case 28:
    type = {kDLFloat6_e3m2fn, 6, 1};
    return true;
  default:
    return false;
  }
}

struct Fields {
  std::vector<uint64_t> dims, numbers;
  std::string_view raw, name;
  std::string fixed; // float_data or double_data
  uint64_t type = 0;
  bool hasRaw = false, external = false;
};

bool readFields(std::string_view proto, Fields &fields) {
  WireReader reader(proto);
  while (!reader.atEnd()) {
    Value value;
    if (!readValue(reader, value))
      return false;
    switch (value.field) {
    case Dims:
      if (!appendNumbers(value, fields.dims))
        return false;
      break;
    case DataType:
      fields.type = value.number;
      break;
    case FloatData:
    case DoubleData:
      fields.fixed += value.bytes;
      break;
    case Int32Data:
    case Int64Data:
    case Uint64Data:
      if (!appendNumbers(value, fields.numbers))
        return false;
      break;
    case Name:
      fields.name = value.bytes;
      break;
    case RawData:
      fields.raw = value.bytes;
      fields.hasRaw = true;
      break;
    case DataLocation:
      fields.external = value.number == 1;
      break;
    default:
      break;
    }
  }
  return true;
}

/// Elements of a few bits: packed from the lowest bit on, in raw bytes or in
/// numbers that are such bytes; numbers of 6 bits are an element each.
Failure unpack(const Fields &fields, HostTensor &tensor) {
  uint64_t count = tensor.numElements(), bits = tensor.type.bits;
  std::string packed(fields.hasRaw ? fields.raw : std::string_view());
  bool oneByOne = !fields.hasRaw && 8 % bits != 0;
  for (uint64_t number : fields.numbers)
    packed += char(number);
  uint64_t wanted = oneByOne ? count : (count * bits + 7) / 8;
  if (packed.size() != wanted)
    return {ExitSystem, "it has " + std::to_string(packed.size()) + " bytes of data, " +
                            shapeText(tensor.shape) + " needs " + std::to_string(wanted)};
  packed += '\0';
  for (uint64_t i = 0; i != count; ++i) {
    uint64_t at = oneByOne ? 8 * i : bits * i;
    unsigned both = uint8_t(packed[at / 8]) | unsigned(uint8_t(packed[at / 8 + 1])) << 8;
    unsigned value = both >> (at % 8) & ((1u << bits) - 1);
    // int8 holds them by value, as NumPy's extension types do.
    if (tensor.type.code == kDLInt && value >> (bits - 1))
      value |= ~0u << bits;
    tensor.bytes[i] = uint8_t(value);
  }
  return {};
}

} // namespace

Failure parseTensorProto(std::string_view proto, HostTensor &tensor) {
  Fields fields;
  if (!readFields(proto, fields))
    return {ExitSystem, "not a serialised TensorProto"};
  if (fields.external)
    return {ExitSystem, "its data lies in another file, which is not supported here"};
  if (!toType(fields.type, tensor.type))
    return {ExitSystem, "not a tensor, or of ONNX element type " + std::to_string(fields.type) +
                            ", which is not supported here"};
  tensor.name = fields.name;
  tensor.shape.assign(fields.dims.begin(), fields.dims.end());
  if (Failure failure = tensor.allocate())
    return failure;
  uint64_t size = tensor.elementBytes();
  if (tensor.type.bits < 8)
    return unpack(fields, tensor);
  if (fields.hasRaw || !fields.fixed.empty()) {
    std::string_view data = fields.hasRaw ? fields.raw : std::string_view(fields.fixed);
    if (data.size() != tensor.bytes.size())
      return {ExitSystem, "it has " + std::to_string(data.size()) + " bytes of data, " +
                              shapeText(tensor.shape) + " needs " +
                              std::to_string(tensor.bytes.size())};
    std::copy(data.begin(), data.end(), tensor.bytes.begin());
    return {};
  }
  if (fields.numbers.size() != tensor.numElements())
    return {ExitSystem, "it has " + std::to_string(fields.numbers.size()) + " values, " +
                            shapeText(tensor.shape) + " needs " +
                            std::to_string(tensor.numElements())};
  // Little-endian: the low bytes of a number are the narrower one. 16-bit floats
  // travel as bit patterns.
  for (uint64_t i = 0; i != fields.numbers.size(); ++i)
    std::memcpy(tensor.bytes.data() + i * size, &fields.numbers[i], size);
  return {};
}

} // namespace kiln::run
