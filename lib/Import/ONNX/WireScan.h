//===- WireScan.h - Takes tensor payloads out of a message ------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Protobuf copies every `bytes` field and refuses messages of 2 GB. So a model
// is first rewritten on the level of the wire format: each tensor's payload
// fields are left out and replaced by raw_data that holds an index into a table
// of (field, offset, length). What remains is small, protobuf parses it, and the
// payload is read from the original bytes.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_IMPORT_ONNX_WIRESCAN_H
#define KILN_LIB_IMPORT_ONNX_WIRESCAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <string>
#include <vector>

namespace kiln::onnx {

/// Field numbers of TensorProto that hold elements.
enum class DataField : uint8_t {
  FloatData = 4,
  Int32Data = 5,
  Int64Data = 7,
  RawData = 9,
  DoubleData = 10,
  UInt64Data = 11,
};
const char *dataFieldName(DataField field);

/// One occurrence of a payload field, or a run of unpacked occurrences.
struct Fragment {
  DataField field;
  bool packed; ///< else `length` bytes of (tag, value) pairs
  uint64_t offset, length;
};
using Payload = llvm::SmallVector<Fragment, 1>;

/// The messages that may hold tensors.
enum class MessageKind : uint8_t {
  Model,
  Graph,
  Node,
  Attribute,
  Function,
  Tensor,
  SparseTensor,
};

struct ScanError {
  enum Kind { None, Truncated, Malformed, TooDeep } kind = None;
  uint64_t offset = 0;
  std::string text;
};

/// Graphs may nest so deep, counted without functions.
constexpr unsigned maxGraphDepth = 64;

struct ScanResult {
  std::string slim;
  std::vector<Payload> payloads;
  /// Top-level fields seen, as bits: says how far a broken file is a model.
  uint64_t topFields = 0;
  ScanError error;
};

ScanResult scanMessage(MessageKind kind, llvm::ArrayRef<uint8_t> bytes);

/// Reads a varint of at most ten bytes; false when it is cut or too long.
bool readVarint(const uint8_t *&cursor, const uint8_t *end, uint64_t &value);

} // namespace kiln::onnx

#endif
