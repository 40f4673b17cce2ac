//===- ConvKernel.cpp - Convolutions as matrix products -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows are the outputs (channels) of a group, columns the pixels of a block of
// output rows, and the inner dimension counts (channel, tap). A unit stages its
// input, then packs one panel of pixels after the other and multiplies each by
// the weights. Pixels are numbered across rows: a vector that spans several
// rows is put together from one load a row.
//
//===----------------------------------------------------------------------===//

#include "ConvEmitter.h"
#include "Packing.h"
#include "Winograd.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kiln;
using namespace kiln::contraction;

/// Taps of a plane up to which packing has no loop over them.
static constexpr int64_t unrolledTaps = 9;

std::string kiln::convLayout(const ConvSpec &spec, const VectorTarget &target) {
  ConvShape shape(spec);
  if (shape.rank > 3 || isDepthwise(shape))
    return "";
  if (auto layout = chooseWinograd(shape, elementTypeOf(spec.w), spec.transposed, target))
    return layout->str();
  if (auto layout = chooseSubpixel(spec, shape, target))
    return layout->str();
  TileShape tile = chooseTile(target, accumulatorType(elementTypeOf(spec.w)), std::nullopt);
  return RowLayout{tile.rows, tile.vectors, spec.group, spec.transposed}.str();
}

ConvEmitter::ConvEmitter(KernelBuilder &k, const ConvSpec &spec, const ConvShape &shape,
                         std::optional<SubpixelLayout> phases)
    : k(k), spec(spec), given(shape), shape(shape), math(k.b, k.loc), type(elementTypeOf(spec.x)),
      accumulator(accumulatorType(type)), phases(phases) {}

/// Kernels of one element that skip nothing: a panel is a copy of the input.
bool ConvEmitter::readsInPlace() const {
  for (const Axis &axis : shape.axes)
    if (axis.kernel != 1 || axis.stride != 1 || axis.spread != 1 || !axis.pad.isConstant(0) ||
        axis.in != axis.out)
      return false;
  auto argument = dyn_cast<BlockArgument>(spec.x);
  return argument && k.layouts[argument.getArgNumber()].empty() && type == accumulator;
}

LogicalResult ConvEmitter::emit() {
  Value y = spec.anchor->getResult(0);
  for (Value result : k.results())
    if (shapeOf(result) != shapeOf(y))
      return failure();
  auto argument = dyn_cast<BlockArgument>(spec.w);
  if (!argument || !shape.outputs || !shape.channels.constant())
    return failure();
  StringRef layout = k.layouts[argument.getArgNumber()];
  weightsGiven = !layout.empty();
  if (!weightsGiven && spec.transposed)
    return failure();
  tile = chooseTile(k.target, accumulator, std::nullopt);
  if (phases) {
    tile.rows = phases->rows, tile.vectors = phases->vectors;
  } else if (weightsGiven) {
    RowLayout given = RowLayout::parse(layout);
    tile.rows = given.rows, tile.vectors = given.vectors;
  }
  vectorType = VectorType::get({tile.lanes}, accumulator);
  outputs = *shape.outputs;
  split = splitRows(outputs, tile);
  depth = shape.channels * Expr(shape.taps());
  if (readsInPlace() && !phases) {
    // Taps that read their own pixel do not care for rows.
    Expr pixels = shape.axes[0].out * shape.axes[1].out * shape.axes[2].out;
    for (Axis &axis : shape.axes)
      axis = Axis();
    shape.axes[2].in = shape.axes[2].out = pixels;
  }
  if (spec.producer)
    producerShape.emplace(*spec.producer);
  blocking = spec.producer ? chooseJoinedBlocking() : chooseBlocking();
  // The pixels' count is the index of the last dim: of 1, it would be read as broadcast.
  bool isColumn = given.axes[2].out.isConstant(1) &&
                  !(given.axes[0].out.isConstant(1) && given.axes[1].out.isConstant(1));
  flatPixels = !phases && !isColumn && canCollapse(k, spec.anchor, 2, shape.rank + 2);

  image = planeAt = rowAt = k.index(0);
  TileShape stored = tile;
  if (phases)
    stored.rows /= phases->strides[2], stored.vectors *= phases->strides[2];
  epilogue.emplace(k, spec.anchor, stored, [this](ElementBuilder &e, Value row, Value column) {
    return resultIndex(e, row, column);
  });
  Expr panelElements = depth * Expr(tile.columns());
  panel = k.scratchBuffer(
      k.reserveScratch(panelElements * Expr(accumulator.getIntOrFloatBitWidth() / 8)),
      panelElements, accumulator);
  if (spec.producer) {
    if (!prepareProducer())
      return failure();
  } else if (!readsInPlace()) {
    // A vector may start at the last pixel, and take a load a row that it spans.
    const Axis &columns = shape.axes[2];
    Expr pitch =
        (blocking.columns + Expr(columns.aheadOf(columns.kernel - 1))) * Expr(columns.phases());
    staging.emplace(k, spec, shape, shape.channels, blocking.rows, blocking.columns,
                    (pitch + Expr(1)) * Expr(tile.lanes + 1));
  }
  weights = k.inputBuffer(argument.getArgNumber()).memref;
  if (weightsGiven) {
    Expr count = Expr(outputs * shape.group) * depth;
    weights =
        memref::ViewOp::create(k.b, k.loc, MemRefType::get({ShapedType::kDynamic}, accumulator),
                               weights, k.index(0), ValueRange{k.size(count)});
  }
  Expr units = shape.batch * Expr(shape.group) * shape.axes[0].out * blocking.rowBlocks *
               blocking.columnBlocks * Expr(blocking.outputBlocks);
  Expr products = blocking.rows * blocking.columns * depth *
                  Expr(static_cast<int64_t>(llvm::divideCeil(outputs, blocking.outputBlocks)));
  if (producer)
    products =
        products + blocking.rows * blocking.columns * depth * Expr(producerShape->taps() + 8);
  k.setUnits(units, Expr::floorDiv(products * Expr(200), tile.lanes) + Expr(20000));
  emitUnits();
  return success();
}

