//===- AttentionKernel.cpp - Attention without its scores in memory -------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A unit is a block of queries of one head. Keys and values pass by in blocks:
// a block's scores become weights relative to the largest score so far, and
// what was summed with an older maximum is scaled down (online softmax). So
// only a block of scores exists, and it stays in the cache.
//
// Scores are computed with queries along lanes, [key][query]: the softmax over
// keys then needs no sums across lanes, a mask without queries is one number a
// row, and weights are read by the second product as its A, element by element.
// Keys are A of the first product and values B of the second, so both are read
// where they lie; only queries are packed, once a unit.
//
//===----------------------------------------------------------------------===//

#include "Tile.h"
#include "kiln/Codegen/Num.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace kiln;
using namespace kiln::contraction;

/// Queries and keys of a block: with heads of 64 elements keys, values, scores
/// and sums take some 110 KB of the second-level cache.
static constexpr int64_t wantedQueries = 48;
static constexpr int64_t wantedKeys = 128;
/// What an exponential and its share of the passes over the scores cost.
static constexpr int64_t picosecondsPerScore = 400;

namespace {
class AttentionEmitter {
public:
  AttentionEmitter(KernelBuilder &k, const AttentionSpec &spec);
  void emit();

private:
  enum class Mask { None, OfKeys, Full, FullOfBool };
  /// Rows of an operand: row r's element e at base + r * stride + e * step.
  struct Rows {
    Value memref, base, stride, step;
  };

  void reserve();
  void emitUnit(Value unit);
  void emitKeys(Value from, Value count);

  void packQueries();
  StridedColumns rowsFrom(const StridedInput &input, Value from);
  Rows rowsAt(Value operand, const std::optional<StridedInput> &input, Value packed,
              const Expr &width, Value from, Value count);
  void loadMask(Value from, Value count);
  void loadBits(Value from, Value count);
  Value maskElement(ElementBuilder &e, Value query, Value key);
  Value loadSeen(Value column, Value key);
  Buffer bits() {
    return {maskBits, k.b.getI32Type(), {k.index(vectorsOfQueries()), k.index(keyRows())}};
  }
  int64_t vectorsOfQueries() const { return blockQueries / scoreTile.lanes; }
  /// The last tile of a block may compute rows that do not exist.
  int64_t keyRows() const { return blockKeys + scoreTile.rows; }

  void emitScores(int64_t height, Value key, Value valid, Value column, const Rows &keys);
  void toWeights(Value column, Value count);
  void addValues(int64_t height, Value query, Value count, const Rows &values);
  void storeResult();

  Value load(Value memref, Value at) {
    return vector::LoadOp::create(k.b, k.loc, lanesType(), memref, at);
  }
  void store(Value vector, Value memref, Value at) {
    vector::StoreOp::create(k.b, k.loc, vector, memref, at);
  }
  VectorType lanesType() const { return VectorType::get({scoreTile.lanes}, acc); }
  Num num(Value value) const { return Num(k.b, k.loc, value); }
  Num number(double value) const {
    auto type = lanesType();
    return num(arith::ConstantOp::create(
        k.b, k.loc, DenseElementsAttr::get(type, FloatAttr::get(acc, value).getValue())));
  }
  Num splat(Value scalar) const {
    return num(vector::BroadcastOp::create(k.b, k.loc, lanesType(), scalar));
  }
  Num exp(const Num &x) const { return x.apply<math::ExpOp>(); }

  KernelBuilder &k;
  const AttentionSpec &spec;
  IndexMath math;
  Type type, acc;
  Shape queries, keys, values, scoreShape;
  TileShape scoreTile, valueTile;
  int64_t blockQueries, blockKeys;
  Expr paddedWidth = 0;
  std::optional<StridedInput> inputQ, inputK, inputV;
  /// Keys and values are read where they lie.
  bool directK = false, directV = false;
  Mask maskKind = Mask::None;

