//===- WinogradKernel.cpp - Minimal filtering: the kernel -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An image's tiles are numbered row by row. A unit computes a block of
// neighbouring tiles for some of the outputs. It transforms the input of all
// channels under its tiles, [point][channel][tile]; then, for a few outputs at
// a time, it multiplies point by point, [point][output][tile], and transforms
// back. Lanes are neighbouring tiles: an element of a tile lies m columns from
// the same element of the next, so vectors of m * lanes columns are taken apart
// before the transform along rows and put together after it.
//
// Vectors that reach past a row of tiles, or past the block, compute something
// that nobody reads: what follows in the order of work overwrites it, and
// buffers have room for the last.
//
//===----------------------------------------------------------------------===//

#include "Winograd.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kiln;
using namespace kiln::contraction;

namespace {

class WinogradEmitter {
public:
  WinogradEmitter(KernelBuilder &k, const ConvSpec &spec, const ConvShape &shape,
                  const WinogradLayout &layout);
  LogicalResult emit();

private:
  /// A run of tiles of one row of tiles: [from, to) of row `y`.
  struct Segment {
    Value y, from, to;
  };
  void forSegments(function_ref<void(const Segment &)> body);
  void transformInput(Value firstChannel);
  void transformRows(const Segment &segment);
  void transformColumns(const Segment &segment, Value channel);
  void emitTile(int64_t height, Value row, Value group);
  void multiply(int64_t height, int64_t vectors, Value row, Value group);
  void transformOutput(Value r, Value channel, const Segment &segment);
  void storeOutput(Value channel, const Segment &segment, Value tile, Value row, Value i);

  SmallVector<Value> byInput(ArrayRef<Value> x);
  SmallVector<Value> byOutput(ArrayRef<Value> x);
  Value combine(ArrayRef<double> factors, ArrayRef<Value> x);
  Value load(Value memref, Value at, int64_t count) {
    return vector::LoadOp::create(k.b, k.loc, VectorType::get({count}, type), memref, at);
  }
  void store(Value value, Value memref, Value at) {
    vector::StoreOp::create(k.b, k.loc, value, memref, at);
  }
  /// Number of a tile of the segment's row within the block.
  Value inBlock(const Segment &segment, Value tile) {
    return math.sub(math.add(math.mul(segment.y, tilesX), tile), first);
  }
  /// Elements of the transformed input a point: the last channel's last vector
  /// may reach past the block.
  int64_t inputPitch() const { return channels * tile.columns() + lanes; }
  double inputCost() const;
  int64_t chooseOutputBlocks() const;

  KernelBuilder &k;
  const ConvSpec &spec;
  const ConvShape &shape;
  IndexMath math;
  Type type;
  const WinogradTransform &transform;
  int64_t m, points, channels, outputs, lanes;
  TileShape tile;
  RowSplit split;
  int64_t outputBlocks = 1;
  Expr columnTiles, rowTiles, tiles, linePitch;
  std::optional<Staging> staging;
  Value tilesX, weights, line, input, product;
  Buffer result;
  /// Of the unit at hand: image, input block, first tile, end of tiles.
  OutputBlock block;
  Value first, end, rowFrom, rowTo;
};

} // namespace

WinogradEmitter::WinogradEmitter(KernelBuilder &k, const ConvSpec &spec, const ConvShape &shape,
                                 const WinogradLayout &layout)
    : k(k), spec(spec), shape(shape), math(k.b, k.loc), type(elementTypeOf(spec.x)),
      transform(WinogradTransform::get(layout.outputs)), m(layout.outputs),
      points(transform.points()), channels(*shape.channels.constant()), outputs(*shape.outputs),
      lanes(k.target.lanes(type)) {
  tile = {layout.rows, layout.vectors, lanes};
  split = splitRows(outputs, tile);
  columnTiles = Expr::ceilDiv(shape.axes[2].out, m);
  rowTiles = Expr::ceilDiv(shape.axes[1].out, m);
  tiles = columnTiles * rowTiles;
}

