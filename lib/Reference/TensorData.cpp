//===- TensorData.cpp - Elements of a tensor in memory --------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Reference/TensorData.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Operation.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

TensorData::TensorData(RankedTensorType type) : tensorType(type) {
  auto storage = std::make_shared<std::vector<char>>(std::max<int64_t>(byteSize(), 1));
  data = storage->data();
  owner = std::move(storage);
}

TensorData::TensorData(RankedTensorType type, const char *bytes, std::shared_ptr<const void> owner)
    : tensorType(type), data(bytes), owner(std::move(owner)) {}

template <typename T> static T load(const char *data, int64_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T> static void store(const char *data, int64_t i, T value) {
  std::memcpy(const_cast<char *>(data) + i * sizeof(T), &value, sizeof(T));
}

static const llvm::fltSemantics &semanticsOf(Type type) {
  return cast<FloatType>(type).getFloatSemantics();
}

double TensorData::getFloat(int64_t i) const {
  Type type = elementType();
  if (type.isF32())
    return load<float>(data, i);
  if (type.isF64())
    return load<double>(data, i);
  if (!isa<FloatType>(type)) {
    int64_t value = getInt(i);
    return type.isUnsignedInteger(64) ? static_cast<double>(static_cast<uint64_t>(value))
                                      : static_cast<double>(value);
  }
  uint64_t bits = 0;
  int64_t width = elementBytes(type);
  std::memcpy(&bits, data + i * width, static_cast<size_t>(width));
  llvm::APFloat value(semanticsOf(type), APInt(type.getIntOrFloatBitWidth(), bits));
  bool inexact;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return value.convertToDouble();
}

/// The bits of a float of 8 bits or fewer.
static uint8_t roundSmall(double value, const llvm::fltSemantics &semantics, bool saturate) {
  bool hasNaN = llvm::APFloat::semanticsHasNaN(semantics);
  if (std::isnan(value) && !hasNaN)
    return 0;
  if (!std::isnan(value) && (saturate || !hasNaN)) {
    llvm::APFloat largest = llvm::APFloat::getLargest(semantics);
    double bound = largest.convertToDouble();
    value = std::clamp(value, -bound, bound);
  }
  llvm::APFloat rounded(static_cast<float>(value));
  bool inexact;
  rounded.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &inexact);
  return static_cast<uint8_t>(rounded.bitcastToAPInt().getZExtValue());
}

void TensorData::setFloat(int64_t i, double value, bool saturate) {
  Type type = elementType();
  if (isSmallFloat(type))
    return store<uint8_t>(data, i, roundSmall(value, semanticsOf(type), saturate));
  if (type.isF32())
    return store<float>(data, i, static_cast<float>(value));
  if (type.isF64())
    return store<double>(data, i, value);
  if (!isa<FloatType>(type))
    return setInt(i, type.isUnsignedInteger(64) ? static_cast<int64_t>(static_cast<uint64_t>(value))
                                                : static_cast<int64_t>(value));
  llvm::APFloat rounded(value);
  bool inexact;
  rounded.convert(semanticsOf(type), llvm::APFloat::rmNearestTiesToEven, &inexact);
  store<uint16_t>(data, i, static_cast<uint16_t>(rounded.bitcastToAPInt().getZExtValue()));
}

static int64_t saturated(double value, Type to) {
  if (std::isnan(value))
    return 0;
  unsigned bits = to.getIntOrFloatBitWidth();
  bool isUnsigned = to.isUnsignedInteger();
  double low = isUnsigned ? 0.0 : -std::ldexp(1.0, static_cast<int>(bits) - 1);
  double limit = std::ldexp(1.0, static_cast<int>(isUnsigned ? bits : bits - 1));
  value = std::trunc(value);
  if (value < low)
    return isUnsigned ? 0 : llvm::minIntN(bits);
  if (value >= limit)
    return isUnsigned ? static_cast<int64_t>(llvm::maxUIntN(bits)) : llvm::maxIntN(bits);
  return isUnsigned ? static_cast<int64_t>(static_cast<uint64_t>(value))
                    : static_cast<int64_t>(value);
}

void TensorData::setSaturated(int64_t i, double value) {
  if (isa<FloatType>(elementType()) || elementType().isInteger(1))
    return setFloat(i, value);
  Type type = elementType();
  if (type.getIntOrFloatBitWidth() < 8)
    type = IntegerType::get(type.getContext(), 32);
  setInt(i, saturated(value, type));
}

