//===- WireScan.cpp - Takes tensor payloads out of a message --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "WireScan.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/ErrorHandling.h"

using namespace kiln::onnx;

const char *kiln::onnx::dataFieldName(DataField field) {
  switch (field) {
  case DataField::FloatData:
    return "float_data";
  case DataField::Int32Data:
    return "int32_data";
  case DataField::Int64Data:
    return "int64_data";
  case DataField::RawData:
    return "raw_data";
  case DataField::DoubleData:
    return "double_data";
  case DataField::UInt64Data:
    return "uint64_data";
  }
  llvm_unreachable("unknown data field");
}

bool kiln::onnx::readVarint(const uint8_t *&cursor, const uint8_t *end, uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (cursor == end)
      return false;
    uint8_t byte = *cursor++;
    value |= uint64_t(byte & 0x7f) << (shift & 63);
    if (!(byte & 0x80))
      return true;
  }
  return false;
}

namespace {
enum WireType { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

enum class Action : uint8_t { Copy, Drop, Descend, Payload };
struct Rule {
  Action action = Action::Copy;
  MessageKind kind = MessageKind::Model; ///< for Descend
};

class Scanner {
public:
  Scanner(llvm::ArrayRef<uint8_t> bytes, ScanResult &result)
      : begin(bytes.data()), fileEnd(bytes.data() + bytes.size()), result(result) {}

  bool scan(MessageKind kind, const uint8_t *cursor, const uint8_t *end, unsigned depth,
            unsigned graphDepth);

private:
  static Rule ruleFor(MessageKind kind, uint64_t field);
  bool fail(ScanError::Kind kind, const uint8_t *where, std::string text) {
    result.error = {kind, static_cast<uint64_t>(where - begin), std::move(text)};
    return false;
  }
  /// Moves past one value; for Bytes, `payload` becomes its start and `length` its size.
  bool skipValue(unsigned wire, const uint8_t *&cursor, const uint8_t *end, const uint8_t *&payload,
                 uint64_t &length);
  static void addFragment(Payload &payload, Fragment fragment);