//===----------------------------------------------------------------------===//
// Products with the matrices
//===----------------------------------------------------------------------===//

Value WinogradEmitter::combine(ArrayRef<double> factors, ArrayRef<Value> x) {
  Value sum;
  // What needs no product first: then every other one joins a sum.
  for (bool unit : {true, false})
    for (auto [factor, value] : llvm::zip_equal(factors, x)) {
      if (factor == 0 || (std::abs(factor) == 1) != unit)
        continue;
      if (unit && sum) {
        sum = factor > 0 ? Value(arith::AddFOp::create(k.b, k.loc, sum, value))
                         : Value(arith::SubFOp::create(k.b, k.loc, sum, value));
        continue;
      }
      if (factor == 1) {
        sum = value;
        continue;
      }
      Value scale = arith::ConstantOp::create(
          k.b, k.loc,
          DenseElementsAttr::get(cast<VectorType>(value.getType()), static_cast<float>(factor)));
      sum = sum ? Value(vector::FMAOp::create(k.b, k.loc, value, scale, sum))
                : Value(arith::MulFOp::create(k.b, k.loc, value, scale));
    }
  return sum;
}

/// Bt x. Two neighbouring rows that differ in the signs of some terms only are
/// sum and difference of the same two parts.
SmallVector<Value> WinogradEmitter::byInput(ArrayRef<Value> x) {
  auto n = static_cast<size_t>(points);
  SmallVector<Value> result;
  for (size_t row = 0; row < n; ++row) {
    ArrayRef<double> here = transform.input.slice(row * n, n);
    SmallVector<double> same(n, 0), opposite(n, 0);
    bool paired = row + 1 < n;
    for (size_t j = 0; paired && j < n; ++j) {
      double other = transform.input[(row + 1) * n + j];
      (other == here[j] ? same : opposite)[j] = here[j];
      paired = std::abs(other) == std::abs(here[j]);
    }
    if (!paired) {
      result.push_back(combine(here, x));
      continue;
    }
    Value even = combine(same, x), odd = combine(opposite, x);
    result.push_back(arith::AddFOp::create(k.b, k.loc, even, odd));
    result.push_back(arith::SubFOp::create(k.b, k.loc, even, odd));
    ++row;
  }
  return result;
}

