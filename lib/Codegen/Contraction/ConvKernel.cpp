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

#include "Conv.h"
#include "Packing.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kiln;
using namespace kiln::contraction;

/// Bytes of staged input that leave room in the second-level cache.
static constexpr int64_t stagedBytes = 192 * 1024;
static constexpr int64_t wantedUnits = 16;
/// Outputs a unit should have at least: fewer would not pay for packing.
static constexpr int64_t leastOutputs = 48;
/// Taps of a plane up to which packing has no loop over them.
static constexpr int64_t unrolledTaps = 9;

namespace {
class ConvEmitter {
public:
  ConvEmitter(KernelBuilder &k, const ConvSpec &spec, const ConvShape &shape);
  LogicalResult emit();

private:
  /// How outputs are cut into units.
  struct Blocking {
    Expr rows = 1, columns = 1;
    Expr rowBlocks = 1, columnBlocks = 1;
    int64_t outputBlocks = 1;
  };
  Blocking chooseBlocking() const;
  int64_t chooseRows(int64_t outRows, int64_t outColumns) const;
  bool readsInPlace() const;

  void emitUnits();
  void emitPanels(const OutputBlock &block, Value group, Value from, Value to);
  void emitPanel(int64_t vectors, const OutputBlock &block, Value group, Value from, Value to,
                 Value pixel, Value pixels);
  void packStaged(int64_t vectors, const OutputBlock &block, Value pixel, Value pixels);
  void packInPlace(int64_t vectors, const OutputBlock &block, Value group, Value pixel,
                   Value pixels);
  Value loadAcrossRows(Value first, Value columnInRow, Value columns);
  /// Number of the block's first pixel within its image and channel.
  Value firstPixel(const OutputBlock &block) {
    Value row = math.add(math.mul(block.plane, k.size(shape.axes[1].out)), block.row);
    return math.add(math.mul(row, k.size(shape.axes[2].out)), block.column);
  }
  void emitTile(const TileShape &tile, Value row, const OutputBlock &block, Value group,
                Value pixel, Value validPixels);

  KernelBuilder &k;
  const ConvSpec &spec;
  const ConvShape &shape;
  IndexMath math;
  Type type, accumulator;
  VectorType vectorType;
  TileShape tile;
  RowSplit split;
  int64_t outputs = 0;
  Expr depth;
  bool weightsGiven = false;
  bool flatPixels = false;
  Blocking blocking;
  std::optional<Staging> staging;
  std::optional<Epilogue> epilogue;
  Value panel, weights;
  /// Of the unit at hand.
  Value image;
};
} // namespace

std::string kiln::convLayout(const ConvSpec &spec, const VectorTarget &target) {
  ConvShape shape(spec);
  if (shape.rank > 3 || isDepthwise(shape))
    return "";
  TileShape tile = chooseTile(target, accumulatorType(elementTypeOf(spec.w)), std::nullopt);
  return RowLayout{tile.rows, tile.vectors, spec.group, spec.transposed}.str();
}

ConvEmitter::ConvEmitter(KernelBuilder &k, const ConvSpec &spec, const ConvShape &shape)
    : k(k), spec(spec), shape(shape), math(k.b, k.loc), type(elementTypeOf(spec.x)),
      accumulator(accumulatorType(type)) {}

/// Rows a unit, for known sizes: as many whole vectors as can be.
int64_t ConvEmitter::chooseRows(int64_t outRows, int64_t outColumns) const {
  const Axis &rows = shape.axes[1], &columns = shape.axes[2];
  int64_t images = shape.batch.constant().value_or(1) * shape.group;
  int64_t perRow = shape.channels.constant().value_or(64) * shape.axes[0].kernel * rows.phases() *
                   columns.phases() * (outColumns + columns.aheadOf(columns.kernel - 1)) *
                   accumulator.getIntOrFloatBitWidth() / 8;
  int64_t halo = rows.aheadOf(rows.kernel - 1);
  int64_t most = std::max<int64_t>(1, stagedBytes / std::max<int64_t>(1, perRow) - halo);
  int64_t least = llvm::divideCeil(2 * tile.columns(), outColumns);
  most = std::max(least, std::min(most, static_cast<int64_t>(
                                            llvm::divideCeil(outRows * images, wantedUnits / 2))));
  most = std::min(most, outRows);
  least = std::min(least, most);
  auto vectors = [&](int64_t count) {
    auto cost = [&](int64_t r) {
      return static_cast<int64_t>(llvm::divideCeil(r * outColumns, tile.lanes));
    };
    return outRows / count * cost(count) + cost(outRows % count);
  };
  int64_t best = most;
  for (int64_t count = most; count >= least; --count)
    if (vectors(count) < vectors(best))
      best = count;
  return best;
}