/// Of a row and a column of the epilogue's: with phases, the column counts the
/// elements of one row of the result, and the row counts what is left of them.
Index ConvEmitter::resultIndex(ElementBuilder &e, Value row, Value column) {
  if (phases) {
    Value planes = k.index(phases->strides[0]), rows = k.index(phases->strides[1]);
    Value rest = math.div(row, rows);
    return shape.index(image, math.div(rest, planes),
                       {math.add(math.mul(planeAt, planes), math.rem(rest, planes)),
                        math.add(math.mul(rowAt, rows), math.rem(row, rows)), column});
  }
  SmallVector<Value> spatial(3, e.index(0));
  if (flatPixels)
    spatial[2] = column;
  else
    spatial = e.delinearize(
        column, {k.size(given.axes[0].out), k.size(given.axes[1].out), k.size(given.axes[2].out)});
  return shape.index(image, row, spatial);
}

void ConvEmitter::emitUnits() {
  SmallVector<Value> sizes = {k.size(shape.batch), k.index(shape.group), k.size(shape.axes[0].out),
                              k.size(blocking.rowBlocks), k.size(blocking.columnBlocks)};
  Value rows = k.size(blocking.rows), columns = k.size(blocking.columns);
  if (staging)
    staging->prepare();
  forUnits(k, k.index(blocking.outputBlocks), [&](Value outer, Value from, Value to) {
    Index at = k.elements().delinearize(outer, sizes);
    image = at[0];
    OutputBlock block;
    block.n = at[0];
    block.plane = at[2];
    block.row = math.mul(at[3], rows);
    block.column = math.mul(at[4], columns);
    planeAt = block.plane, rowAt = block.row;
    auto upTo = [&](Value wanted, Value start, const Expr &all) {
      return math.min(wanted, math.sub(k.size(all), start));
    };
    block.rows = upTo(rows, block.row, shape.axes[1].out);
    block.columns = upTo(columns, block.column, shape.axes[2].out);
    if (blocking.rowBlocks.isConstant(1))
      block.rows = k.size(shape.axes[1].out);
    if (blocking.columnBlocks.isConstant(1))
      block.columns = k.size(shape.axes[2].out);
    if (producer)
      makeInput(block);
    if (staging) {
      Value channels = k.size(shape.channels);
      staging->fill(block, math.mul(at[1], channels), channels);
    }
    emitPanels(block, at[1], from, to);
  });
}

