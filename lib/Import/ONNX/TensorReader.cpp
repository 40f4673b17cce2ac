//===- TensorReader.cpp - From TensorProto to onnx::Tensor ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TensorReader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace kiln;
using namespace kiln::onnx;
using llvm::StringRef;
using ONNX_NAMESPACE::SparseTensorProto;
using ONNX_NAMESPACE::TensorProto;

static std::string joined(llvm::ArrayRef<int64_t> dims) {
  return llvm::join(llvm::map_range(dims, [](int64_t d) { return std::to_string(d); }), ", ");
}

/// "tensor(float)[3, 4]", for messages.
static std::string shapeText(const Tensor &tensor) { return tensor.type().fullStr(); }

std::optional<uint64_t> TensorReader::checkDims(llvm::ArrayRef<int64_t> dims, ElemType type) {
  uint64_t elements = 1;
  for (int64_t dim : dims)
    if (dim < 0)
      return fail(Diag::NegativeDimension, dim);
  // A zero makes the tensor empty however large the other dimensions are.
  if (llvm::is_contained(dims, 0))
    return 0;
  for (int64_t dim : dims)
    if (__builtin_mul_overflow(elements, static_cast<uint64_t>(dim), &elements))
      return fail(Diag::SizeOverflow, joined(dims));
  std::optional<uint64_t> bytes = packedBytes(type, elements);
  if (!bytes || *bytes > INT64_MAX)
    return fail(Diag::SizeOverflow, joined(dims));
  return elements;
}

std::optional<Tensor> TensorReader::read(const TensorProto &proto, const PayloadSource &source,
                                         StringRef whatText, StringRef nodeLabel) {
  what = whatText.str();
  node = nodeLabel.str();
  Tensor tensor;
  tensor.name = proto.name();
  if (proto.data_type() <= 0 || proto.data_type() >= static_cast<int>(numElemTypes))
    return fail(Diag::UnknownElementType, proto.data_type());
  tensor.elemType = static_cast<ElemType>(proto.data_type());
  tensor.dims.assign(proto.dims().begin(), proto.dims().end());
  std::optional<uint64_t> elements = checkDims(tensor.dims, tensor.elemType);
  if (!elements)
    return std::nullopt;
  if (proto.has_segment()) {
    diags.report(Diag::UnsupportedFeature, what + " in segments").atNode(node);
    return std::nullopt;
  }

  static const Payload none;
  const Payload *payload = &none;
  if (proto.has_raw_data()) {
    uint32_t index = proto.raw_data().size() == 4
                         ? llvm::support::endian::read32le(proto.raw_data().data())
                         : ~0u;
    if (index >= source.payloads.size()) {
      diags.report(Diag::Internal, "a payload index is out of range");
      return std::nullopt;
    }
    payload = &source.payloads[index];
  }

  if (tensor.elemType == ElemType::String) {
    if (!payload->empty())
      return fail(Diag::WrongDataField, "string", dataFieldName(payload->front().field));
    if (proto.data_location() == TensorProto::EXTERNAL)
      return fail(Diag::WrongDataField, "string", "an external file");
    if (static_cast<uint64_t>(proto.string_data_size()) != *elements)
      return fail(Diag::WrongElementCount, *elements, "string_data", shapeText(tensor),
                  proto.string_data_size());
    tensor.strings = std::make_shared<std::vector<std::string>>(proto.string_data().begin(),
                                                                proto.string_data().end());
    return tensor;
  }
  if (proto.string_data_size())
    return fail(Diag::WrongDataField, elemTypeName(tensor.elemType), "string_data");

  uint64_t bytes = *packedBytes(tensor.elemType, *elements);
  if (proto.data_location() == TensorProto::EXTERNAL) {
    for (const Fragment &fragment : *payload)
      if (fragment.length)
        return fail(Diag::ConflictingData, "an external file", dataFieldName(fragment.field));
    std::vector<std::pair<std::string, std::string>> entries;
    for (const auto &entry : proto.external_data())
      entries.emplace_back(entry.key(), entry.value());
    ExternalData::Range range =
        external.find(entries, bytes, node.empty() ? what : what + " of node " + node);
    if (!range.file)
      return std::nullopt;
    tensor.size = bytes;
    tensor.data = bytes ? range.data : nullptr;
    tensor.owner = range.file;
    return tensor;
  }
  if (!fill(tensor, *elements, *payload, source))
    return std::nullopt;
  return tensor;
}

