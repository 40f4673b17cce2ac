//===- Packing.cpp - Constants as panels ----------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Packing.h"
#include "Subpixel.h"
#include "Winograd.h"

using namespace mlir;
using namespace kiln;
using namespace kiln::contraction;

/// f16 and bf16 bits as f32; both widen exactly.
static float widenHalf(uint16_t bits, bool brain) {
  const llvm::fltSemantics &semantics = brain ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf();
  llvm::APFloat value(semantics, llvm::APInt(16, bits));
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToFloat();
}

Elements contraction::accumulatorElements(RankedTensorType type, const char *bytes) {
  Elements elements;
  Type element = type.getElementType();
  elements.width = accumulatorType(element).getIntOrFloatBitWidth() / 8;
  elements.bytes = bytes;
  if (element.isF16() || element.isBF16()) {
    auto count = static_cast<size_t>(type.getNumElements());
    elements.widened.resize(count * 4);
    for (size_t i = 0; i < count; ++i) {
      uint16_t bits;
      std::memcpy(&bits, bytes + 2 * i, 2);
      float value = widenHalf(bits, element.isBF16());
      std::memcpy(elements.widened.data() + 4 * i, &value, 4);
    }
    elements.bytes = elements.widened.data();
  }
  return elements;
}

SmallVector<char, 0> kiln::packMatMul(StringRef layout, RankedTensorType type, const char *bytes) {
  PanelLayout wanted = PanelLayout::parse(layout);
  Elements source = accumulatorElements(type, bytes);
  ArrayRef<int64_t> shape = type.getShape();
  int64_t depth = shape[shape.size() - 2], columns = shape.back();
  if (wanted.transposed)
    std::swap(depth, columns);
  int64_t rowStride = wanted.transposed ? 1 : columns, columnStride = wanted.transposed ? depth : 1;
  int64_t matrices = 1;
  for (int64_t dim : shape.drop_back(2))
    matrices *= dim;
  int64_t panels = llvm::divideCeil(columns, wanted.width);
  SmallVector<char, 0> packed;
  packed.resize(static_cast<size_t>(matrices * panels * depth * wanted.width * source.width));
  char *out = packed.data();
  for (int64_t matrix = 0; matrix < matrices; ++matrix)
    for (int64_t panel = 0; panel < panels; ++panel)
      for (int64_t k = 0; k < depth; ++k) {
        int64_t first = panel * wanted.width;
        int64_t count = std::min(wanted.width, columns - first);
        int64_t from = matrix * depth * columns + k * rowStride + first * columnStride;
        for (int64_t c = 0; c < count; ++c)
          std::memcpy(out + c * source.width, source.at(from + c * columnStride),
                      static_cast<size_t>(source.width));
        out += wanted.width * source.width;
      }
  return packed;
}

WeightOrder::WeightOrder(RankedTensorType type, int64_t group, bool transposed)
    : transposed(transposed) {
  ArrayRef<int64_t> shape = type.getShape();
  outputs = transposed ? shape[1] : shape[0] / group;
  channels = transposed ? shape[0] / group : shape[1];
  for (int64_t dim : shape.drop_front(2))
    taps *= dim;
}

SmallVector<char, 0> kiln::packConv(StringRef layout, RankedTensorType type, const char *bytes) {
  if (WinogradLayout::isOne(layout))
    return packWinograd(WinogradLayout::parse(layout), type, bytes);
  if (SubpixelLayout::isOne(layout))
    return packSubpixel(SubpixelLayout::parse(layout), type, bytes);
  RowLayout wanted = RowLayout::parse(layout);
  Elements source = accumulatorElements(type, bytes);
  WeightOrder order(type, wanted.group, wanted.transposed);
  TileShape tile;
  tile.rows = wanted.rows, tile.vectors = wanted.vectors;
  SmallVector<char, 0> packed;
  packed.resize(static_cast<size_t>(type.getNumElements() * source.width));
  char *out = packed.data();
  for (int64_t group = 0; group < wanted.group; ++group) {
    int64_t first = 0;
    for (int64_t height : splitRows(order.outputs, tile).heights(tile)) {
      for (int64_t channel = 0; channel < order.channels; ++channel)
        for (int64_t tap = 0; tap < order.taps; ++tap)
          for (int64_t row = first; row < first + height; ++row) {
            std::memcpy(out, source.at(order.position(group, row, channel, tap)),
                        static_cast<size_t>(source.width));
            out += source.width;
          }
      first += height;
    }
  }
  return packed;
}
