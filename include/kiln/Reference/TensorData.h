//===- TensorData.h - Elements of a tensor in memory ------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A static tensor's elements, dense and row-major in ONNX's raw format: little
// endian, types of less than 8 bits (bool among them) as one byte. The bytes are shared and never
// change once another owner may see them; they may lie unaligned in a mapped file.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_REFERENCE_TENSORDATA_H
#define KILN_REFERENCE_TENSORDATA_H

#include "dialects/Kiln/IR/TensorTypes.h"
#include "llvm/ADT/APFloat.h"
#include <cstring>
#include <memory>

namespace kiln {

class TensorData {
public:
  TensorData() = default;
  /// Zeroed elements that this object owns.
  explicit TensorData(mlir::RankedTensorType type);
  /// Elements elsewhere, which outlive this object (or `owner` holds them).
  TensorData(mlir::RankedTensorType type, const char *bytes,
             std::shared_ptr<const void> owner = nullptr);

  mlir::RankedTensorType type() const { return tensorType; }
  mlir::Type elementType() const { return tensorType.getElementType(); }
  llvm::ArrayRef<int64_t> shape() const { return tensorType.getShape(); }
  int64_t rank() const { return tensorType.getRank(); }
  int64_t size() const { return tensorType.getNumElements(); }
  const char *bytes() const { return data; }
  int64_t byteSize() const { return size() * elementBytes(elementType()); }
  /// Only on data that this object made, before it was shared.
  char *mutableBytes() { return const_cast<char *>(data); }

  /// Any element as double, exact for floats and for integers up to 2^53.
  double getFloat(int64_t i) const;
  /// Rounds to nearest even into the element type; integers truncate. Floats of
  /// 8 bits and fewer round from f32; where `saturate` they have their largest
  /// number in place of infinity and what is beyond.
  void setFloat(int64_t i, double value, bool saturate = false);
  /// As ONNX Cast here: integers truncate and saturate, NaN gives 0. Those of
  /// less than 8 bits saturate as 32 bits and wrap, as ONNX's test data have it.
  void setSaturated(int64_t i, double value);
  /// Integer and bool elements; sign or zero extended as the type says.
  int64_t getInt(int64_t i) const;
  /// Wraps into the element's width; bool: value != 0.
  void setInt(int64_t i, int64_t value);

  /// The same elements under another shape of equal size.
  TensorData reshaped(mlir::RankedTensorType type) const;
  /// Every element has the same bytes (and there is one).
  bool isSplat() const;

private:
  mlir::RankedTensorType tensorType;
  const char *data = nullptr;
  std::shared_ptr<const void> owner;
};

/// The elements of a constant attribute: zero copy for resources, a copy for
/// dense attributes. Nothing when the attribute holds no data (elided text).
std::optional<TensorData> tensorDataOf(mlir::ElementsAttr attr);

/// An attribute for these elements: dense when there are few or all are
/// equal, else a resource that keeps the bytes alive.
mlir::ElementsAttr elementsAttr(const TensorData &data, llvm::StringRef name = "constant");

/// The constant behind a value, when its producer is kiln.constant.
mlir::ElementsAttr constantOf(mlir::Value value);

} // namespace kiln

#endif // KILN_REFERENCE_TENSORDATA_H