/// The field that a typed array of `type` belongs into.
static DataField typedField(ElemType type) {
  switch (type) {
  case ElemType::Float:
  case ElemType::Complex64:
    return DataField::FloatData;
  case ElemType::Double:
  case ElemType::Complex128:
    return DataField::DoubleData;
  case ElemType::Int64:
    return DataField::Int64Data;
  case ElemType::UInt32:
  case ElemType::UInt64:
    return DataField::UInt64Data;
  default:
    return DataField::Int32Data;
  }
}

bool TensorReader::fill(Tensor &tensor, uint64_t elements, const Payload &payload,
                        const PayloadSource &source) {
  // An empty occurrence next to a full one says nothing, so it is no conflict.
  std::optional<DataField> field;
  for (const Fragment &fragment : payload) {
    if (!fragment.length)
      continue;
    if (field && *field != fragment.field)
      return fail(Diag::ConflictingData, dataFieldName(*field), dataFieldName(fragment.field)),
             false;
    field = fragment.field;
  }
  uint64_t bytes = *packedBytes(tensor.elemType, elements);
  if (!field) {
    if (bytes == 0)
      return true;
    return fail(Diag::WrongDataLength, bytes, shapeText(tensor), 0), false;
  }
  if (*field != DataField::RawData && *field != typedField(tensor.elemType))
    return fail(Diag::WrongDataField, elemTypeName(tensor.elemType), dataFieldName(*field)), false;

  // raw_data and packed fixed-width arrays are already what a Tensor holds.
  bool direct = *field == DataField::RawData || *field == DataField::FloatData ||
                *field == DataField::DoubleData;
  if (!direct)
    return decode(tensor, elements, payload, source);
  const Fragment *only = nullptr;
  for (const Fragment &fragment : payload) {
    if (!fragment.length)
      continue;
    // A repeated raw_data is overwritten by its last occurrence.
    if (only && *field != DataField::RawData)
      return decode(tensor, elements, payload, source);
    only = &fragment;
  }
  if (!only->packed)
    return decode(tensor, elements, payload, source);
  if (only->length != bytes)
    return fail(Diag::WrongDataLength, bytes, shapeText(tensor), only->length), false;
  tensor.data = source.bytes.data() + only->offset;
  tensor.size = bytes;
  tensor.owner = source.owner;
  return true;
}

namespace {
/// Walks the entries of a typed array, packed or not.
class Entries {
public:
  Entries(const Payload &payload, DataField field, const uint8_t *base)
      : payload(payload), field(field), base(base) {}

  /// Calls `use(bits)` for each entry; false when the bytes are malformed or `use` says stop.
  template <typename Use> bool forEach(Use use) const {
    for (const Fragment &fragment : payload) {
      const uint8_t *cursor = base + fragment.offset, *end = cursor + fragment.length;
      while (cursor != end) {
        uint64_t tag, bits;
        if (!fragment.packed && (!readVarint(cursor, end, tag) || (tag & 7) != wireType()))
          return false;
        if (width()) {
          if (end - cursor < width())
            return false;
          bits = width() == 4 ? llvm::support::endian::read32le(cursor)
                              : llvm::support::endian::read64le(cursor);
          cursor += width();
        } else if (!readVarint(cursor, end, bits)) {
          return false;
        }
        if (!use(bits))
          return false;
      }
    }
    return true;
  }

private:
  int width() const {
    return field == DataField::FloatData ? 4 : field == DataField::DoubleData ? 8 : 0;
  }
  unsigned wireType() const {
    return field == DataField::FloatData ? 5 : field == DataField::DoubleData ? 1 : 0;
  }