ConvEmitter::Blocking ConvEmitter::chooseBlocking() const {
  const Axis &rows = shape.axes[1], &columns = shape.axes[2];
  Blocking result;
  result.columns = columns.out;
  auto outRows = rows.out.constant(), outColumns = columns.out.constant();
  if (rows.out.isConstant(1)) {
    // A single row is cut along its columns.
    int64_t width = 8 * tile.columns();
    if (outColumns)
      width = std::min<int64_t>(
          width, llvm::alignTo(llvm::divideCeil(std::max<int64_t>(*outColumns, 1), wantedUnits / 2),
                               tile.columns()));
    result.columns = width;
    result.columnBlocks = Expr::ceilDiv(columns.out, width);
  } else if (outRows && outColumns && *outRows > 0 && *outColumns > 0) {
    result.rows = chooseRows(*outRows, *outColumns);
  } else {
    // Unknown images are taken to be neither tiny nor huge.
    result.rows = 4;
  }
  result.rowBlocks = Expr::ceilDiv(rows.out, result.rows);
  Expr units =
      shape.batch * Expr(shape.group) * shape.axes[0].out * result.rowBlocks * result.columnBlocks;
  if (units.constant() && *units.constant() > 0 && *units.constant() < wantedUnits)
    result.outputBlocks =
        std::min(static_cast<int64_t>(llvm::divideCeil(wantedUnits, *units.constant())),
                 std::max<int64_t>(1, outputs / leastOutputs));
  return result;
}

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
  if (weightsGiven) {
    RowLayout given = RowLayout::parse(layout);
    tile.rows = given.rows, tile.vectors = given.vectors;
  }
  vectorType = VectorType::get({tile.lanes}, accumulator);
  outputs = *shape.outputs;
  split = splitRows(outputs, tile);
  depth = shape.channels * Expr(shape.taps());
  blocking = chooseBlocking();
  flatPixels = canCollapse(k, spec.anchor, 2, shape.rank + 2);

  image = k.index(0);
  epilogue.emplace(k, spec.anchor, tile, [this](ElementBuilder &e, Value row, Value column) {
    SmallVector<Value> spatial(3, e.index(0));
    if (flatPixels)
      spatial[2] = column;
    else
      spatial = e.delinearize(column, {k.size(shape.axes[0].out), k.size(shape.axes[1].out),
                                       k.size(shape.axes[2].out)});
    return shape.index(image, row, spatial);
  });
  Expr panelElements = depth * Expr(tile.columns());
  panel = k.scratchBuffer(
      k.reserveScratch(panelElements * Expr(accumulator.getIntOrFloatBitWidth() / 8)),
      panelElements, accumulator);
  if (!readsInPlace()) {
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
  k.setUnits(units, Expr::floorDiv(products * Expr(200), tile.lanes) + Expr(20000));
  emitUnits();
  return success();
}

