//===- MicroKernel.cpp - Sums of products in registers --------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kiln;
using namespace kiln::contraction;

/// Sums that must be under way at once to hide the latency of an FMA.
static constexpr int64_t minChains = 8;

Type kiln::accumulatorType(Type elementType) {
  if (isa<FloatType>(elementType))
    return elementType.getIntOrFloatBitWidth() < 32 ? Float32Type::get(elementType.getContext())
                                                    : elementType;
  return IntegerType::get(elementType.getContext(), elementType.getIntOrFloatBitWidth());
}

/// Rows such that accumulators, vectors of B and a broadcast fit in registers.
static int64_t rowsFor(const VectorTarget &target, int64_t vectors) {
  if (target.vectorRegisters >= 32)
    return vectors == 1 ? 14 : 24 / vectors;
  // Without FMA each product needs a register of its own.
  return target.fma ? (vectors == 1 ? 8 : 12 / vectors) : 8 / vectors;
}

TileShape contraction::tileOfWidth(const VectorTarget &target, Type accumulator, int64_t width) {
  TileShape tile;
  tile.lanes = target.lanes(accumulator);
  tile.vectors = width / tile.lanes;
  tile.rows = rowsFor(target, tile.vectors);
  return tile;
}

TileShape contraction::chooseTile(const VectorTarget &target, Type accumulator,
                                  std::optional<int64_t> columns) {
  // In order of preference where padding does not decide.
  static constexpr int64_t wide[] = {2, 3, 4, 1}, narrow[] = {2, 1};
  int64_t lanes = target.lanes(accumulator);
  ArrayRef<int64_t> choices = target.vectorRegisters >= 32 ? ArrayRef(wide) : ArrayRef(narrow);
  int64_t best = choices.front();
  if (columns) {
    auto padded = [&](int64_t vectors) {
      return llvm::alignTo(static_cast<uint64_t>(*columns), static_cast<uint64_t>(vectors * lanes));
    };
    for (int64_t vectors : choices)
      if (padded(vectors) < padded(best))
        best = vectors;
  }
  return tileOfWidth(target, accumulator, best * lanes);
}

RowSplit contraction::splitRows(int64_t rows, const TileShape &tile) {
  RowSplit split;
  split.full = rows / tile.rows;
  int64_t rest = rows % tile.rows;
  if (rest == 0)
    return split;
  if (split.full > 0 && rest * tile.vectors < minChains) {
    // A thin last tile would wait for its own sums: share with a full one.
    --split.full;
    rest += tile.rows;
    split.rest = {(rest + 1) / 2, rest / 2};
  } else {
    split.rest = {rest};
  }
  return split;
}

void contraction::forTiles(KernelBuilder &k, const RowSplit &split, const TileShape &tile,
                           int64_t blocks, Value from, Value to,
                           function_ref<void(int64_t, Value)> body) {
  IndexMath math(k.b, k.loc);
  Value all = k.index(blocks), full = k.index(split.full);
  auto firstRow = [&](Value block) {
    return math.mul(math.div(math.mul(block, full), all), tile.rows);
  };
  if (split.full > 0)
    k.loop(firstRow(from), firstRow(to), tile.rows, [&](Value row) { body(tile.rows, row); });
  if (split.rest.empty())
    return;
  auto rest = [&] {
    int64_t row = split.full * tile.rows;
    for (int64_t height : split.rest) {
      body(height, k.index(row));
      row += height;
    }
  };
  if (blocks == 1)
    rest();
  else
    k.branch(math.compare(arith::CmpIPredicate::eq, to, all), rest);
}

