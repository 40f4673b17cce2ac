//===- Subpixel.cpp - Transposed convolutions by phases -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Subpixel.h"
#include "Packing.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kiln;
using namespace kiln::contraction;

/// Phases whose taps are mostly missing (a stride far above the kernel) make the
/// weights so many times larger at most.
static constexpr double maxGrowth = 16;

std::string SubpixelLayout::str() const {
  return numbersText(
      "subpixel", {rows, vectors, strides[0], strides[1], strides[2], pads[0], pads[1], pads[2]});
}

SubpixelLayout SubpixelLayout::parse(StringRef text) {
  SubpixelLayout layout;
  text.consume_front("subpixel");
  consumeNumbers(text, {&layout.rows, &layout.vectors, &layout.strides[0], &layout.strides[1],
                        &layout.strides[2], &layout.pads[0], &layout.pads[1], &layout.pads[2]});
  return layout;
}

std::pair<int64_t, int64_t> SubpixelLayout::reach(size_t dim, int64_t kernel) const {
  int64_t stride = strides[dim], pad = pads[dim];
  return {llvm::divideCeilSigned(pad - kernel + 1, stride),
          llvm::divideFloorSigned(stride - 1 + pad, stride)};
}

ConvShape SubpixelLayout::shapeOf(const ConvShape &spread) const {
  ConvShape shape = spread;
  for (size_t d = 0; d < 3; ++d) {
    Axis &axis = shape.axes[d];
    auto [first, last] = reach(d, axis.kernel);
    axis.out = Expr::floorDiv(axis.out, strides[d]);
    axis.pad = -first;
    axis.kernel = last - first + 1;
    axis.spread = 1;
  }
  shape.outputs = *spread.outputs * phases();
  return shape;
}

std::optional<SubpixelLayout> contraction::chooseSubpixel(const ConvSpec &spec,
                                                          const ConvShape &shape,
                                                          const VectorTarget &target) {
  if (!spec.transposed || shape.group != 1 || !shape.outputs || !shape.channels.constant())
    return std::nullopt;
  SubpixelLayout layout;
  double growth = 1;
  for (size_t d = 0; d < 3; ++d) {
    const Axis &axis = shape.axes[d];
    // The shape has the pads of the spread input.
    auto spreadPad = axis.pad.constant();
    if (!spreadPad || axis.dilation != 1 || Expr::mod(axis.out, axis.spread) != Expr(0))
      return std::nullopt;
    layout.strides[d] = axis.spread;
    layout.pads[d] = axis.kernel - 1 - *spreadPad;
    auto [first, last] = layout.reach(d, axis.kernel);
    growth *= static_cast<double>(last - first + 1) * static_cast<double>(axis.spread) /
              static_cast<double>(axis.kernel);
    if (growth > maxGrowth)
      return std::nullopt;
  }
  TileShape tile = chooseTile(target, accumulatorType(elementTypeOf(spec.w)), std::nullopt);
  layout.rows = tile.rows, layout.vectors = tile.vectors;
  // Tiles must have whole groups of the phases that are put together.
  int64_t last = layout.strides[2];
  if (layout.phases() == 1 || !llvm::isPowerOf2_64(static_cast<uint64_t>(last)))
    return std::nullopt;
  for (int64_t height : splitRows(*shape.outputs * layout.phases(), tile).heights(tile))
    if (height % last != 0)
      return std::nullopt;
  return layout;
}

SmallVector<char, 0> contraction::packSubpixel(const SubpixelLayout &layout, RankedTensorType type,
                                               const char *bytes) {
  Elements source = accumulatorElements(type, bytes);
  ArrayRef<int64_t> dims = type.getShape();
  int64_t kernel[3] = {1, 1, 1}, first[3], taps[3];
  llvm::copy(dims.drop_front(2), std::end(kernel) - (dims.size() - 2));
  for (size_t d = 0; d < 3; ++d) {
    auto [from, to] = layout.reach(d, kernel[d]);
    first[d] = from;
    taps[d] = to - from + 1;
  }
  int64_t channels = dims[0], outputs = dims[1] * layout.phases();
  int64_t depth = channels * taps[0] * taps[1] * taps[2];
  TileShape tile;
  tile.rows = layout.rows, tile.vectors = layout.vectors;
  SmallVector<char, 0> packed;
  packed.resize(static_cast<size_t>(outputs * depth * source.width));
  /// Place of a weight in the tensor; none where a phase has no such tap.
  auto position = [&](int64_t row, int64_t channel, int64_t tap) -> std::optional<int64_t> {
    int64_t place = channel * dims[1] + row / layout.phases(), phase = row % layout.phases();
    int64_t phaseOf[3], tapOf[3];
    for (size_t d = 3; d-- > 0;) {
      phaseOf[d] = phase % layout.strides[d], phase /= layout.strides[d];
      tapOf[d] = tap % taps[d], tap /= taps[d];
    }
    for (size_t d = 0; d < 3; ++d) {
      int64_t at = phaseOf[d] + layout.pads[d] - (tapOf[d] + first[d]) * layout.strides[d];
      if (at < 0 || at >= kernel[d])
        return std::nullopt;
      place = place * kernel[d] + at;
    }
    return place;
  };
  char *out = packed.data();
  int64_t start = 0;
  for (int64_t height : splitRows(outputs, tile).heights(tile)) {
    for (int64_t channel = 0; channel < channels; ++channel)
      for (int64_t tap = 0; tap < depth / channels; ++tap)
        for (int64_t row = start; row < start + height; ++row) {
          if (auto place = position(row, channel, tap))
            std::memcpy(out, source.at(*place), static_cast<size_t>(source.width));
          out += source.width;
        }
    start += height;
  }
  return packed;
}