int64_t TensorData::getInt(int64_t i) const {
  Type type = elementType();
  bool isUnsigned = type.isUnsignedInteger() || type.isInteger(1);
  // Whatever the upper bits of the byte are.
  if (unsigned width = type.getIntOrFloatBitWidth(); width > 1 && width < 8) {
    auto bits = static_cast<uint64_t>(load<uint8_t>(data, i)) & llvm::maxUIntN(width);
    return isUnsigned ? static_cast<int64_t>(bits) : llvm::SignExtend64(bits, width);
  }
  switch (elementBytes(type)) {
  case 1:
    return isUnsigned ? int64_t(load<uint8_t>(data, i)) : int64_t(load<int8_t>(data, i));
  case 2:
    return isUnsigned ? int64_t(load<uint16_t>(data, i)) : int64_t(load<int16_t>(data, i));
  case 4:
    return isUnsigned ? int64_t(load<uint32_t>(data, i)) : int64_t(load<int32_t>(data, i));
  default:
    return load<int64_t>(data, i);
  }
}

void TensorData::setInt(int64_t i, int64_t value) {
  Type type = elementType();
  if (type.isInteger(1))
    return store<uint8_t>(data, i, value != 0);
  if (unsigned width = type.getIntOrFloatBitWidth(); width < 8) {
    auto bits = static_cast<uint64_t>(value) & llvm::maxUIntN(width);
    return store<uint8_t>(
        data, i,
        static_cast<uint8_t>(type.isUnsignedInteger()
                                 ? bits
                                 : static_cast<uint64_t>(llvm::SignExtend64(bits, width))));
  }
  switch (elementBytes(elementType())) {
  case 1:
    return store<uint8_t>(data, i, static_cast<uint8_t>(value));
  case 2:
    return store<uint16_t>(data, i, static_cast<uint16_t>(value));
  case 4:
    return store<uint32_t>(data, i, static_cast<uint32_t>(value));
  default:
    return store<int64_t>(data, i, value);
  }
}

TensorData TensorData::reshaped(RankedTensorType type) const {
  return TensorData(type, data, owner);
}

bool TensorData::isSplat() const {
  int64_t bytes = elementBytes(elementType()), count = size();
  if (count == 0)
    return false;
  return std::memcmp(data, data + bytes, static_cast<size_t>(bytes * (count - 1))) == 0;
}

std::optional<TensorData> kiln::tensorDataOf(ElementsAttr attr) {
  auto type = dyn_cast<RankedTensorType>(attr.getType());
  if (!type || !type.hasStaticShape())
    return std::nullopt;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attr)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob || static_cast<int64_t>(blob->getData().size()) <
                     type.getNumElements() * elementBytes(type.getElementType()))
      return std::nullopt;
    return TensorData(type, blob->getData().data());
  }
  auto dense = dyn_cast<DenseElementsAttr>(attr);
  if (!dense)
    return std::nullopt;
  TensorData copy(type);
  int64_t i = 0;
  if (auto floats = dyn_cast<DenseFPElementsAttr>(dense)) {
    int64_t width = elementBytes(type.getElementType());
    for (const APFloat &value : floats) {
      uint64_t bits = value.bitcastToAPInt().getZExtValue();
      std::memcpy(copy.mutableBytes() + i++ * width, &bits, static_cast<size_t>(width));
    }
    return copy;
  }
  for (const APInt &value : cast<DenseIntElementsAttr>(dense))
    copy.setInt(i++, static_cast<int64_t>(value.getZExtValue()));
  return copy;
}

ElementsAttr kiln::elementsAttr(const TensorData &data, StringRef name) {
  RankedTensorType type = data.type();
  constexpr int64_t fewElements = 16;
  bool splat = data.isSplat();
  if (data.size() <= fewElements || splat) {
    int64_t count = splat ? 1 : data.size(), width = elementBytes(data.elementType());
    if (auto floatType = dyn_cast<FloatType>(data.elementType())) {
      SmallVector<APFloat> values;
      for (int64_t i = 0; i < count; ++i) {
        uint64_t bits = 0;
        std::memcpy(&bits, data.bytes() + i * width, static_cast<size_t>(width));
        values.emplace_back(floatType.getFloatSemantics(), APInt(floatType.getWidth(), bits));
      }
      return DenseElementsAttr::get(type, values);
    }
    SmallVector<APInt> values;
    unsigned bits = type.getElementTypeBitWidth();
    for (int64_t i = 0; i < count; ++i)
      values.emplace_back(bits, static_cast<uint64_t>(data.getInt(i)), /*isSigned=*/false,
                          /*implicitTrunc=*/true);
    return DenseElementsAttr::get(type, values);
  }
  // The blob keeps a copy of `data`, and with it whoever owns the bytes.
  auto keep = std::make_shared<TensorData>(data);
  AsmResourceBlob blob(
      ArrayRef<char>(data.bytes(), static_cast<size_t>(data.byteSize())), /*alignment=*/1,
      [keep](void *, size_t, size_t) {}, /*dataIsMutable=*/false);
  return DenseResourceElementsAttr::get(type, name, std::move(blob));
}

ElementsAttr kiln::constantOf(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->hasTrait<OpTrait::ConstantLike>() ? op->getAttrOfType<ElementsAttr>("value")
                                                     : ElementsAttr();
}