//===----------------------------------------------------------------------===//
// Panels of pixels
//===----------------------------------------------------------------------===//

void ConvEmitter::emitPanels(const OutputBlock &block, Value group, Value from, Value to) {
  Value pixels = math.mul(block.rows, block.columns), width = k.index(tile.columns());
  k.loop(k.index(0), pixels, tile.columns(), [&](Value pixel) {
    Value left = math.sub(pixels, pixel);
    if (staging)
      packStaged(block, pixel, pixels);
    if (producer)
      copyPanel(made.memref, pixel, k.size(madePitch));
    bool isPacked = staging || producer;
    auto whole = [&] {
      if (!isPacked)
        packInPlace(block, group, pixel, nullptr);
      emitTiles(tile.vectors, block, group, from, to, pixel, nullptr);
    };
    // The last panel has no more vectors than it needs.
    auto tail = [&] {
      if (!isPacked)
        packInPlace(block, group, pixel, left);
      SmallVector<int64_t> counts = tailVectors();
      llvm::sort(counts);
      for (auto [i, vectors] : llvm::enumerate(counts)) {
        auto emit = [&, vectors = vectors] {
          emitTiles(vectors, block, group, from, to, pixel, left);
        };
        if (counts.size() == 1) {
          emit();
          continue;
        }
        Value above = k.index(i == 0 ? 0 : counts[i - 1] * tile.lanes);
        Value fits = arith::AndIOp::create(
            k.b, k.loc, math.compare(arith::CmpIPredicate::sgt, left, above),
            math.compare(arith::CmpIPredicate::sle, left, k.index(vectors * tile.lanes)));
        k.branch(fits, emit);
      }
    };
    if (tailVectors().empty())
      whole();
    else
      k.branch(math.compare(arith::CmpIPredicate::sge, left, width), whole, tail);
  });
}

/// The tiles of a packed panel.
void ConvEmitter::emitTiles(int64_t vectors, const OutputBlock &block, Value group, Value from,
                            Value to, Value pixel, Value valid) {
  TileShape shape = tile;
  shape.vectors = vectors;
  forTiles(k, split, tile, blocking.outputBlocks, from, to, [&](int64_t height, Value row) {
    shape.rows = height;
    emitTile(shape, row, block, group, pixel, valid);
  });
}

/// A vector of staged elements for pixels that may span rows.
Value ConvEmitter::loadAcrossRows(Value first, Value columnInRow, Value columns) {
  auto load = [&](Value at) -> Value {
    return vector::LoadOp::create(k.b, k.loc, vectorType, staging->memref(), at);
  };
  Value value = load(first);
  // A single row is never left.
  if (blocking.rows.isConstant(1) || blocking.columns.isConstant(0))
    return value;
  Value gap = math.sub(k.size(staging->rowPitch), columns);
  if (math.constantOf(gap) == 0)
    return value;
  auto indexType = VectorType::get({tile.lanes}, k.b.getI32Type());
  SmallVector<int32_t> iota =
      llvm::to_vector(llvm::seq<int32_t>(0, static_cast<int32_t>(tile.lanes)));
  Value lane = arith::ConstantOp::create(
      k.b, k.loc, DenseElementsAttr::get(indexType, ArrayRef<int32_t>(iota)));
  auto withRow = [&](Value ahead, Value sum) -> Value {
    // Lanes from `ahead` * columns - columnInRow on lie in that row.
    Value limit = math.sub(math.mul(ahead, columns), columnInRow);
    Value narrow = arith::IndexCastOp::create(k.b, k.loc, k.b.getI32Type(), limit);
    Value limits = vector::BroadcastOp::create(k.b, k.loc, indexType, narrow);
    Value inRow = arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::sge, lane, limits);
    Value other = load(math.add(first, math.mul(ahead, gap)));
    return arith::SelectOp::create(k.b, k.loc, inRow, other, sum);
  };
  if (auto known = math.constantOf(columns)) {
    // Vectors start at multiples of the lanes.
    int64_t step = std::gcd(*known, tile.lanes);
    int64_t crossings = (*known - step + tile.lanes - 1) / *known;
    for (int64_t ahead = 1; ahead <= crossings; ++ahead)
      value = withRow(k.index(ahead), value);
    return value;
  }
  Value crossings = math.div(math.add(columnInRow, tile.lanes - 1), math.max(columns, k.index(1)));
  return k.loop(k.index(1), math.add(crossings, 1), 1, value, [&](Value ahead, ValueRange carried) {
    return SmallVector<Value>{withRow(ahead, carried[0])};
  })[0];
}

