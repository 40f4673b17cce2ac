//===- Staging.cpp - Input of a convolution in scratch --------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conv.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kiln;
using namespace kiln::contraction;

static constexpr int64_t maxPhasesWrittenOut = 4;

ConvShape::ConvShape(const ConvSpec &spec) : group(spec.group) {
  Shape x = shapeOf(spec.x), w = shapeOf(spec.w), y = shapeOf(spec.anchor->getResult(0));
  batch = x[0];
  rank = x.size() - 2;
  // The weights say it; the run checks that the input agrees.
  channels = spec.transposed ? Expr::floorDiv(w[0], group) : w[1];
  outputs = spec.transposed ? w[1].constant() : w[0].constant();
  if (outputs && !spec.transposed)
    *outputs /= group;
  for (size_t d = 0; d < rank && rank <= 3; ++d) {
    Axis &axis = axes[3 - rank + d];
    axis.in = x[d + 2];
    axis.out = y[d + 2];
    axis.kernel = *w[d + 2].constant();
    axis.dilation = spec.dilations[d];
    axis.pad = spec.pads[d];
    if (spec.transposed) {
      axis.spread = spec.strides[d];
      axis.pad = Expr((axis.kernel - 1) * axis.dilation) - axis.pad;
    } else {
      axis.stride = spec.strides[d];
    }
  }
}

Staging::Staging(KernelBuilder &k, const ConvSpec &spec, const ConvShape &shape,
                 const Expr &channels, const Expr &rows, const Expr &columns, const Expr &slack)
    : k(k), spec(spec), shape(shape), math(k.b, k.loc), type(elementTypeOf(spec.x)),
      accumulator(accumulatorType(type)), wholeRows(columns == shape.axes[2].out) {
  const Axis &rowAxis = shape.axes[1], &columnAxis = shape.axes[2];
  storedRows = rows + Expr(rowAxis.aheadOf(rowAxis.kernel - 1));
  storedColumns = columns + Expr(columnAxis.aheadOf(columnAxis.kernel - 1));
  rowPitch = storedColumns * Expr(columnAxis.phases());
  channelPitch = rowPitch * storedRows * Expr(rowAxis.phases() * shape.axes[0].kernel);
  Expr count = channels * channelPitch + slack;
  Expr offset = k.reserveScratch(count * Expr(accumulator.getIntOrFloatBitWidth() / 8));
  buffer.elementType = accumulator;
  buffer.memref = k.scratchBuffer(offset, count, accumulator);
  buffer.sizes = {k.size(count)};
}

Value Staging::tapOffset(Value plane, Value row, Value column) {
  auto phaseAndAhead = [&](const Axis &axis, Value tap) {
    Value reach = math.mul(tap, axis.dilation), stride = k.index(axis.stride);
    return std::pair(math.div(math.rem(reach, stride), k.index(axis.phaseStep())),
                     math.div(reach, stride));
  };
  auto [rowPhase, rowAhead] = phaseAndAhead(shape.axes[1], row);
  auto [columnPhase, columnAhead] = phaseAndAhead(shape.axes[2], column);
  Value pitch = k.size(rowPitch), rows = k.size(storedRows);
  Value stored = math.add(math.mul(plane, shape.axes[1].phases()), rowPhase);
  stored = math.add(math.mul(stored, rows), rowAhead);
  return math.add(math.add(math.mul(stored, pitch), math.mul(columnPhase, k.size(storedColumns))),
                  columnAhead);
}

void Staging::zero(Value from, Value to) {
  k.vectorLoop(from, to, k.target.lanes(accumulator), [&](ElementBuilder &e, Value at) {
    e.store(e.constant(accumulator, 0), buffer, {at});
  });
}

