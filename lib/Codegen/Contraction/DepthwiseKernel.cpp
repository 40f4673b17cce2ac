//===- DepthwiseKernel.cpp - Convolutions of single channels --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vectors run along columns. A tile is a few output rows by one vector: each
// staged vector is loaded once and multiplied into all rows that it belongs to.
// The last vector of a row reaches back over columns that the one before has
// as well; both are finished before either is stored, for an operand of the
// epilogue may share memory with the result.
//
//===----------------------------------------------------------------------===//

#include "DepthwiseEmitter.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kiln;
using namespace kiln::contraction;

/// Bytes of a staged plane that stay in the first-level cache, about.
static constexpr int64_t planeBytes = 32 * 1024;
static constexpr int64_t wantedUnits = 16;
/// Products a tile up to which it has no loop over taps.
static constexpr int64_t unrolledProducts = 400;
static constexpr int64_t chains = 8;
/// With more, a product of matrices does better.
static constexpr int64_t mostOutputs = 8;

bool contraction::isDepthwise(const ConvShape &shape) {
  return shape.channels.isConstant(1) && shape.outputs && *shape.outputs <= mostOutputs;
}

int64_t DepthwiseEmitter::tileRowsOf(const Expr &rows) {
  auto known = rows.constant();
  return known ? std::max<int64_t>(1, std::min(chains, *known)) : chains;
}

bool DepthwiseEmitter::prepare(const Expr &rowsOfBlock, ValueRange wanted, Store to) {
  auto argument = dyn_cast<BlockArgument>(spec.w);
  if (!argument || !k.layouts[argument.getArgNumber()].empty())
    return false;
  weights = k.inputBuffer(argument.getArgNumber()).memref;
  tileRows = tileRowsOf(rowsOfBlock);
  values.assign(wanted.begin(), wanted.end());
  store = std::move(to);
  staging.emplace(k, spec, shape, Expr(1), rowsOfBlock, shape.axes[2].out,
                  Expr(2 * k.target.lanes(accumulator)));
  staging->prepare();
  return true;
}

void DepthwiseEmitter::emit(const OutputBlock &where, Value group) {
  block = where;
  staging->fill(block, group, k.index(1));
  k.loop(k.index(0), k.index(*shape.outputs), 1,
         [&](Value output) { emitChannel(math.add(math.mul(group, *shape.outputs), output)); });
}

void DepthwiseEmitter::emitChannel(Value output) {
  channel = output;
  weightBase = math.mul(channel, shape.taps());
  Value rest = math.rem(block.rows, k.index(tileRows)), whole = math.sub(block.rows, rest);
  k.loop(k.index(0), whole, tileRows, [&](Value row) { emitRows(tileRows, row); });
  if (auto known = math.constantOf(rest)) {
    if (*known > 0)
      emitRows(*known, whole);
    return;
  }
  // Blocks of a known height end in one known remainder.
  if (auto height = shape.axes[1].out.constant(); height && *height % tileRows != 0) {
    k.branch(math.compare(arith::CmpIPredicate::ne, rest, k.index(0)),
             [&] { emitRows(*height % tileRows, whole); });
    return;
  }
  k.loop(whole, block.rows, 1, [&](Value row) { emitRows(1, row); });
}