void ConvEmitter::emitUnits() {
  SmallVector<Value> sizes = {k.size(shape.batch), k.index(shape.group), k.size(shape.axes[0].out),
                              k.size(blocking.rowBlocks), k.size(blocking.columnBlocks)};
  Value rows = k.size(blocking.rows), columns = k.size(blocking.columns);
  forUnits(k, k.index(blocking.outputBlocks), [&](Value outer, Value from, Value to) {
    Index at = k.elements().delinearize(outer, sizes);
    image = at[0];
    OutputBlock block;
    block.n = at[0];
    block.plane = at[2];
    block.row = math.mul(at[3], rows);
    block.column = math.mul(at[4], columns);
    auto upTo = [&](Value wanted, Value start, const Expr &all) {
      return math.min(wanted, math.sub(k.size(all), start));
    };
    block.rows = upTo(rows, block.row, shape.axes[1].out);
    block.columns = upTo(columns, block.column, shape.axes[2].out);
    if (blocking.rowBlocks.isConstant(1))
      block.rows = k.size(shape.axes[1].out);
    if (blocking.columnBlocks.isConstant(1))
      block.columns = k.size(shape.axes[2].out);
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
  Value rest = math.rem(pixels, width), whole = math.sub(pixels, rest);
  k.loop(k.index(0), whole, tile.columns(),
         [&](Value pixel) { emitPanel(tile.vectors, block, group, from, to, pixel, nullptr); });
  // What remains gets a panel of no more vectors than it needs.
  auto known = math.constantOf(rest);
  for (int64_t vectors = 1; vectors <= tile.vectors; ++vectors) {
    int64_t most = vectors * tile.lanes, least = most - tile.lanes;
    // Of unknown remainders, all but the small ones share one.
    bool last = vectors == tile.vectors;
    if (known ? *known <= least || *known > most : vectors > 1 && !last)
      continue;
    if (!known && last)
      least = tile.vectors > 1 ? tile.lanes : 0;
    Value fits = arith::AndIOp::create(
        k.b, k.loc, math.compare(arith::CmpIPredicate::sgt, rest, k.index(least)),
        math.compare(arith::CmpIPredicate::sle, rest, k.index(most)));
    auto emit = [&] { emitPanel(vectors, block, group, from, to, whole, pixels); };
    if (known)
      emit();
    else
      k.branch(fits, emit);
  }
}

void ConvEmitter::emitPanel(int64_t vectors, const OutputBlock &block, Value group, Value from,
                            Value to, Value pixel, Value pixels) {
  if (staging)
    packStaged(vectors, block, pixel, pixels);
  else
    packInPlace(vectors, block, group, pixel, pixels);
  Value valid = pixels ? math.sub(pixels, pixel) : Value();
  TileShape shape = tile;
  shape.vectors = vectors;
  Value blocks = k.index(blocking.outputBlocks), full = k.index(split.full);
  auto tileAt = [&](Value block) { return math.div(math.mul(block, full), blocks); };
  if (split.full > 0)
    k.loop(math.mul(tileAt(from), tile.rows), math.mul(tileAt(to), tile.rows), tile.rows,
           [&](Value row) { emitTile(shape, row, block, group, pixel, valid); });
  if (split.rest.empty())
    return;
  auto rest = [&] {
    int64_t row = split.full * tile.rows;
    for (int64_t rows : split.rest) {
      shape.rows = rows;
      emitTile(shape, k.index(row), block, group, pixel, valid);
      row += rows;
    }
  };
  if (blocking.outputBlocks == 1)
    rest();
  else
    k.branch(math.compare(arith::CmpIPredicate::eq, to, blocks), rest);
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

void ConvEmitter::packStaged(int64_t vectors, const OutputBlock &block, Value pixel, Value pixels) {
  const Axis *axes = shape.axes;
  Value divisor = math.max(block.columns, k.index(1)), pitch = k.size(staging->rowPitch);
  SmallVector<Value, 4> starts, columnsInRow;
  for (int64_t v = 0; v < vectors; ++v) {
    Value first = math.add(pixel, v * tile.lanes);
    if (pixels && v > 0)
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
      for (int64_t v = 0; v < vectors; ++v) {
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

void ConvEmitter::packInPlace(int64_t vectors, const OutputBlock &block, Value group, Value pixel,
                              Value pixels) {
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
  Buffer target{panel, accumulator, {k.size(depth * Expr(tile.columns()))}};
  k.loop(k.index(0), channels, 1, [&](Value channel) {
    Value from = math.add(first, math.mul(channel, image));
    Value to = math.mul(channel, tile.columns());
    if (!pixels) {
      for (int64_t v = 0; v < vectors; ++v) {
        Value value = vector::LoadOp::create(k.b, k.loc, vectorType, x.memref,
                                             ValueRange{math.add(from, v * tile.lanes)});
        vector::StoreOp::create(k.b, k.loc, value, panel, ValueRange{math.add(to, v * tile.lanes)});
      }
      return;
    }
    k.vectorLoop(k.index(0), math.sub(pixels, pixel), tile.lanes, [&](ElementBuilder &e, Value c) {
      e.store(e.load(x, {e.add(from, c)}), target, {e.add(to, c)});
    });
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
  Value column = math.add(pixel, firstPixel(block));
  Value channel = math.add(math.mul(group, outputs), row);
  epilogue->store(tile, sums, {channel, column, nullptr, validPixels});
}

LogicalResult kiln::buildConvKernel(KernelBuilder &k, const ConvSpec &spec) {
  ConvShape shape(spec);
  if (shape.rank > 3)
    return failure();
  if (isDepthwise(shape))
    return buildDepthwiseKernel(k, spec, shape);
  return ConvEmitter(k, spec, shape).emit();
}