void contraction::forRows(KernelBuilder &k, Value from, Value to, const TileShape &tile,
                          function_ref<void(int64_t, Value, Value)> body) {
  IndexMath math(k.b, k.loc);
  auto first = IndexMath::constantOf(from), last = IndexMath::constantOf(to);
  if (first && last) {
    RowSplit split = splitRows(*last - *first, tile);
    int64_t row = *first + split.full * tile.rows;
    if (split.full > 0)
      k.loop(from, k.index(row), tile.rows, [&](Value at) { body(tile.rows, at, nullptr); });
    for (int64_t height : split.rest) {
      body(height, k.index(row), nullptr);
      row += height;
    }
    return;
  }
  Value end = math.sub(to, math.rem(math.sub(to, from), k.index(tile.rows)));
  k.loop(from, end, tile.rows, [&](Value row) { body(tile.rows, row, nullptr); });
  // As few rows as keep the units busy; one row has a tile of its own.
  int64_t step = thinRows(tile);
  k.loop(end, to, step, [&](Value row) {
    Value left = math.sub(to, row), one = k.index(1);
    k.branch(math.compare(arith::CmpIPredicate::eq, left, one), [&] { body(1, row, nullptr); });
    if (step > 1)
      k.branch(math.compare(arith::CmpIPredicate::sgt, left, one), [&] { body(step, row, left); });
  });
}

int64_t contraction::thinRows(const TileShape &tile) {
  return std::min<int64_t>(llvm::divideCeil(minChains, tile.vectors), tile.rows);
}

Value MicroKernel::multiplyAdd(Value a, Value b, Value sum) {
  if (isa<FloatType>(type))
    return vector::FMAOp::create(k.b, k.loc, a, b, sum);
  return arith::AddIOp::create(k.b, k.loc, sum, arith::MulIOp::create(k.b, k.loc, a, b));
}

SmallVector<Value> MicroKernel::run(const TileShape &tile, Value depth, LoadA a, LoadB b) {
  auto vectorType = VectorType::get({tile.lanes}, type);
  Value zero = arith::ConstantOp::create(k.b, k.loc, k.b.getZeroAttr(vectorType));
  int64_t count = tile.rows * tile.vectors;
  // Few sums: let neighbouring k have sums of their own.
  int64_t sets = std::max<int64_t>(1, llvm::divideCeil(minChains, count));
  IndexMath math(k.b, k.loc);

  auto step = [&](Value at, int64_t set, SmallVectorImpl<Value> &sums) {
    SmallVector<Value, 4> columns;
    for (int64_t v = 0; v < tile.vectors; ++v)
      columns.push_back(b(v, at));
    for (int64_t r = 0; r < tile.rows; ++r) {
      Value row = vector::BroadcastOp::create(k.b, k.loc, vectorType, a(r, at));
      for (int64_t v = 0; v < tile.vectors; ++v) {
        Value &sum = sums[set * count + r * tile.vectors + v];
        sum = multiplyAdd(row, columns[v], sum);
      }
    }
  };

  SmallVector<Value> sums(sets * count, zero);
  Value from = k.index(0);
  if (sets > 1) {
    Value whole = math.sub(depth, math.rem(depth, k.index(sets)));
    sums = k.loop(from, whole, sets, sums, [&](Value at, ValueRange carried) {
      SmallVector<Value> next(carried);
      for (int64_t set = 0; set < sets; ++set)
        step(math.add(at, set), set, next);
      return next;
    });
    for (int64_t half = sets; half > 1; half = (half + 1) / 2)
      for (int64_t set = (half + 1) / 2; set < half; ++set)
        for (int64_t i = 0; i < count; ++i) {
          Value &into = sums[(set - (half + 1) / 2) * count + i];
          Value more = sums[set * count + i];
          into = isa<FloatType>(type) ? Value(arith::AddFOp::create(k.b, k.loc, into, more))
                                      : Value(arith::AddIOp::create(k.b, k.loc, into, more));
        }
    sums.truncate(count);
    from = whole;
    if (math.constantOf(whole) && math.constantOf(whole) == math.constantOf(depth))
      return sums;
  }
  return k.loop(from, depth, 1, sums, [&](Value at, ValueRange carried) {
    SmallVector<Value> next(carried);
    step(at, 0, next);
    return next;
  });
}