void ConvEmitter::packStaged(const OutputBlock &block, Value pixel, Value pixels) {
  const Axis *axes = shape.axes;
  Value divisor = math.max(block.columns, k.index(1)), pitch = k.size(staging->rowPitch);
  SmallVector<Value, 4> starts, columnsInRow;
  for (int64_t v = 0; v < tile.vectors; ++v) {
    Value first = math.add(pixel, v * tile.lanes);
    // Vectors that have no pixel read the last one's.
    if (v > 0 && !tailVectors().empty())
      first = math.min(first, math.sub(pixels, k.index(1)));
    Value column = math.rem(first, divisor);
    starts.push_back(math.add(math.mul(math.div(first, divisor), pitch), column));
    columnsInRow.push_back(column);
  }
  Value channelPitch = k.size(staging->channelPitch);
  int64_t plane = axes[1].kernel * axes[2].kernel;
  k.loop(k.index(0), k.size(shape.channels), 1, [&](Value channel) {
    Value base = math.mul(channel, channelPitch);
    auto pack = [&](Value planeTap, Value rowTap, Value columnTap) {
      Value offset = math.add(base, staging->tapOffset(planeTap, rowTap, columnTap));
      Value at = math.add(math.mul(channel, axes[0].kernel), planeTap);
      at = math.add(math.mul(at, axes[1].kernel), rowTap);
      at = math.mul(math.add(math.mul(at, axes[2].kernel), columnTap), tile.columns());
      for (int64_t v = 0; v < tile.vectors; ++v) {
        Value value = loadAcrossRows(math.add(starts[v], offset), columnsInRow[v], block.columns);
        vector::StoreOp::create(k.b, k.loc, value, panel, ValueRange{math.add(at, v * tile.lanes)});
      }
    };
    k.loop(k.index(0), k.index(axes[0].kernel), 1, [&](Value planeTap) {
      if (plane <= unrolledTaps) {
        for (int64_t r = 0; r < axes[1].kernel; ++r)
          for (int64_t s = 0; s < axes[2].kernel; ++s)
            pack(planeTap, k.index(r), k.index(s));
        return;
      }
      k.loop(k.index(0), k.index(axes[1].kernel), 1, [&](Value r) {
        k.loop(k.index(0), k.index(axes[2].kernel), 1, [&](Value s) { pack(planeTap, r, s); });
      });
    });
  });
}

void ConvEmitter::packInPlace(const OutputBlock &block, Value group, Value pixel, Value valid) {
  Buffer x = k.inputBuffer(cast<BlockArgument>(spec.x).getArgNumber());
  Value image = k.index(1);
  for (const Axis &axis : shape.axes)
    image = math.mul(image, k.size(axis.in));
  Value channels = k.size(shape.channels);
  Value first = math.mul(
      math.add(math.mul(block.n, math.mul(channels, shape.group)), math.mul(group, channels)),
      image);
  first = math.add(first, math.add(pixel, firstPixel(block)));
  x.sizes = {k.size(elementCount(shapeOf(spec.x)))};
  if (!valid)
    return copyPanel(x.memref, first, image);
  Buffer target{panel, accumulator, {k.size(depth * Expr(tile.columns()))}};
  k.loop(k.index(0), channels, 1, [&](Value channel) {
    Value from = math.add(first, math.mul(channel, image));
    Value to = math.mul(channel, tile.columns());
    k.vectorLoop(k.index(0), valid, tile.lanes, [&](ElementBuilder &e, Value c) {
      e.store(e.load(x, {e.add(from, c)}), target, {e.add(to, c)});
    });
  });
}