std::pair<Value, Value> Staging::source(const Axis &axis, Value spreadPosition) {
  Value position = spreadPosition, in = k.size(axis.in), nothing = k.index(0);
  Value exists = math.compare(arith::CmpIPredicate::sge, position, nothing);
  if (axis.spread > 1) {
    // A negative position has no quotient; it does not exist anyway.
    position = math.max(position, nothing);
    Value rest = math.rem(position, k.index(axis.spread));
    Value onElement = math.compare(arith::CmpIPredicate::eq, rest, nothing);
    exists = k.b.createOrFold<arith::AndIOp>(k.loc, exists, onElement);
    position = math.div(position, k.index(axis.spread));
  }
  Value inside = math.compare(arith::CmpIPredicate::slt, position, in);
  return {position, k.b.createOrFold<arith::AndIOp>(k.loc, exists, inside)};
}

Value Staging::element(ElementBuilder &e, const OutputBlock &block, Value channel, Value plane,
                       Value row, Value column) {
  Value x = e.element(spec.x, shape.index(block.n, channel, {plane, row, column}));
  return e.convert(x, type, accumulator);
}

/// Few phases are written out, many share one piece of code.
void Staging::forPhases(const Axis &axis, function_ref<void(Value)> body) {
  if (axis.phases() > maxPhasesWrittenOut)
    return k.loop(k.index(0), k.index(axis.phases()), 1, body);
  for (int64_t i = 0; i < axis.phases(); ++i)
    body(k.index(i));
}

/// All phases of one input row: zeros, what exists, zeros.
void Staging::fillRow(const OutputBlock &block, Value channel, Value plane, Value row, Value at) {
  const Axis &axis = shape.axes[2];
  Value columns = k.size(storedColumns), nothing = k.index(0), stride = k.index(axis.stride);
  /// Column j in [from, to) of a phase holds input column j * stride + first.
  struct Phase {
    Value start, first, from, to;
  };
  auto phaseAt = [&](Value i) {
    Phase phase;
    phase.start = math.add(at, math.mul(columns, i));
    phase.first = math.sub(math.add(math.mul(block.column, stride), math.mul(i, axis.phaseStep())),
                           k.size(axis.pad));
    auto firstAtOrAbove = [&](Value column) {
      Value j = k.b.createOrFold<arith::CeilDivSIOp>(k.loc, math.sub(column, phase.first), stride);
      return math.min(math.max(j, nothing), columns);
    };
    phase.from = firstAtOrAbove(nothing);
    phase.to = math.max(phase.from, firstAtOrAbove(k.size(axis.in)));
    return phase;
  };
  auto copy = [&](const Phase &phase, Value from, Value to, int64_t lanes) {
    k.vectorLoop(from, to, lanes, [&](ElementBuilder &e, Value j) {
      Value column = e.add(e.mul(j, stride), phase.first);
      e.store(element(e, block, channel, plane, row, column), buffer, {e.add(phase.start, j)});
    });
  };
  auto zeroAround = [&](const Phase &phase) {
    if (wholeRows)
      return;
    zero(phase.start, math.add(phase.start, phase.from));
    zero(math.add(phase.start, phase.to), math.add(phase.start, columns));
  };
  if (axis.stride != 2)
    return forPhases(axis, [&](Value i) {
      Phase phase = phaseAt(i);
      zeroAround(phase);
      copy(phase, phase.from, phase.to, k.target.lanes(accumulator));
    });
  SmallVector<Phase, 2> phases;
  for (int64_t i = 0; i < axis.phases(); ++i) {
    phases.push_back(phaseAt(k.index(i)));
    zeroAround(phases.back());
  }
  // Two vectors at a time, taken apart: what all phases have, less the last
  // column when there is one phase, for the other one's element may not exist.
  Value from = phases[0].from, to = math.sub(phases[0].to, k.index(phases.size() == 1 ? 1 : 0));
  if (phases.size() == 2)
    from = math.max(from, phases[1].from), to = math.min(to, phases[1].to);
  to = math.max(from, to);
  k.vectorLoop(from, to, k.target.lanes(accumulator), [&](ElementBuilder &e, Value j) {
    SmallVector<Value, 2> parts;
    for (int64_t i = 0; i < 2; ++i) {
      Value column = math.add(math.add(math.mul(j, stride), phases[0].first), i * e.lanes);
      if (e.lanes > 1) {
        // A value of its own: the builder remembers that its lanes are neighbours.
        column = arith::AddIOp::create(k.b, k.loc, column, nothing);
        e.setConsecutive(column);
      }
      if (e.lanes > 1 || i < static_cast<int64_t>(phases.size()))
        parts.push_back(e.splat(element(e, block, channel, plane, row, column)));
    }
    for (auto [i, phase] : llvm::enumerate(phases)) {
      Value value = parts.size() > i ? parts[i] : parts[0];
      if (e.lanes > 1) {
        SmallVector<int64_t> every;
        for (int64_t lane = 0; lane < e.lanes; ++lane)
          every.push_back(2 * lane + static_cast<int64_t>(i));
        value = vector::ShuffleOp::create(k.b, k.loc, parts[0], parts[1], every);
      }
      e.store(value, buffer, {e.add(phase.start, j)});
    }
  });
  for (const Phase &phase : phases) {
    copy(phase, phase.from, from, 1);
    copy(phase, to, phase.to, 1);
  }
}