  const Payload &payload;
  DataField field;
  const uint8_t *base;
};
} // namespace

static bool isUnsignedType(ElemType type) {
  switch (type) {
  case ElemType::UInt8:
  case ElemType::UInt16:
  case ElemType::UInt32:
  case ElemType::UInt64:
    return true;
  default:
    return false;
  }
}

/// Bit patterns that int32_data holds for floats and packed types.
static bool isBitPattern(ElemType type) {
  switch (type) {
  case ElemType::Int8:
  case ElemType::Int16:
  case ElemType::Int32:
  case ElemType::UInt8:
  case ElemType::UInt16:
  case ElemType::Bool:
    return false;
  default:
    return true;
  }
}

/// Whether an entry of int32_data is a value of the type (of `bits` bits).
static bool fitsInt32Entry(ElemType type, unsigned bits, int32_t value) {
  if (bits == 32)
    return true;
  int64_t low = -(int64_t(1) << (bits - 1)), high = (int64_t(1) << bits) - 1;
  if (type == ElemType::Bool)
    return value == 0 || value == 1;
  if (isUnsignedType(type))
    low = 0;
  else if (!isBitPattern(type))
    high = -low - 1;
  return value >= low && value <= high;
}

bool TensorReader::decode(Tensor &tensor, uint64_t elements, const Payload &payload,
                          const PayloadSource &source) {
  DataField field = typedField(tensor.elemType);
  for (const Fragment &fragment : payload)
    if (fragment.length && fragment.field == DataField::RawData)
      return diags.report(Diag::MalformedModel, "raw_data is not a string of bytes"), false;
  const unsigned bits = elemTypeBits(tensor.elemType);
  const uint64_t bytes = *packedBytes(tensor.elemType, elements);
  // An entry is an element, half a complex number, or a byte of packed ones; of
  // six-bit types it is an element that raw data packs.
  uint64_t expected = elements;
  unsigned entryBits = bits;
  if (tensor.elemType == ElemType::Complex64 || tensor.elemType == ElemType::Complex128) {
    expected = elements * 2;
    entryBits = bits / 2;
  } else if (bits == 4 || bits == 2) {
    expected = bytes;
    entryBits = 8;
  }

  // Counted before memory is asked for: dimensions may promise anything.
  Entries entries(payload, field, source.bytes.data());
  uint64_t actual = 0;
  if (!entries.forEach([&](uint64_t) { return ++actual, true; }))
    return diags
               .report(Diag::MalformedModel, what + ": " + dataFieldName(field) + " does not parse")
               .atNode(node),
           false;
  if (actual != expected)
    return fail(Diag::WrongElementCount, expected, dataFieldName(field), shapeText(tensor), actual),
           false;

  auto storage = std::make_shared<std::vector<uint8_t>>(bytes);
  uint8_t *out = storage->data();
  uint64_t index = 0;
  bool ok = entries.forEach([&](uint64_t value) {
    bool fits = true;
    if (field == DataField::Int32Data)
      fits = fitsInt32Entry(tensor.elemType, entryBits, static_cast<int32_t>(value));
    else if (tensor.elemType == ElemType::UInt32)
      fits = value <= UINT32_MAX;
    if (!fits) {
      std::string text = field == DataField::Int32Data ? std::to_string(static_cast<int32_t>(value))
                                                       : std::to_string(value);
      fail(Diag::ValueOutOfRange, text, elemTypeName(tensor.elemType));
      return false;
    }
    if (entryBits == 6) {
      // A little-endian stream of bits: an element touches at most two bytes.
      uint64_t at = index * 6;
      uint32_t spread = static_cast<uint32_t>(value & 0x3f) << (at % 8);
      out[at / 8] |= static_cast<uint8_t>(spread);
      if (spread > 0xff)
        out[at / 8 + 1] |= static_cast<uint8_t>(spread >> 8);
    } else {
      for (unsigned byte = 0; byte != entryBits / 8; ++byte)
        out[index * (entryBits / 8) + byte] = static_cast<uint8_t>(value >> (8 * byte));
    }
    ++index;
    return true;
  });
  if (!ok)
    return false;
  tensor.data = bytes ? out : nullptr;
  tensor.size = bytes;
  tensor.owner = std::move(storage);
  return true;
}

