//===- ConvBlocking.cpp - How convolutions are cut into units -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvEmitter.h"

using namespace mlir;
using namespace kiln;
using namespace kiln::contraction;

/// Bytes of staged input that leave room in the second-level cache.
static constexpr int64_t stagedBytes = 256 * 1024;
static constexpr double cyclesOfUnit = 60000;

/// About how many cycles all units take whose blocks have so many rows and
/// columns.
double ConvEmitter::cost(int64_t rows, int64_t columns, int64_t outputBlocks) const {
  const Axis &rowAxis = shape.axes[1], &columnAxis = shape.axes[2];
  int64_t outRows = *rowAxis.out.constant(), outColumns = *columnAxis.out.constant();
  int64_t rowBlocks = llvm::divideCeil(outRows, rows),
          columnBlocks = llvm::divideCeil(outColumns, columns);
  // Whole blocks and the last, along the one direction that is cut.
  int64_t whole = outRows / rows * (outColumns / columns), last = 0;
  if (outRows % rows)
    last = outRows % rows * columns;
  else if (outColumns % columns)
    last = outColumns % columns * rows;
  auto vectors = static_cast<double>(whole * vectorsOf(rows * columns) + vectorsOf(last));
  auto inner = static_cast<double>(*depth.constant());
  auto blocks = static_cast<double>(outputBlocks);
  double images = static_cast<double>(shape.batch.constant().value_or(1) * shape.group *
                                      shape.axes[0].out.constant().value_or(1));
  double products = vectors * inner * static_cast<double>(outputs);
  double packing = vectors * inner * 3 * blocks;
  double units = images * static_cast<double>(rowBlocks * columnBlocks) * blocks;
  double stagedElements = 0;
  if (!readsInPlace())
    stagedElements = inner / static_cast<double>(rowAxis.kernel * columnAxis.kernel) *
                     static_cast<double>((rows + rowAxis.aheadOf(rowAxis.kernel - 1)) *
                                         rowAxis.phases() * columnAxis.phases() *
                                         (columns + columnAxis.aheadOf(columnAxis.kernel - 1)));
  double cycles = images * (products + packing) +
                  units * (1500 + stagedElements * 4 / static_cast<double>(tile.lanes));
  double bytes = stagedElements * accumulator.getIntOrFloatBitWidth() / 8;
  if (bytes > stagedBytes)
    cycles *= bytes > 2 * stagedBytes ? 1.5 : 1.1;
  // Short work is not worth sharing.
  return cycles > cyclesOfUnit ? cycles * sharingLoss(units) : cycles;
}

ConvEmitter::Blocking ConvEmitter::chooseBlocking() const {
  const Axis &rows = shape.axes[1], &columns = shape.axes[2];
  Blocking result;
  result.columns = columns.out;
  auto outRows = rows.out.constant(), outColumns = columns.out.constant();
  bool single = rows.out.isConstant(1);
  if (outRows && outColumns && *outRows > 0 && *outColumns > 0) {
    double least = std::numeric_limits<double>::infinity();
    int64_t bestRows = 1, bestColumns = 1;
    // A single row is cut along its columns, into panels.
    int64_t step = single ? tile.columns() : 1, all = single ? *outColumns : *outRows;
    // Phases are put together within a row.
    if (phases && !single)
      all = 1;
    for (int64_t size = std::min(step, all);; size = std::min(size + step, all)) {
      for (int64_t blocks = 1; blocks <= std::max<int64_t>(1, split.full); blocks *= 2) {
        double here = single ? cost(1, size, blocks) : cost(size, *outColumns, blocks);
        if (here < least) {
          least = here;
          bestRows = single ? 1 : size, bestColumns = single ? size : *outColumns;
          result.outputBlocks = blocks;
        }
      }
      if (size == all)
        break;
    }
    result.rows = bestRows, result.columns = bestColumns;
  } else if (single) {
    result.columns = 8 * tile.columns();
  } else {
    // Unknown images are taken to be neither tiny nor huge.
    result.rows = phases ? 1 : 4;
  }
  result.rowBlocks = Expr::ceilDiv(rows.out, result.rows);
  result.columnBlocks = Expr::ceilDiv(columns.out, result.columns);
  return result;
}

/// Vectors that last panels of units have, each number once.
SmallVector<int64_t> ConvEmitter::tailVectors() const {
  SmallVector<int64_t> result;
  auto add = [&](int64_t pixels) {
    int64_t vectors = vectorsOf(pixels % tile.columns());
    if (vectors > 0 && !llvm::is_contained(result, vectors))
      result.push_back(vectors);
  };
  auto rows = blocking.rows.constant(), columns = blocking.columns.constant();
  auto outRows = shape.axes[1].out.constant(), outColumns = shape.axes[2].out.constant();
  if (rows && columns && outRows && outColumns && *rows > 0 && *columns > 0) {
    add(*rows * *columns);
    add(*outRows % *rows * *columns);
    add(*outColumns % *columns * *rows);
    return result;
  }
  // Of unknown remainders, all but the small ones share one.
  result.push_back(1);
  if (tile.vectors > 1)
    result.push_back(tile.vectors);
  return result;
}