/// A row whose elements lie `spread` apart: zeros, then single elements.
void Staging::fillSpreadRow(const OutputBlock &block, Value channel, Value plane, Value row,
                            Value at) {
  const Axis &axis = shape.axes[2];
  Value columns = k.size(storedColumns), spread = k.index(axis.spread), nothing = k.index(0);
  if (!wholeRows)
    zero(at, math.add(at, columns));
  // Input column i lands on i * spread + pad - block.column.
  Value shift = math.sub(k.size(axis.pad), block.column);
  auto firstReaching = [&](Value position) {
    Value i = k.b.createOrFold<arith::CeilDivSIOp>(k.loc, math.sub(position, shift), spread);
    return math.min(math.max(i, nothing), k.size(axis.in));
  };
  k.loop(firstReaching(nothing), firstReaching(columns), 1, [&](Value i) {
    ElementBuilder e = k.elements();
    Value j = math.add(math.mul(i, spread), shift);
    e.store(element(e, block, channel, plane, row, i), buffer, {math.add(at, j)});
  });
}

void Staging::prepare() {
  if (wholeRows)
    zero(k.index(0), buffer.sizes[0]);
}

void Staging::fill(const OutputBlock &block, Value firstChannel, Value count) {
  const Axis &planes = shape.axes[0], &rows = shape.axes[1];
  Value pitch = k.size(rowPitch), depth = k.size(storedRows);
  Value wantedRows = math.add(block.rows, rows.aheadOf(rows.kernel - 1));
  k.loop(k.index(0), count, 1, [&](Value c) {
    Value channel = math.add(firstChannel, c);
    k.loop(k.index(0), k.index(planes.kernel), 1, [&](Value planeTap) {
      Value spreadPlane = math.sub(
          math.add(math.mul(block.plane, planes.stride), math.mul(planeTap, planes.dilation)),
          k.size(planes.pad));
      auto [plane, planeExists] = source(planes, spreadPlane);
      forPhases(rows, [&, plane = plane, planeExists = planeExists](Value phase) {
        Value stored = math.add(
            math.mul(math.add(math.mul(c, planes.kernel), planeTap), rows.phases()), phase);
        Value base = math.mul(math.mul(stored, depth), pitch);
        k.loop(k.index(0), wantedRows, 1, [&, plane = plane, exists = planeExists](Value y) {
          Value spreadRow = math.sub(math.add(math.mul(math.add(block.row, y), rows.stride),
                                              math.mul(phase, rows.phaseStep())),
                                     k.size(rows.pad));
          auto [row, rowExists] = source(rows, spreadRow);
          Value at = math.add(base, math.mul(y, pitch));
          Value both = k.b.createOrFold<arith::AndIOp>(k.loc, exists, rowExists);
          k.branch(
              both,
              [&, row = row] {
                if (shape.axes[2].spread > 1)
                  fillSpreadRow(block, channel, plane, row, at);
                else
                  fillRow(block, channel, plane, row, at);
              },
              [&] { zero(at, math.add(at, pitch)); });
        });
      });
    });
  });
}