std::optional<Tensor> TensorReader::readSparse(const SparseTensorProto &proto,
                                               const PayloadSource &source, StringRef whatText,
                                               StringRef nodeLabel) {
  std::string name = whatText.str();
  std::optional<Tensor> values = read(proto.values(), source, name + " (values)", nodeLabel);
  std::optional<Tensor> indices = read(proto.indices(), source, name + " (indices)", nodeLabel);
  what = name;
  if (!values || !indices)
    return std::nullopt;
  Tensor dense;
  dense.name = proto.values().name();
  dense.elemType = values->elemType;
  dense.dims.assign(proto.dims().begin(), proto.dims().end());
  std::optional<uint64_t> elements = checkDims(dense.dims, dense.elemType);
  if (!elements)
    return std::nullopt;
  const unsigned width = elemTypeBits(dense.elemType) / 8;
  if (!width) {
    diags
        .report(Diag::UnsupportedFeature,
                what + " with sparse elements of type " + elemTypeName(dense.elemType).str())
        .atNode(node);
    return std::nullopt;
  }
  const uint64_t count = values->dims.size() == 1 ? values->dims[0] : 0;
  const size_t rank = dense.dims.size();
  bool linear = indices->dims.size() == 1;
  if (values->dims.size() != 1)
    return fail(Diag::BadSparseTensor,
                "values must have one dimension, not " + std::to_string(values->dims.size()));
  if (indices->elemType != ElemType::Int64)
    return fail(Diag::BadSparseTensor, "indices must be int64");
  if (indices->dims.empty() || indices->dims.size() > 2 ||
      static_cast<uint64_t>(indices->dims[0]) != count ||
      (!linear && static_cast<size_t>(indices->dims[1]) != rank))
    return fail(Diag::BadSparseTensor, "indices of shape [" + joined(indices->dims) +
                                           "] do not fit " + std::to_string(count) +
                                           " values of rank " + std::to_string(rank));
  if (*elements > options.maxDenseBytes / width) {
    diags.report(Diag::DenseTooLarge, what, *elements * width).atNode(node);
    return std::nullopt;
  }
  auto storage = std::make_shared<std::vector<uint8_t>>(*elements * width);
  for (uint64_t i = 0; i != count; ++i) {
    auto indexAt = [&](uint64_t k) {
      return static_cast<int64_t>(llvm::support::endian::read64le(indices->data + 8 * k));
    };
    uint64_t position = 0;
    bool inside = true;
    if (linear) {
      int64_t index = indexAt(i);
      inside = index >= 0 && static_cast<uint64_t>(index) < *elements;
      position = static_cast<uint64_t>(index);
    } else {
      for (size_t axis = 0; axis != rank; ++axis) {
        int64_t index = indexAt(i * rank + axis);
        inside &= index >= 0 && index < dense.dims[axis];
        position =
            position * static_cast<uint64_t>(dense.dims[axis]) + static_cast<uint64_t>(index);
      }
      inside &= position < *elements;
    }
    if (!inside)
      return fail(Diag::BadSparseTensor,
                  "index " + std::to_string(i) + " lies outside [" + joined(dense.dims) + "]");
    std::copy_n(values->data + i * width, width, storage->data() + position * width);
  }
  dense.data = storage->data();
  dense.size = storage->size();
  dense.owner = std::move(storage);
  return dense;
}
