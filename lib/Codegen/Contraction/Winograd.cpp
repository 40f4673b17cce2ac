//===- Winograd.cpp - Minimal filtering: matrices, choice, weights --------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Winograd.h"
#include "Packing.h"

using namespace mlir;
using namespace kiln;
using namespace kiln::contraction;

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

// Points 0, 1, -1 and infinity.
static constexpr double input2[] = {1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1, 0, -1};
static constexpr double filter2[] = {1, 0, 0, .5, .5, .5, .5, -.5, .5, 0, 0, 1};
static constexpr double output2[] = {1, 1, 1, 0, 0, 1, -1, -1};

// Points 0, 1, -1, 2, -2 and infinity.
static constexpr double input4[] = {4, 0,  -5, 0, 1, 0, 0, -4, -4, 1,  1, 0, 0, 4, -4, -1, 1, 0,
                                    0, -2, -1, 2, 1, 0, 0, 2,  -1, -2, 1, 0, 0, 4, 0,  -5, 0, 1};
static constexpr double filter4[] = {1. / 4,  0,        0,       -1. / 6, -1. / 6, -1. / 6,
                                     -1. / 6, 1. / 6,   -1. / 6, 1. / 24, 1. / 12, 1. / 6,
                                     1. / 24, -1. / 12, 1. / 6,  0,       0,       1};
static constexpr double output4[] = {1, 1, 1, 1, 1, 0, 0, 1, -1, 2, -2, 0,
                                     0, 1, 1, 4, 4, 0, 0, 1, -1, 8, -8, 1};

const WinogradTransform &WinogradTransform::get(int64_t outputs) {
  static const WinogradTransform two = {2, input2, filter2, output2};
  static const WinogradTransform four = {4, input4, filter4, output4};
  return outputs == 2 ? two : four;
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// Transforms of fewer channels cost more than they save.
static constexpr int64_t leastChannels = 16;
/// What an unknown size is taken to be.
static constexpr int64_t assumedSize = 64;
/// Transformed input of a unit that leaves room in the second-level cache.
static constexpr int64_t inputBytes = 768 * 1024;
/// Bytes of weights beyond the second-level cache that come in a cycle.
static constexpr double bytesPerCycle = 6;
/// The gain must be worth the larger weights and the larger error.
static constexpr double leastGain = 1.15;

std::string WinogradLayout::str() const {
  return numbersText("winograd", {outputs, rows, vectors, group}) + (transposed ? ":t" : ":n");
}

WinogradLayout WinogradLayout::parse(StringRef text) {
  WinogradLayout layout;
  text.consume_front("winograd");
  consumeNumbers(text, {&layout.outputs, &layout.rows, &layout.vectors, &layout.group});
  layout.transposed = text == ":t";
  return layout;
}

static double ceilDiv(int64_t x, int64_t y) { return static_cast<double>((x + y - 1) / y); }

std::optional<WinogradLayout> contraction::chooseWinograd(const ConvShape &shape, Type elementType,
                                                          bool transposed,
                                                          const VectorTarget &target) {
  if (!target.minimalFiltering || shape.rank != 2 || !elementType.isF32() || !shape.outputs ||
      !shape.channels.constant())
    return std::nullopt;
  for (const Axis &axis : ArrayRef(shape.axes).drop_front())
    if (axis.kernel != 3 || axis.stride != 1 || axis.dilation != 1 || axis.spread != 1)
      return std::nullopt;
  int64_t channels = *shape.channels.constant(), outputs = *shape.outputs;
  if (channels < leastChannels || outputs < leastChannels)
    return std::nullopt;
  int64_t rows = shape.axes[1].out.constant().value_or(assumedSize),
          columns = shape.axes[2].out.constant().value_or(assumedSize),
          lanes = target.lanes(elementType);
  if (rows < 1 || columns < 1)
    return std::nullopt;
  auto c = static_cast<double>(channels), k = static_cast<double>(outputs);
  double direct = 9 * c * ceilDiv(rows * columns, lanes) * (k + 4);
  double best = direct / leastGain;
  std::optional<WinogradLayout> chosen;
  for (int64_t m : {2, 4}) {
    auto points = static_cast<double>((m + 2) * (m + 2));
    int64_t tilesX = (columns + m - 1) / m, tilesY = (rows + m - 1) / m, tiles = tilesX * tilesY;
    bool narrow = tiles <= lanes || (m + 2) * (m + 2) * channels * 2 * lanes * 4 > inputBytes;
    TileShape tile = narrow ? tileOfWidth(target, elementType, lanes)
                            : chooseTile(target, elementType, std::nullopt);
    double products = points * c * k * ceilDiv(tiles, lanes);
    // A row of tiles takes about 4 instructions a point and vector either way.
    double transforms = 4 * points * (c + k) * static_cast<double>(tilesY) * ceilDiv(tilesX, lanes);
    double bytes = points * c * k * 4;
    double passes = ceilDiv(tiles, tile.columns());
    double stall = bytes > inputBytes ? passes * bytes / bytesPerCycle : 0;
    double cycles = std::max(products, stall) + 0.25 * std::min(products, stall) + transforms;
    if (cycles >= best)
      continue;
    best = cycles;
    chosen = {m, tile.rows, tile.vectors, shape.group, transposed};
  }
  return chosen;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

SmallVector<char, 0> contraction::packWinograd(const WinogradLayout &layout, RankedTensorType type,
                                               const char *bytes) {
  const WinogradTransform &transform = WinogradTransform::get(layout.outputs);
  int64_t points = transform.points();
  Elements source = accumulatorElements(type, bytes);
  WeightOrder order(type, layout.group, layout.transposed);
  TileShape tile;
  tile.rows = layout.rows, tile.vectors = layout.vectors;
  RowSplit split = splitRows(order.outputs, tile);
  int64_t each = points * points * order.channels;
  SmallVector<char, 0> packed;
  packed.resize_for_overwrite(
      static_cast<size_t>(layout.group * order.outputs * each * source.width));
  auto transformed = [&](const double *weights, int64_t u, int64_t v) {
    double sum = 0;
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 3; ++j)
        sum += transform.filter[static_cast<size_t>(u * 3 + i)] * weights[i * 3 + j] *
               transform.filter[static_cast<size_t>(v * 3 + j)];
    return static_cast<float>(sum);
  };
  for (int64_t group = 0; group < layout.group; ++group) {
    int64_t first = 0;
    for (int64_t height : split.heights(tile)) {
      char *start = packed.data() + (group * order.outputs + first) * each * source.width;
      for (int64_t row = 0; row < height; ++row)
        for (int64_t channel = 0; channel < order.channels; ++channel) {
          double weights[9];
          for (int64_t tap = 0; tap < 9; ++tap) {
            float weight;
            std::memcpy(&weight, source.at(order.position(group, first + row, channel, tap)), 4);
            weights[tap] = weight;
          }
          for (int64_t point = 0; point < points * points; ++point) {
            float value = transformed(weights, point / points, point % points);
            std::memcpy(start + ((point * order.channels + channel) * height + row) * 4, &value, 4);
          }
        }
      first += height;
    }
  }
  return packed;
}