  const uint8_t *begin, *fileEnd;
  ScanResult &result;
};
} // namespace

Rule Scanner::ruleFor(MessageKind kind, uint64_t field) {
  auto descend = [](MessageKind to) { return Rule{Action::Descend, to}; };
  switch (kind) {
  case MessageKind::Model:
    if (field == 7)
      return descend(MessageKind::Graph);
    if (field == 25)
      return descend(MessageKind::Function);
    // training_info: Kiln compiles inference only, and it may hold tensors.
    if (field == 20)
      return {Action::Drop};
    break;
  case MessageKind::Graph:
    if (field == 1)
      return descend(MessageKind::Node);
    if (field == 5)
      return descend(MessageKind::Tensor);
    if (field == 15)
      return descend(MessageKind::SparseTensor);
    break;
  case MessageKind::Node:
    if (field == 5)
      return descend(MessageKind::Attribute);
    break;
  case MessageKind::Attribute:
    if (field == 5 || field == 10)
      return descend(MessageKind::Tensor);
    if (field == 6 || field == 11)
      return descend(MessageKind::Graph);
    if (field == 22 || field == 23)
      return descend(MessageKind::SparseTensor);
    break;
  case MessageKind::Function:
    if (field == 7)
      return descend(MessageKind::Node);
    if (field == 11)
      return descend(MessageKind::Attribute);
    break;
  case MessageKind::SparseTensor:
    if (field == 1 || field == 2)
      return descend(MessageKind::Tensor);
    break;
  case MessageKind::Tensor:
    if (field == 4 || field == 5 || field == 7 || (field >= 9 && field <= 11))
      return {Action::Payload};
    break;
  }
  return {};
}

bool Scanner::skipValue(unsigned wire, const uint8_t *&cursor, const uint8_t *end,
                        const uint8_t *&payload, uint64_t &length) {
  const uint8_t *start = cursor;
  auto cut = [&](uint64_t need) {
    // At the end of the file something is missing; inside it, lengths disagree.
    uint64_t have = static_cast<uint64_t>(end - cursor);
    return fail(end == fileEnd ? ScanError::Truncated : ScanError::Malformed, start,
                "a field at byte " + std::to_string(start - begin) + " needs " +
                    std::to_string(need) + " more bytes, " + std::to_string(have) + " are left");
  };
  switch (wire) {
  case Varint:
    if (readVarint(cursor, end, length))
      return true;
    return cursor == end ? cut(1) : fail(ScanError::Malformed, start, "a number is too long");
  case Fixed64:
  case Fixed32:
    length = wire == Fixed64 ? 8 : 4;
    break;
  case Bytes:
    if (!readVarint(cursor, end, length))
      return cursor == end ? cut(1) : fail(ScanError::Malformed, start, "a length is too long");
    break;
  default:
    return fail(ScanError::Malformed, start,
                "unknown wire type " + std::to_string(wire) + " at byte " +
                    std::to_string(start - begin));
  }
  if (static_cast<uint64_t>(end - cursor) < length)
    return cut(length);
  payload = cursor;
  cursor += length;
  return true;
}

void Scanner::addFragment(Payload &payload, Fragment fragment) {
  // An unpacked array is one occurrence an element: keep a run as one fragment.
  if (!payload.empty() && !fragment.packed && !payload.back().packed &&
      payload.back().field == fragment.field &&
      payload.back().offset + payload.back().length == fragment.offset)
    payload.back().length += fragment.length;
  else
    payload.push_back(fragment);
}

bool Scanner::scan(MessageKind kind, const uint8_t *cursor, const uint8_t *end, unsigned depth,
                   unsigned graphDepth) {
  if (kind == MessageKind::Graph && ++graphDepth > maxGraphDepth)
    return fail(ScanError::TooDeep, cursor, "");
  std::string &out = result.slim;
  Payload payload;
  bool hasPayload = false;
  const uint8_t *copyFrom = cursor;
  auto flush = [&](const uint8_t *upTo) {
    out.append(reinterpret_cast<const char *>(copyFrom), upTo - copyFrom);
  };

  while (cursor != end) {
    const uint8_t *fieldStart = cursor;
    uint64_t tag;
    if (!readVarint(cursor, end, tag)) {
      bool cut = cursor == end && end == fileEnd;
      return fail(cut ? ScanError::Truncated : ScanError::Malformed, fieldStart,
                  "a field's tag at byte " + std::to_string(fieldStart - begin) + " is cut");
    }
    const uint64_t field = tag >> 3;
    const unsigned wire = tag & 7;
    if (field == 0 || tag > 0xffffffffu)
      return fail(ScanError::Malformed, fieldStart,
                  "no field has the number " + std::to_string(field) + " (byte " +
                      std::to_string(fieldStart - begin) + ")");
    const uint8_t *value = cursor;
    uint64_t length = 0;
    if (!skipValue(wire, cursor, end, value, length)) {
      // What is known of a broken file decides how its error is worded.
      if (depth == 0 && field < 64 && wire == Bytes)
        result.topFields |= uint64_t(1) << field;
      return false;
    }
    if (depth == 0 && field < 64)
      result.topFields |= uint64_t(1) << field;

    Rule rule = ruleFor(kind, field);
    if (rule.action == Action::Copy || (rule.action == Action::Descend && wire != Bytes))
      continue;
    flush(fieldStart);
    copyFrom = cursor;
    if (rule.action == Action::Drop)
      continue;

    if (rule.action == Action::Payload) {
      hasPayload = true;
      bool packed = wire == Bytes;
      const uint8_t *from = packed ? value : fieldStart;
      addFragment(payload,
                  {static_cast<DataField>(field), packed, static_cast<uint64_t>(from - begin),
                   static_cast<uint64_t>(cursor - from)});
      continue;
    }

    // The length of the rewritten message is known only after it is written:
    // leave room for a varint of five bytes, the most protobuf accepts here.
    uint64_t slimTag = tag;
    do {
      out.push_back(static_cast<char>((slimTag & 0x7f) | (slimTag > 0x7f ? 0x80 : 0)));
      slimTag >>= 7;
    } while (slimTag);
    const size_t lengthAt = out.size();
    out.append(5, '\0');
    if (!scan(rule.kind, value, cursor, depth + 1, graphDepth))
      return false;
    uint64_t written = out.size() - lengthAt - 5;
    if (written > 0x7fffffff)
      return fail(ScanError::Malformed, value, "a message is larger than 2 GB without its tensors");
    for (unsigned i = 0; i != 5; ++i, written >>= 7)
      out[lengthAt + i] = static_cast<char>((written & 0x7f) | (i < 4 ? 0x80 : 0));
  }
  flush(end);

  if (hasPayload) {
    // raw_data: field 9, wire type 2, four bytes.
    out.append("\x4a\x04", 2);
    char index[4];
    llvm::support::endian::write32le(index, static_cast<uint32_t>(result.payloads.size()));
    out.append(index, 4);
    result.payloads.push_back(std::move(payload));
  }
  return true;
}

ScanResult kiln::onnx::scanMessage(MessageKind kind, llvm::ArrayRef<uint8_t> bytes) {
  ScanResult result;
  Scanner(bytes, result).scan(kind, bytes.begin(), bytes.end(), 0, 0);
  return result;
}