  // Scratch.
  Value packedQ, packedK, packedV, scores, maskRow, maskBits, sums, top, total, factor;
  // The unit at hand.
  Value batch, head, group, firstQuery, queryCount;
};
} // namespace

AttentionEmitter::AttentionEmitter(KernelBuilder &k, const AttentionSpec &spec)
    : k(k), spec(spec), math(k.b, k.loc), type(elementTypeOf(spec.q)), acc(accumulatorType(type)),
      queries(shapeOf(spec.q)), keys(shapeOf(spec.k)), values(shapeOf(spec.v)),
      scoreShape{queries[0], queries[2], queries[1], keys[1]} {
  auto rows = queries[1].constant(), columns = keys[1].constant();
  scoreTile = chooseTile(k.target, acc, rows);
  valueTile = chooseTile(k.target, acc, values[3].constant());
  // Blocks of equal size where sizes are known.
  auto share = [](std::optional<int64_t> total, int64_t wanted) -> int64_t {
    if (!total || *total == 0)
      return wanted;
    return llvm::divideCeil(*total, std::max<int64_t>(1, (*total + wanted / 2) / wanted));
  };
  blockQueries = llvm::alignTo(share(rows, wantedQueries), scoreTile.columns());
  blockKeys = share(columns, wantedKeys);
  paddedWidth = Expr::ceilDiv(values[3], valueTile.columns()) * Expr(valueTile.columns());
  inputQ = stridedInput(k, spec.q);
  inputK = stridedInput(k, spec.k);
  inputV = stridedInput(k, spec.v);
  directK = type == acc && inputK;
  // Whole vectors of values are read.
  auto width = values[3].constant();
  directV = type == acc && inputV && inputV->strides[3].isConstant(1) && width &&
            *width % valueTile.columns() == 0;
  if (spec.mask) {
    Shape mask = shapeOf(spec.mask);
    bool ofKeys = mask.size() < 2 || mask[mask.size() - 2].isConstant(1);
    maskKind = ofKeys                                  ? Mask::OfKeys
               : elementTypeOf(spec.mask).isInteger(1) ? Mask::FullOfBool
                                                       : Mask::Full;
  }
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

void AttentionEmitter::reserve() {
  SmallVector<std::tuple<Value *, Expr, Expr, Type>> parts;
  auto add = [&](Value &buffer, const Expr &count, Type of = {}) {
    of = of ? of : acc;
    parts.emplace_back(&buffer, k.reserveScratch(count * Expr(of.getIntOrFloatBitWidth() / 8)),
                       count, of);
  };
  Expr queryRows = blockQueries + valueTile.rows;
  add(packedQ, queries[3] * Expr(blockQueries));
  add(scores, Expr(keyRows() * blockQueries + valueTile.rows));
  add(sums, queryRows * paddedWidth);
  add(top, blockQueries);
  add(total, blockQueries);
  add(factor, queryRows);
  if (maskKind == Mask::OfKeys)
    add(maskRow, keyRows());
  if (maskKind == Mask::FullOfBool)
    add(maskBits, vectorsOfQueries() * keyRows(), k.b.getI32Type());
  if (!directK)
    add(packedK, keys[3] * Expr(blockKeys));
  if (!directV)
    add(packedV, paddedWidth * Expr(blockKeys));
  for (auto &[buffer, offset, count, of] : parts)
    *buffer = k.scratchBuffer(offset, count, of);
}

void AttentionEmitter::emit() {
  reserve();
  Expr blocks = Expr::ceilDiv(queries[1], blockQueries);
  Expr rows = Expr::min(queries[1], blockQueries);
  // Two FMAs a cycle at 3 GHz.
  Expr products = rows * keys[1] * (queries[3] + values[3]);
  k.setUnits(queries[0] * queries[2] * blocks,
             Expr::floorDiv(products * Expr(166), scoreTile.lanes) +
                 Expr::floorDiv(rows * keys[1] * Expr(picosecondsPerScore), scoreTile.lanes) +
                 Expr(20000));
  k.loop(k.begin, k.end, 1, [&](Value unit) { emitUnit(unit); });
}

void AttentionEmitter::emitUnit(Value unit) {
  Value blocks = k.size(Expr::ceilDiv(queries[1], blockQueries));
  Index at = k.elements().delinearize(unit, {k.size(queries[0]), k.size(queries[2]), blocks});
  batch = at[0], head = at[1];
  group = head;
  if (queries[2] != keys[2]) // Both are known.
    group = math.div(head, k.index(*queries[2].constant() / *keys[2].constant()));
  firstQuery = math.mul(at[2], blockQueries);
  auto rows = queries[1].constant();
  queryCount = rows && *rows % blockQueries == 0
                   ? k.index(blockQueries)
                   : math.min(math.sub(k.size(queries[1]), firstQuery), k.index(blockQueries));
  packQueries();

  auto clear = [&](Value memref, Value count, double value) {
    k.loop(k.index(0), count, scoreTile.lanes,
           [&](Value i) { store(number(value).value, memref, i); });
  };
  clear(top, k.index(blockQueries), -std::numeric_limits<double>::infinity());
  clear(total, k.index(blockQueries), 0);
  clear(sums, math.mul(queryCount, k.size(paddedWidth)), 0);

  auto columns = keys[1].constant();
  if (columns && *columns == blockKeys) {
    emitKeys(k.index(0), k.index(blockKeys));
  } else {
    Value all = k.size(keys[1]), step = k.index(blockKeys);
    k.loop(k.index(0), all, blockKeys, [&](Value from) {
      bool even = columns && *columns % blockKeys == 0;
      emitKeys(from, even ? step : math.min(math.sub(all, from), step));
    });
  }
  storeResult();
}

void AttentionEmitter::emitKeys(Value from, Value count) {
  Rows keyRows = rowsAt(spec.k, inputK, packedK, keys[3], from, count);
  loadMask(from, count);
  Value panels = math.ceilDiv(queryCount, k.index(scoreTile.columns()));
  k.loop(k.index(0), panels, 1, [&](Value panel) {
    Value column = math.mul(panel, scoreTile.columns());
    // The maximum before this block, to scale what was summed with it.
    for (int64_t v = 0; v < scoreTile.vectors; ++v) {
      Value at = math.add(column, v * scoreTile.lanes);
      store(load(top, at), factor, at);
    }
    forRows(k, k.index(0), count, scoreTile, [&](int64_t height, Value key, Value valid) {
      emitScores(height, key, valid, column, keyRows);
    });
    toWeights(column, count);
  });
  Rows valueRows = rowsAt(spec.v, inputV, packedV, paddedWidth, from, count);
  forRows(k, k.index(0), queryCount, valueTile,
          [&](int64_t height, Value query, Value) { addValues(height, query, count, valueRows); });
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

void AttentionEmitter::packQueries() {
  Buffer target{packedQ, acc, {k.size(queries[3]), k.index(blockQueries)}};
  std::optional<StridedColumns> strided;
  if (inputQ) {
    auto along = [&](Value at, size_t dim) { return math.mul(at, k.size(inputQ->strides[dim])); };
    Value base = math.add(k.size(inputQ->offset), along(batch, 0));
    base = math.add(base, math.add(along(head, 2), along(firstQuery, 1)));
    strided = StridedColumns{inputQ->buffer->memref, base, k.size(inputQ->strides[3]),
                             k.size(inputQ->strides[1])};
  }
  packPanel(
      k, target, type, queryCount,
      [&](ElementBuilder &e, Value d, Value query) {
        return e.element(spec.q, {batch, e.add(firstQuery, query), head, d});
      },
      strided);
}

/// The rows of keys or values from `from` on, of the unit's batch and group.
StridedColumns AttentionEmitter::rowsFrom(const StridedInput &input, Value from) {
  auto stride = [&](size_t dim) { return k.size(input.strides[dim]); };
  Value base = math.add(k.size(input.offset), math.mul(batch, stride(0)));
  base = math.add(base, math.add(math.mul(group, stride(2)), math.mul(from, stride(1))));
  return {input.buffer->memref, base, stride(1), stride(3)};
}

/// Where they lie when their elements are the sums' and vectors can be read, else
/// from a copy that this block of queries shares.
AttentionEmitter::Rows AttentionEmitter::rowsAt(Value operand,
                                                const std::optional<StridedInput> &input,
                                                Value packed, const Expr &width, Value from,
                                                Value count) {
  std::optional<StridedColumns> strided;
  if (input)
    strided = rowsFrom(*input, from);
  if (!packed)
    return {strided->memref, strided->base, strided->kStride, strided->columnStride};
  packPanel(
      k, Buffer{packed, acc, {count, k.size(width)}}, type, k.size(shapeOf(operand)[3]),
      [&](ElementBuilder &e, Value row, Value column) {
        return e.element(operand, {batch, e.add(from, row), group, column});
      },
      strided);
  return {packed, k.index(0), k.size(width), k.index(1)};
}

/// Bool where it goes into bits, else of the sums' type: 1 where scores stay.
Value AttentionEmitter::maskElement(ElementBuilder &e, Value query, Value key) {
  Value element = e.broadcastElement(spec.mask, {batch, head, query, key}, scoreShape);
  Type from = elementTypeOf(spec.mask);
  if (!from.isInteger(1))
    return e.convert(element, from, acc);
  return maskKind == Mask::FullOfBool ? element
                                      : e.select(element, e.constant(acc, 1), e.constant(acc, 0));
}

/// Puts this block's mask where scores read it: by keys into a row of its own,
/// a full one where the scores will be, of bool as bits.
void AttentionEmitter::loadMask(Value from, Value count) {
  if (maskKind == Mask::OfKeys) {
    Buffer target{maskRow, acc, {k.index(blockKeys)}};
    k.vectorLoop(k.index(0), count, scoreTile.lanes, [&](ElementBuilder &e, Value key) {
      e.store(e.splat(maskElement(e, k.index(0), e.add(from, key))), target, {key});
    });
  } else if (maskKind == Mask::Full) {
    Buffer target{scores, acc, {count, k.index(blockQueries)}};
    packPanel(
        k, target, acc, queryCount,
        [&](ElementBuilder &e, Value key, Value query) {
          return maskElement(e, e.add(firstQuery, query), e.add(from, key));
        },
        std::nullopt, /*pulledAlongK=*/true);
  } else if (maskKind == Mask::FullOfBool) {
    loadBits(from, count);
  }
}

/// Bit i of a word is query i's of a vector of queries. Words of neighbouring keys
/// are made at once, as masks have them: nothing is transposed.
void AttentionEmitter::loadBits(Value from, Value count) {
  Type word = k.b.getI32Type();
  k.loop(k.index(0), queryCount, scoreTile.lanes, [&](Value column) {
    Value end = math.min(math.add(column, scoreTile.lanes), queryCount);
    Value vector = math.div(column, k.index(scoreTile.lanes));
    k.vectorLoop(k.index(0), count, scoreTile.lanes, [&](ElementBuilder &e, Value key) {
      Value zero = e.intConstant(word, 0), one = e.intConstant(word, 1);
      auto words = e.loop(column, end, {e.splat(zero), one}, [&](Value query, ValueRange carried) {
        Value seen = maskElement(e, e.add(firstQuery, query), e.add(from, key));
        Value bit = e.splat(e.select(seen, carried[1], zero));
        return SmallVector<Value>{arith::OrIOp::create(k.b, k.loc, carried[0], bit),
                                  arith::ShLIOp::create(k.b, k.loc, carried[1], one)};
      });
      e.store(words.front(), bits(), {vector, key});
    });
  });
}

/// Whether queries from `column` on see a key, as lanes.
Value AttentionEmitter::loadSeen(Value column, Value key) {
  Type type = k.b.getIntegerType(static_cast<unsigned>(scoreTile.lanes));
  Value vector = math.div(column, k.index(scoreTile.lanes));
  Value word = k.elements().load(bits(), {vector, key});
  word = arith::TruncIOp::create(k.b, k.loc, type, word);
  word = vector::BroadcastOp::create(k.b, k.loc, VectorType::get({1}, type), word);
  auto lanes = VectorType::get({scoreTile.lanes}, k.b.getI1Type());
  return vector::BitCastOp::create(k.b, k.loc, lanes, word);
}

//===----------------------------------------------------------------------===//
// Products and weights
//===----------------------------------------------------------------------===//

/// Scores of some keys and a panel of queries, and what they do to the maxima.
void AttentionEmitter::emitScores(int64_t height, Value key, Value valid, Value column,
                                  const Rows &rows) {
  TileShape tile{height, scoreTile.vectors, scoreTile.lanes};
  SmallVector<Value> starts;
  for (int64_t r = 0; r < height; ++r) {
    // Rows that do not exist read the last that does.
    Value row =
        valid ? math.add(key, math.min(k.index(r), math.sub(valid, k.index(1)))) : math.add(key, r);
    starts.push_back(math.add(rows.base, math.mul(row, rows.stride)));
  }
  SmallVector<Value> products = MicroKernel(k, acc).run(
      tile, k.size(keys[3]),
      [&](int64_t r, Value d) -> Value {
        return memref::LoadOp::create(k.b, k.loc, rows.memref,
                                      math.add(starts[r], math.mul(d, rows.step)));
      },
      [&](int64_t v, Value d) {
        Value at = math.add(math.mul(d, blockQueries), column);
        return load(packedQ, math.add(at, v * tile.lanes));
      });
  double lowest = -std::numeric_limits<double>::infinity();
  SmallVector<Value> most(static_cast<size_t>(tile.vectors));
  for (int64_t r = 0; r < height; ++r) {
    Value row = math.add(key, r);
    Value rowMask;
    if (maskKind == Mask::OfKeys)
      rowMask = splat(memref::LoadOp::create(k.b, k.loc, maskRow, row)).value;
    for (int64_t v = 0; v < tile.vectors; ++v) {
      Value at = math.add(math.add(math.mul(row, blockQueries), column), v * tile.lanes);
      Num score = num(products[r * tile.vectors + v]) * spec.scale;
      if (maskKind == Mask::FullOfBool) {
        score =
            num(loadSeen(math.add(column, v * tile.lanes), row)).select(score, number(spec.fill));
      } else if (spec.mask) {
        Num mask = num(maskKind == Mask::Full ? load(scores, at) : rowMask);
        bool isBool = elementTypeOf(spec.mask).isInteger(1);
        score = isBool ? (mask > 0).select(score, number(spec.fill)) : score + mask;
      }
      store(score.value, scores, at);
      if (valid) {
        Value exists = math.compare(arith::CmpIPredicate::slt, k.index(r), valid);
        score = num(arith::SelectOp::create(k.b, k.loc, exists, score.value, number(lowest).value));
      }
      most[v] = r == 0 ? score.value : atLeast(num(most[v]), score).value;
    }
  }
  for (int64_t v = 0; v < tile.vectors; ++v) {
    Value at = math.add(column, v * tile.lanes);
    store(atLeast(num(load(top, at)), num(most[v])).value, top, at);
  }
}

/// Scores of a panel to exponentials. Where there is no maximum but -inf, all
/// are 0 and not NaN: keys that count may still come.
void AttentionEmitter::toWeights(Value column, Value count) {
  double lowest = -std::numeric_limits<double>::infinity();
  int64_t vectors = scoreTile.vectors;
  SmallVector<Value> shift, zeros;
  auto at = [&](int64_t v) { return math.add(column, v * scoreTile.lanes); };
  for (int64_t v = 0; v < vectors; ++v) {
    Num most = num(load(top, at(v)));
    shift.push_back((most == lowest).select(number(0), most).value);
    store(exp(num(load(factor, at(v))) - num(shift[v])).value, factor, at(v));
    zeros.push_back(number(0).value);
  }
  SmallVector<Value> added =
      k.loop(k.index(0), count, 1, zeros, [&](Value key, ValueRange carried) {
        SmallVector<Value> next;
        for (int64_t v = 0; v < vectors; ++v) {
          Value place = math.add(math.mul(key, blockQueries), at(v));
          Num weight = exp(num(load(scores, place)) - num(shift[v]));
          store(weight.value, scores, place);
          next.push_back((num(carried[v]) + weight).value);
        }
        return next;
      });
  for (int64_t v = 0; v < vectors; ++v)
    store((num(load(total, at(v))) * num(load(factor, at(v))) + num(added[v])).value, total, at(v));
}

/// Adds weights times values, for some queries and all columns.
void AttentionEmitter::addValues(int64_t height, Value query, Value count, const Rows &rows) {
  TileShape tile{height, valueTile.vectors, valueTile.lanes};
  Value width = k.size(paddedWidth);
  k.loop(k.index(0), width, tile.columns(), [&](Value column) {
    SmallVector<Value> products = MicroKernel(k, acc).run(
        tile, count,
        [&](int64_t r, Value key) -> Value {
          Value at = math.add(math.mul(key, blockQueries), math.add(query, r));
          return memref::LoadOp::create(k.b, k.loc, scores, at);
        },
        [&](int64_t v, Value key) {
          Value at = math.add(math.add(rows.base, math.mul(key, rows.stride)), column);
          return load(rows.memref, math.add(at, v * tile.lanes));
        });
    for (int64_t r = 0; r < height; ++r) {
      Value row = math.add(query, r);
      Num scale = splat(memref::LoadOp::create(k.b, k.loc, factor, row));
      for (int64_t v = 0; v < tile.vectors; ++v) {
        Value at = math.add(math.add(math.mul(row, width), column), v * tile.lanes);
        Value sum = vector::FMAOp::create(k.b, k.loc, load(sums, at), scale.value,
                                          products[r * tile.vectors + v]);
        store(sum, sums, at);
      }
    }
  });
}

void AttentionEmitter::storeResult() {
  Buffer buffer{sums, acc, {k.index(blockQueries), k.size(paddedWidth)}};
  Value none = math.compare(arith::CmpIPredicate::eq, k.size(keys[1]), k.index(0));
  k.loop(k.index(0), queryCount, 1, [&](Value query) {
    Num weights = num(memref::LoadOp::create(k.b, k.loc, total, query));
    // No keys at all give sums of 0, whatever else NaN becomes.
    Num inverse = num(none).select(weights.constant(0), 1.0 / weights);
    Value defined;
    if (spec.undefined == UndefinedWeights::Zero)
      defined = (weights > 0).value;
    else if (spec.undefined == UndefinedWeights::MaskedZero)
      defined = (weights != 0).value;
    k.vectorLoop(k.index(0), k.size(values[3]), scoreTile.lanes, [&](ElementBuilder &e, Value c) {
      e.setSource(spec.anchor->getResult(0), [&](ElementBuilder &e, ArrayRef<Value>) {
        Value pair[] = {e.load(buffer, {query, c}), inverse.value};
        e.unify(pair);
        Num y = num(pair[0]) * num(pair[1]);
        if (defined)
          y = num(arith::SelectOp::create(k.b, k.loc, defined, y.value, y.constant(0).value));
        return e.narrow(y.value, type);
      });
      k.storeResults(e, {batch, math.add(firstQuery, query), head, c});
    });
  });
}

LogicalResult kiln::buildAttentionKernel(KernelBuilder &k, const AttentionSpec &spec) {
  AttentionEmitter(k, spec).emit();
  return success();
}
