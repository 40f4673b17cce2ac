//===- ConvJoin.cpp - A convolution behind a depthwise one ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pointwise convolution reads each pixel once for all outputs. So the depthwise
// convolution before it, with what is pointwise behind that, is computed for a
// block of rows at a time, one channel after the other, into scratch that stays
// in the second-level cache; panels are packed from there. No pixel is computed
// twice: blocks share input rows, not results.
//
//===----------------------------------------------------------------------===//

#include "ConvEmitter.h"

using namespace mlir;
using namespace kiln;
using namespace kiln::contraction;

/// Bytes of results of a block that the second-level cache holds beside a panel
/// and weights.
static constexpr int64_t madeBytes = 384 * 1024;

bool kiln::joinsProducer(const ConvSpec &spec, const ConvSpec &producer) {
  if (spec.transposed || producer.transposed || spec.group != 1)
    return false;
  ConvShape shape(spec), before(producer);
  if (shape.rank != 2 || !shape.channels.constant() || !before.outputs || !isDepthwise(before))
    return false;
  for (const Axis &axis : shape.axes)
    if (axis.kernel != 1 || axis.stride != 1 || !axis.pad.isConstant(0))
      return false;
  return true;
}

/// About how many cycles all units take, for each channel, whose blocks have so many
/// rows.
double ConvEmitter::joinedCost(int64_t rows) const {
  int64_t outRows = *shape.axes[1].out.constant(), columns = *shape.axes[2].out.constant();
  auto panels = [&](int64_t pixels) {
    auto vectors = static_cast<uint64_t>(vectorsOf(pixels));
    // One that is not full reads as many weights as one that is.
    return static_cast<double>(vectors +
                               llvm::alignTo(vectors, static_cast<uint64_t>(tile.vectors))) /
           2;
  };
  double products = static_cast<double>(outRows / rows) * panels(rows * columns) +
                    panels(outRows % rows * columns);
  // Staging a vector, blocks' common rows included, takes as long as some taps.
  constexpr double tapsOfStaging = 6;
  const Axis &axis = producerShape->axes[1];
  double staged =
      1 + static_cast<double>(axis.aheadOf(axis.kernel - 1)) / static_cast<double>(rows);
  double made = static_cast<double>(outRows * columns) / static_cast<double>(tile.lanes) *
                (static_cast<double>(producerShape->taps()) + tapsOfStaging * staged);
  double images = static_cast<double>(shape.batch.constant().value_or(1));
  double cycles = (products * static_cast<double>(outputs) + made) *
                  sharingLoss(images * static_cast<double>(llvm::divideCeil(outRows, rows)));
  int64_t bytes =
      *shape.channels.constant() * rows * columns * accumulator.getIntOrFloatBitWidth() / 8;
  if (bytes <= madeBytes)
    return cycles;
  // Scratch has no other bound: of what does not fit, the least.
  return cycles * std::max(1.5, static_cast<double>(bytes) / madeBytes);
}

/// All outputs of whole rows, in tiles of the producer's rows.
ConvEmitter::Blocking ConvEmitter::chooseJoinedBlocking() const {
  const Axis &rows = shape.axes[1], &columns = shape.axes[2];
  Blocking result;
  result.columns = columns.out;
  result.rows = DepthwiseEmitter::tileRowsOf(rows.out);
  auto outRows = rows.out.constant();
  if (outRows && columns.out.constant()) {
    double least = std::numeric_limits<double>::infinity();
    for (int64_t size = *outRows; size > 0; --size) {
      bool fits = size == *outRows || size % DepthwiseEmitter::tileRowsOf(size) == 0;
      if (double here = fits ? joinedCost(size) : least; here < least) {
        least = here;
        result.rows = size;
      }
    }
  }
  result.rowBlocks = Expr::ceilDiv(rows.out, result.rows);
  return result;
}

bool ConvEmitter::prepareProducer() {
  // The last panel is read in whole vectors.
  madePitch = blocking.rows * blocking.columns;
  Expr count = shape.channels * madePitch + Expr(tile.columns());
  Expr offset = k.reserveScratch(count * Expr(accumulator.getIntOrFloatBitWidth() / 8));
  made = {k.scratchBuffer(offset, count, accumulator), accumulator, {k.size(count)}};
  producer.emplace(k, *spec.producer, *producerShape);
  return producer->prepare(
      blocking.rows, spec.x,
      [this](ElementBuilder &e, size_t, Value value, const Index &index, Value row) {
        Value at = math.mul(index[1], k.size(madePitch));
        at = math.add(at, math.mul(row, k.size(blocking.columns)));
        e.store(e.convert(value, type, accumulator), made, {e.add(at, index.back())});
      });
}

void ConvEmitter::makeInput(const OutputBlock &block) {
  k.loop(k.index(0), k.index(producerShape->group), 1,
         [&](Value group) { producer->emit(block, group); });
}