/// Whole vectors of each channel's pixels, from `first` on; channels are `pitch` apart.
void ConvEmitter::copyPanel(Value memref, Value first, Value pitch) {
  k.loop(k.index(0), k.size(shape.channels), 1, [&](Value channel) {
    Value from = math.add(first, math.mul(channel, pitch));
    Value to = math.mul(channel, tile.columns());
    for (int64_t v = 0; v < tile.vectors; ++v) {
      Value value = vector::LoadOp::create(k.b, k.loc, vectorType, memref,
                                           ValueRange{math.add(from, v * tile.lanes)});
      vector::StoreOp::create(k.b, k.loc, value, panel, ValueRange{math.add(to, v * tile.lanes)});
    }
  });
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

void ConvEmitter::emitTile(const TileShape &tile, Value row, const OutputBlock &block, Value group,
                           Value pixel, Value validPixels) {
  Value depthValue = k.size(depth), width = k.index(this->tile.columns());
  // Weights of a group are outputs * depth elements in either layout; a tile's
  // are [k][row] when packed, else [row][k].
  Value base = math.mul(math.add(math.mul(group, outputs), row), depthValue);
  MicroKernel kernel(k, accumulator);
  SmallVector<Value> sums = kernel.run(
      tile, depthValue,
      [&](int64_t r, Value at) -> Value {
        Value position = weightsGiven ? math.add(math.add(base, math.mul(at, tile.rows)), r)
                                      : math.add(math.add(base, at), math.mul(depthValue, r));
        Value weight = memref::LoadOp::create(k.b, k.loc, weights, position);
        return weightsGiven ? weight : k.elements().convert(weight, type, accumulator);
      },
      [&](int64_t v, Value at) -> Value {
        return vector::LoadOp::create(k.b, k.loc, vectorType, panel,
                                      math.add(math.mul(at, width), v * tile.lanes));
      });
  Value column = math.add(pixel, phases ? block.column : firstPixel(block));
  Value channel = math.add(math.mul(group, outputs), row);
  storeTile(tile, sums, {channel, column, nullptr, validPixels});
}

/// Phases of the last dim are rows that follow each other: their sums meet.
void ConvEmitter::storeTile(const TileShape &tile, ArrayRef<Value> sums, Epilogue::Place place) {
  if (!phases)
    return epilogue->store(tile, sums, place);
  int64_t count = phases->strides[2];
  TileShape stored = {tile.rows / count, tile.vectors * count, tile.lanes};
  SmallVector<Value> merged;
  for (int64_t row = 0; row < tile.rows; row += count)
    for (int64_t v = 0; v < tile.vectors; ++v) {
      SmallVector<Value> turns;
      for (int64_t phase = 0; phase < count; ++phase)
        turns.push_back(sums[static_cast<size_t>((row + phase) * tile.vectors + v)]);
      Value whole = interleave(k.b, k.loc, turns);
      for (int64_t part = 0; part < count; ++part)
        merged.push_back(vector::ExtractStridedSliceOp::create(
            k.b, k.loc, whole, {part * tile.lanes}, {tile.lanes}, {1}));
    }
  place.row = math.div(place.row, k.index(count));
  place.column = math.mul(place.column, count);
  if (place.validColumns)
    place.validColumns = math.mul(place.validColumns, count);
  epilogue->store(stored, merged, place);
}

LogicalResult kiln::buildConvKernel(KernelBuilder &k, const ConvSpec &spec) {
  ConvShape shape(spec);
  if (shape.rank > 3)
    return failure();
  if (spec.producer && !joinsProducer(spec, *spec.producer))
    return failure();
  if (isDepthwise(shape))
    return buildDepthwiseKernel(k, spec, shape);
  if (auto weights = dyn_cast<BlockArgument>(spec.w)) {
    StringRef layout = k.layouts[weights.getArgNumber()];
    if (WinogradLayout::isOne(layout))
      return buildWinogradKernel(k, spec, shape, WinogradLayout::parse(layout));
    if (SubpixelLayout::isOne(layout)) {
      SubpixelLayout phases = SubpixelLayout::parse(layout);
      return ConvEmitter(k, spec, phases.shapeOf(shape), phases).emit();
    }
  }
  return ConvEmitter(k, spec, shape, std::nullopt).emit();
}