void DepthwiseEmitter::emitRows(int64_t rows, Value row) {
  int64_t lanes = k.target.lanes(accumulator);
  auto known = shape.axes[2].out.constant();
  if (!known) {
    k.vectorLoop(k.index(0), block.columns, lanes, [&](ElementBuilder &e, Value column) {
      storeRows(rows, row, Column{column, e.lanes, sums(rows, e.lanes, row, column)});
    });
    return;
  }
  if (*known == 0)
    return;
  lanes = std::min<int64_t>(lanes, int64_t(1) << llvm::Log2_64(static_cast<uint64_t>(*known)));
  int64_t whole = *known / lanes * lanes;
  bool overlap = whole != *known;
  // The last whole vector belongs to the one that reaches back over it.
  k.loop(k.index(0), k.index(overlap ? whole - lanes : whole), lanes, [&](Value column) {
    storeRows(rows, row, Column{column, lanes, sums(rows, lanes, row, column)});
  });
  if (!overlap)
    return;
  SmallVector<Column, 2> last;
  for (int64_t at : {whole - lanes, *known - lanes})
    last.push_back({k.index(at), lanes, sums(rows, lanes, row, k.index(at))});
  storeRows(rows, row, last);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

Value DepthwiseEmitter::load(Value at, int64_t lanes) {
  if (lanes == 1)
    return memref::LoadOp::create(k.b, k.loc, staging->memref(), at);
  return vector::LoadOp::create(k.b, k.loc, VectorType::get({lanes}, accumulator),
                                staging->memref(), at);
}

Value DepthwiseEmitter::weight(Value tap, int64_t lanes) {
  // A transposed convolution's kernel is turned round.
  if (spec.transposed)
    tap = math.sub(k.index(shape.taps() - 1), tap);
  Value value = memref::LoadOp::create(k.b, k.loc, weights, math.add(weightBase, tap));
  value = k.elements(lanes).convert(value, type, accumulator);
  return k.elements(lanes).splat(value);
}

Value DepthwiseEmitter::multiplyAdd(Value a, Value b, Value sum) {
  if (isa<FloatType>(accumulator)) {
    if (isa<VectorType>(sum.getType()))
      return vector::FMAOp::create(k.b, k.loc, a, b, sum);
    return math::FmaOp::create(k.b, k.loc, a, b, sum);
  }
  return arith::AddIOp::create(k.b, k.loc, sum, arith::MulIOp::create(k.b, k.loc, a, b));
}

SmallVector<Value> DepthwiseEmitter::sums(int64_t rows, int64_t lanes, Value row, Value column) {
  const Axis *axes = shape.axes;
  if (rows * shape.taps() > unrolledProducts)
    return sumsByLoop(rows, lanes, row, column);
  Value zero = k.elements(lanes).splat(k.elements().constant(accumulator, 0));
  SmallVector<Value> result(rows, zero);
  Value pitch = k.size(staging->rowPitch);
  Value start = math.add(math.mul(row, pitch), column);
  for (int64_t plane = 0; plane < axes[0].kernel; ++plane)
    for (int64_t phase = 0; phase < axes[1].phases(); ++phase)
      for (int64_t ahead = 0; ahead < rows + axes[1].aheadOf(axes[1].kernel - 1); ++ahead)
        for (int64_t s = 0; s < axes[2].kernel; ++s) {
          Value value;
          for (int64_t r = 0; r < axes[1].kernel; ++r) {
            // The row that reads this one by tap r.
            int64_t reader = ahead - axes[1].aheadOf(r);
            if (axes[1].phaseOf(r) != phase || reader < 0 || reader >= rows)
              continue;
            if (!value) {
              Value tap = staging->tapOffset(k.index(plane), k.index(r), k.index(s));
              Value here = math.add(start, math.mul(pitch, reader));
              value = load(math.add(here, tap), lanes);
            }
            int64_t tap = (plane * axes[1].kernel + r) * axes[2].kernel + s;
            result[reader] = multiplyAdd(value, weight(tap, lanes), result[reader]);
          }
        }
  return result;
}

/// The same with loops over the taps of large kernels.
SmallVector<Value> DepthwiseEmitter::sumsByLoop(int64_t rows, int64_t lanes, Value row,
                                                Value column) {
  const Axis *axes = shape.axes;
  Value zero = k.elements(lanes).splat(k.elements().constant(accumulator, 0));
  SmallVector<Value> result(rows, zero);
  Value pitch = k.size(staging->rowPitch);
  Value start = math.add(math.mul(row, pitch), column);
  auto counted = [&](const Axis &axis, ValueRange init,
                     function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    return k.loop(k.index(0), k.index(axis.kernel), 1, init, body);
  };
  return counted(axes[0], result, [&](Value plane, ValueRange carried) {
    return counted(axes[1], carried, [&](Value r, ValueRange carried) {
      return counted(axes[2], carried, [&](Value s, ValueRange carried) {
        SmallVector<Value> next(carried);
        Value at = math.add(start, staging->tapOffset(plane, r, s));
        Value tap = math.add(math.mul(plane, axes[1].kernel), r);
        Value w = weight(math.add(math.mul(tap, axes[2].kernel), s), lanes);
        for (int64_t i = 0; i < rows; ++i)
          next[i] = multiplyAdd(load(math.add(at, math.mul(pitch, i)), lanes), w, next[i]);
        return next;
      });
    });
  });
}

void DepthwiseEmitter::storeRows(int64_t rows, Value row, ArrayRef<Column> columns) {
  Value y = spec.anchor->getResult(0);
  struct Finished {
    ElementBuilder e;
    Index index;
    SmallVector<Value> values;
  };
  for (int64_t i = 0; i < rows; ++i) {
    SmallVector<Finished, 2> finished;
    Value outRow = math.add(block.row, math.add(row, i));
    for (const Column &column : columns) {
      // A column of its own: the builder remembers that its lanes are neighbours.
      Finished one{k.elements(column.lanes), {}, {}};
      Value at = arith::AddIOp::create(k.b, k.loc, column.at, k.index(0));
      if (column.lanes > 1)
        one.e.setConsecutive(at);
      one.index = shape.index(block.n, channel, {block.plane, outRow, at});
      Value sum = column.sums[i];
      one.e.setSource(y, [sum, y](ElementBuilder &e, ArrayRef<Value>) {
        return e.narrow(sum, elementTypeOf(y));
      });
      for (Value value : values)
        one.values.push_back(one.e.element(value, one.index));
      finished.push_back(std::move(one));
    }
    for (Finished &one : finished)
      for (auto [which, value] : llvm::enumerate(one.values))
        store(one.e, which, value, one.index, math.add(row, i));
  }
}

/// Whole planes when they are small and there are enough of them, else as many
/// rows as stay in the first-level cache.
static Expr rowsOfUnit(const ConvShape &shape, int64_t bytesOfElement) {
  const Axis &rows = shape.axes[1], &columns = shape.axes[2];
  int64_t tileRows = DepthwiseEmitter::tileRowsOf(rows.out);
  int64_t width = columns.out.constant().value_or(64) * columns.phases();
  int64_t bytes = width * rows.phases() * bytesOfElement;
  int64_t most = std::max<int64_t>(1, planeBytes / std::max<int64_t>(bytes, 1) / tileRows);
  auto known = rows.out.constant();
  if (!known)
    return most * tileRows;
  int64_t planes = shape.batch.constant().value_or(1) * shape.group;
  int64_t blocks = std::max<int64_t>(llvm::divideCeil(*known, most * tileRows),
                                     llvm::divideCeil(wantedUnits, std::max<int64_t>(planes, 1)));
  auto wanted = static_cast<int64_t>(llvm::alignTo(
      std::max<int64_t>(1, llvm::divideCeil(*known, blocks)), static_cast<uint64_t>(tileRows)));
  return std::min(wanted, std::max<int64_t>(*known, 1));
}

LogicalResult contraction::buildDepthwiseKernel(KernelBuilder &k, const ConvSpec &spec,
                                                const ConvShape &shape) {
  Value y = spec.anchor->getResult(0);
  for (Value result : k.results())
    if (shapeOf(result) != shapeOf(y))
      return failure();
  Type accumulator = accumulatorType(elementTypeOf(spec.x));
  Expr rowsOfBlock = rowsOfUnit(shape, accumulator.getIntOrFloatBitWidth() / 8);
  DepthwiseEmitter emitter(k, spec, shape);
  if (!emitter.prepare(rowsOfBlock, k.results(),
                       [&](ElementBuilder &e, size_t which, Value value, const Index &index,
                           Value) { e.store(value, k.resultBuffer(which), index); }))
    return failure();
  const Axis &rows = shape.axes[1], &columns = shape.axes[2];
  Expr rowBlocks = Expr::ceilDiv(rows.out, rowsOfBlock);
  Expr work = rowsOfBlock * columns.out * Expr(shape.taps() * *shape.outputs + 8);
  k.setUnits(shape.batch * Expr(shape.group) * shape.axes[0].out * rowBlocks,
             Expr::floorDiv(work * Expr(250), k.target.lanes(accumulator)) + Expr(5000));
  SmallVector<Value> sizes = {k.size(shape.batch), k.index(shape.group), k.size(shape.axes[0].out),
                              k.size(rowBlocks)};
  IndexMath math(k.b, k.loc);
  k.loop(k.begin, k.end, 1, [&](Value unit) {
    Index at = k.elements().delinearize(unit, sizes);
    OutputBlock block;
    block.n = at[0];
    block.plane = at[2];
    block.row = math.mul(at[3], k.size(rowsOfBlock));
    block.rows = rowBlocks.isConstant(1)
                     ? k.size(rows.out)
                     : math.min(k.size(rowsOfBlock), math.sub(k.size(rows.out), block.row));
    block.column = k.index(0);
    block.columns = k.size(columns.out);
    emitter.emit(block, at[1]);
  });
  return success();
}