/// At x. All rows see the sum or the difference of x[j] and x[j + 1] for odd j,
/// the points a and -a.
SmallVector<Value> WinogradEmitter::byOutput(ArrayRef<Value> x) {
  auto n = static_cast<size_t>(points);
  SmallVector<Value> sums, differences;
  for (size_t j = 1; j + 2 < n; j += 2) {
    sums.push_back(arith::AddFOp::create(k.b, k.loc, x[j], x[j + 1]));
    differences.push_back(arith::SubFOp::create(k.b, k.loc, x[j], x[j + 1]));
  }
  SmallVector<Value> result;
  for (size_t row = 0; row < static_cast<size_t>(m); ++row) {
    ArrayRef<double> here = transform.output.slice(row * n, n);
    SmallVector<double> factors;
    SmallVector<Value> terms;
    auto take = [&](size_t j, Value value) {
      factors.push_back(here[j]);
      terms.push_back(value);
    };
    size_t j = 1;
    take(0, x[0]);
    for (size_t pair = 0; pair < sums.size(); ++pair, j += 2)
      take(j, here[j] == here[j + 1] ? sums[pair] : differences[pair]);
    for (; j < n; ++j)
      take(j, x[j]);
    result.push_back(combine(factors, terms));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Input
//===----------------------------------------------------------------------===//

void WinogradEmitter::forSegments(function_ref<void(const Segment &)> body) {
  k.loop(rowFrom, rowTo, 1, [&](Value y) {
    Value start = math.mul(y, tilesX);
    body({y, math.max(math.sub(first, start), k.index(0)), math.min(math.sub(end, start), tilesX)});
  });
}

void WinogradEmitter::transformInput(Value firstChannel) {
  k.loop(k.index(0), k.index(channels), 1, [&](Value channel) {
    staging->fill(block, math.add(firstChannel, channel), k.index(1));
    forSegments([&](const Segment &segment) {
      transformRows(segment);
      transformColumns(segment, channel);
    });
  });
}

/// Bt d for all columns under the segment, which neighbouring tiles share.
void WinogradEmitter::transformRows(const Segment &segment) {
  Value pitch = k.size(staging->rowPitch);
  Value top = math.mul(math.mul(math.sub(segment.y, rowFrom), m), pitch);
  k.loop(math.mul(segment.from, m), math.add(math.mul(segment.to, m), 2), lanes, [&](Value x) {
    SmallVector<Value> rows;
    for (int64_t i = 0; i < points; ++i)
      rows.push_back(
          load(staging->memref(), math.add(math.add(top, x), math.mul(pitch, i)), lanes));
    for (auto [i, value] : llvm::enumerate(byInput(rows)))
      store(value, line, math.add(math.mul(k.size(linePitch), static_cast<int64_t>(i)), x));
  });
}

void WinogradEmitter::transformColumns(const Segment &segment, Value channel) {
  Value plane = k.index(inputPitch());
  k.loop(segment.from, segment.to, lanes, [&](Value x) {
    Value at = math.add(math.mul(channel, tile.columns()), inBlock(segment, x));
    for (int64_t i = 0; i < points; ++i) {
      Value column = math.add(math.mul(k.size(linePitch), i), math.mul(x, m));
      // Element j of all tiles is column m * x + j.
      SmallVector<Value> elements;
      for (int64_t j = 0; j < points; ++j) {
        Value wide = load(line, math.add(column, j / m * m), m * lanes);
        SmallVector<int64_t> every;
        for (int64_t lane = 0; lane < lanes; ++lane)
          every.push_back(lane * m + j % m);
        elements.push_back(vector::ShuffleOp::create(k.b, k.loc, wide, wide, every));
      }
      for (auto [j, value] : llvm::enumerate(byInput(elements)))
        store(value, input, math.add(math.mul(plane, i * points + static_cast<int64_t>(j)), at));
    }
  });
}

//===----------------------------------------------------------------------===//
// Products and output
//===----------------------------------------------------------------------===//

void WinogradEmitter::multiply(int64_t height, int64_t vectors, Value row, Value group) {
  TileShape shape = {height, vectors, lanes};
  Value plane = k.index(inputPitch());
  Value base = math.mul(math.add(math.mul(group, outputs), row), points * points * channels);
  MicroKernel kernel(k, type);
  k.loop(k.index(0), k.index(points * points), 1, [&](Value point) {
    Value from = math.add(base, math.mul(point, channels * height));
    Value columns = math.mul(point, plane);
    SmallVector<Value> sums = kernel.run(
        shape, k.index(channels),
        [&](int64_t r, Value at) -> Value {
          Value position = math.add(math.add(from, math.mul(at, height)), r);
          return memref::LoadOp::create(k.b, k.loc, weights, position);
        },
        [&](int64_t v, Value at) -> Value {
          return load(input, math.add(math.add(columns, math.mul(at, tile.columns())), v * lanes),
                      lanes);
        });
    for (int64_t r = 0; r < height; ++r)
      for (int64_t v = 0; v < vectors; ++v) {
        Value at = math.mul(math.add(math.mul(point, tile.rows), r), tile.columns());
        store(sums[static_cast<size_t>(r * vectors + v)], product, math.add(at, v * lanes));
      }
  });
}

void WinogradEmitter::emitTile(int64_t height, Value row, Value group) {
  // The last block of tiles may fill one vector at most.
  auto known = tiles.constant();
  int64_t last = known ? *known % tile.columns() : 1;
  if (tile.vectors == 2 && last > 0 && last <= lanes)
    k.branch(
        math.compare(arith::CmpIPredicate::sgt, math.sub(end, first), k.index(lanes)),
        [&] { multiply(height, 2, row, group); }, [&] { multiply(height, 1, row, group); });
  else
    multiply(height, tile.vectors, row, group);
  k.loop(k.index(0), k.index(height), 1, [&](Value r) {
    Value channel = math.add(math.add(math.mul(group, outputs), row), r);
    forSegments([&](const Segment &segment) { transformOutput(r, channel, segment); });
  });
}

void WinogradEmitter::transformOutput(Value r, Value channel, const Segment &segment) {
  k.loop(segment.from, segment.to, lanes, [&](Value x) {
    Value at = math.add(math.mul(r, tile.columns()), inBlock(segment, x));
    // Along columns, then along rows.
    SmallVector<SmallVector<Value>> columns;
    for (int64_t j = 0; j < points; ++j) {
      SmallVector<Value> column;
      for (int64_t i = 0; i < points; ++i) {
        Value plane = k.index((i * points + j) * tile.rows * tile.columns());
        column.push_back(load(product, math.add(plane, at), lanes));
      }
      columns.push_back(byOutput(column));
    }
    for (int64_t i = 0; i < m; ++i) {
      SmallVector<Value> row;
      for (SmallVector<Value> &column : columns)
        row.push_back(column[static_cast<size_t>(i)]);
      Value whole = interleave(k.b, k.loc, byOutput(row));
      store(whole, result.memref, k.index(i * m * lanes));
    }
    k.loop(k.index(0), k.index(m), 1, [&](Value i) {
      Value row = math.add(math.mul(segment.y, m), i);
      k.branch(math.compare(arith::CmpIPredicate::slt, row, k.size(shape.axes[1].out)),
               [&] { storeOutput(channel, segment, x, row, i); });
    });
  });
}

/// The columns of a row of outputs that the vector of tiles from `tile` on has.
void WinogradEmitter::storeOutput(Value channel, const Segment &segment, Value tile, Value row,
                                  Value i) {
  Value from = math.mul(tile, m), width = k.size(shape.axes[2].out);
  Value to = math.min(math.mul(math.min(math.add(tile, lanes), segment.to), m), width);
  auto emit = [&](Value lower, Value upper, int64_t step) {
    k.vectorLoop(lower, upper, step, [&](ElementBuilder &e, Value column) {
      e.setSource(spec.anchor->getResult(0), [&](ElementBuilder &e, ArrayRef<Value>) {
        return e.load(result, {i, e.sub(column, from)});
      });
      k.storeResults(e, shape.index(block.n, channel, {k.index(0), row, column}));
    });
  };
  // Rows end in shorter vectors where their width allows.
  auto known = shape.axes[2].out.constant();
  int64_t rest = known ? *known % lanes : 0;
  int64_t shorter = rest & -rest;
  if (shorter < 2)
    return emit(from, to, lanes);
  Value whole = k.endOfVectors(from, to, lanes);
  emit(from, whole, lanes);
  emit(whole, to, shorter);
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

/// About how many vector instructions transforming the input of a unit takes.
double WinogradEmitter::inputCost() const {
  return 4.0 * static_cast<double>(points * points * channels * tile.vectors);
}

/// A unit more a block of tiles transforms the input once more.
int64_t WinogradEmitter::chooseOutputBlocks() const {
  auto known = tiles.constant();
  int64_t tileBlocks = known ? std::max<int64_t>(1, llvm::divideCeil(*known, tile.columns())) : 8;
  double products = static_cast<double>(points * points * channels * outputs * tile.vectors);
  double least = std::numeric_limits<double>::infinity();
  int64_t best = 1;
  for (int64_t blocks = 1; blocks <= std::min<int64_t>(16, std::max<int64_t>(1, split.full));
       blocks *= 2) {
    double units = static_cast<double>(tileBlocks * blocks);
    double cycles =
        static_cast<double>(tileBlocks) * (products + static_cast<double>(blocks) * inputCost());
    cycles *= sharingLoss(units);
    if (cycles < least) {
      least = cycles;
      best = blocks;
    }
  }
  return best;
}

LogicalResult WinogradEmitter::emit() {
  for (Value value : k.results())
    if (shapeOf(value) != shapeOf(spec.anchor->getResult(0)))
      return failure();
  int64_t square = points * points, bytes = type.getIntOrFloatBitWidth() / 8;
  outputBlocks = chooseOutputBlocks();
  linePitch = columnTiles * Expr(m) + Expr((m + 1) * lanes + m);
  Expr lineCount = linePitch * Expr(points);
  int64_t inputCount = square * inputPitch(),
          productCount = square * tile.rows * tile.columns() + lanes;
  Expr lineAt = k.reserveScratch(lineCount * Expr(bytes)),
       inputAt = k.reserveScratch(inputCount * bytes),
       productAt = k.reserveScratch(productCount * bytes),
       resultAt = k.reserveScratch(m * m * lanes * bytes);
  // So many rows can the tiles of a block lie in.
  Expr rows = Expr::min(rowTiles, Expr::ceilDiv(Expr(tile.columns() - 1), columnTiles) + Expr(1));
  staging.emplace(k, spec, shape, 1, rows * Expr(m), columnTiles * Expr(m), 2 * lanes);
  line = k.scratchBuffer(lineAt, lineCount, type);
  input = k.scratchBuffer(inputAt, inputCount, type);
  product = k.scratchBuffer(productAt, productCount, type);
  result = {k.scratchBuffer(resultAt, m * m * lanes, type), type, {k.index(m), k.index(m * lanes)}};
  weights = memref::ViewOp::create(k.b, k.loc, MemRefType::get({ShapedType::kDynamic}, type),
                                   k.inputBuffer(cast<BlockArgument>(spec.w).getArgNumber()).memref,
                                   k.index(0),
                                   ValueRange{k.index(shape.group * outputs * square * channels)});
  Expr blocks = Expr::ceilDiv(tiles, tile.columns());
  double products = static_cast<double>(square * channels * outputs * tile.vectors);
  double picoseconds = 350 * (products / static_cast<double>(outputBlocks) + inputCost());
  k.setUnits(shape.batch * Expr(shape.group) * blocks * Expr(outputBlocks),
             static_cast<int64_t>(picoseconds));

  tilesX = k.size(columnTiles);
  staging->prepare();
  SmallVector<Value> sizes = {k.size(shape.batch), k.index(shape.group), k.size(blocks)};
  forUnits(k, k.index(outputBlocks), [&](Value outer, Value from, Value to) {
    Index at = k.elements().delinearize(outer, sizes);
    Value group = at[1];
    first = math.mul(at[2], tile.columns());
    end = math.min(math.add(first, tile.columns()), k.size(tiles));
    rowFrom = math.div(first, tilesX);
    rowTo = math.ceilDiv(end, tilesX);
    block = {at[0],
             k.index(0),
             math.mul(rowFrom, m),
             math.mul(math.sub(rowTo, rowFrom), m),
             k.index(0),
             k.size(columnTiles * Expr(m))};
    transformInput(math.mul(group, channels));
    forTiles(k, split, tile, outputBlocks, from, to,
             [&](int64_t height, Value row) { emitTile(height, row, group); });
  });
  return success();
}

LogicalResult contraction::buildWinogradKernel(KernelBuilder &k, const ConvSpec &spec,
                                               const ConvShape &shape,
                                               const WinogradLayout &layout) {
  return WinogradEmitter(k, spec, shape, layout).emit();
}
