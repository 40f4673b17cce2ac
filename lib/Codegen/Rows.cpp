//===- Rows.cpp - Kernels that work row by row ----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Codegen/Rows.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kiln;

/// Rows side by side that make a unit, at most.
static constexpr int64_t sideBySideUnit = 128;
/// Vectors that a reduction along a row works on at once: an addition takes
/// four cycles, and two can start in each.
static constexpr int64_t reductionChains = 4;
/// Steps that a partial result takes before it joins the total: rounding errors
/// grow with the length of a chain of additions.
static constexpr int64_t blockLength = 32;
/// What starting a row costs.
static constexpr int64_t picosecondsPerRow = 4000;

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

/// Widths to use on `size` elements, widest first and ending in 1, but those
/// that a known size has no use for.
static SmallVector<int64_t> usefulWidths(const Expr &size, ArrayRef<int64_t> widths) {
  SmallVector<int64_t> useful;
  std::optional<int64_t> rest = size.constant();
  for (int64_t width : widths) {
    if (rest && *rest < width)
      continue;
    if (!useful.empty() && useful.back() == width)
      continue;
    useful.push_back(width);
    if (rest)
      *rest %= width;
  }
  return useful;
}

Values kiln::foldLanes(KernelBuilder &k, ValueRange vectors, int64_t lanes, Row::Combine combine) {
  Values values(vectors);
  while (!values.empty()) {
    int64_t width = cast<VectorType>(values[0].getType()).getNumElements();
    if (width <= lanes)
      break;
    Values low, high;
    for (Value value : values) {
      for (int64_t part : {0, 1})
        (part ? high : low)
            .push_back(vector::ExtractStridedSliceOp::create(
                k.b, k.loc, value, ArrayRef<int64_t>(part * width / 2), ArrayRef(width / 2),
                ArrayRef<int64_t>(1)));
    }
    values = combine(low, high);
  }
  if (lanes == 1)
    for (Value &value : values)
      value = vector::ExtractOp::create(k.b, k.loc, value, int64_t(0));
  return values;
}

static Value splatTo(KernelBuilder &k, Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(k.b, k.loc, VectorType::get({lanes}, scalar.getType()),
                                     scalar);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Rows::Rows(KernelBuilder &k, Operation *anchor, ArrayRef<bool> alongAxes, Result result)
    : k(k), anchor(anchor), shape(shapeOf(anchor->getOperand(0))), along(alongAxes) {
  operandDirect = k.memoryOf(anchor->getOperand(0)) != nullptr;
  resultDirect = k.results().size() == 1 && k.resultBufferOf(anchor->getResult(0));
  resultHasRows = result == Result::Whole;
  nativeLanes = k.commonLanes();
  for (auto [dim, inRow] : llvm::zip(shape, along)) {
    if (inRow)
      rowLength = rowLength * dim;
    // A device's threads have a row each, and go side by side by themselves.
    if (!dim.isConstant(1))
      sideBySide = !inRow && !k.target.isDevice;
  }
  bool mergeBoth = operandDirect && resultDirect;
  reading = groupAxes(operandDirect, mergeBoth);
  storing = groupAxes(mergeBoth, mergeBoth);
}

Rows::Groups Rows::groupAxes(bool mergeRow, bool mergeOthers) const {
  Groups groups;
  bool adjacent = false;
  for (auto [dim, inRow] : llvm::zip(shape, along)) {
    bool merge = inRow ? mergeRow : mergeOthers;
    if (merge && dim.isConstant(1))
      continue;
    if (merge && adjacent && groups.list.back().along == inRow)
      groups.list.back().size = groups.list.back().size * dim;
    else
      groups.list.push_back({dim, inRow});
    adjacent = merge;
  }
  for (const Group &group : groups.list) {
    groups.sizes.push_back(k.size(group.size));
    if (!group.along)
      continue;
    if (!group.size.isConstant(1))
      groups.looped.push_back(static_cast<unsigned>(groups.alongSizes.size()));
    groups.alongSizes.push_back(groups.sizes.back());
    groups.alongShape.push_back(group.size);
  }
  if (operandDirect) {
    groups.operand = *k.memoryOf(anchor->getOperand(0));
    groups.operand.sizes = groups.sizes;
  }
  if (resultDirect) {
    groups.result = k.resultBuffer(0);
    if (resultHasRows) {
      groups.result.sizes = groups.sizes;
    } else {
      groups.result.sizes.clear();
      for (auto [group, size] : llvm::zip(groups.list, groups.sizes))
        if (!group.along)
          groups.result.sizes.push_back(size);
    }
  }
  return groups;
}

void Rows::placeStage(int64_t lanes) {
  if (!stageType)
    return;
  if (operandDirect && resultDirect && resultHasRows &&
      elementTypeOf(anchor->getResult(0)) == stageType) {
    stageInResult = true;
    return;
  }
  Expr count = sideBySide ? rowLength * Expr(lanes) : rowLength;
  Expr offset = k.reserveScratch(count * Expr(int64_t(stageType.getIntOrFloatBitWidth() / 8)));
  stageBuffer = {k.scratchBuffer(offset, count, stageType), stageType, {k.size(rowLength)}};
  if (sideBySide)
    stageBuffer.sizes.push_back(k.index(lanes));
}

void Rows::forEach(int64_t picosecondsPerElement, int64_t unroll, function_ref<void(Row &)> body) {
  SmallVector<Value> sizes;
  Expr count = 1, laneSize = 1;
  std::optional<size_t> laneGroup;
  for (auto [group, size] : llvm::zip(storing.list, storing.sizes)) {
    if (group.along)
      continue;
    if (sideBySide && !group.size.isConstant(1)) {
      laneGroup = sizes.size();
      laneSize = group.size;
    }
    sizes.push_back(size);
    count = count * group.size;
  }
  placeStage(nativeLanes * unroll);
  Expr rowCost = rowLength * Expr(picosecondsPerElement) + Expr(picosecondsPerRow);
  if (!laneGroup) {
    k.setUnits(count, rowCost);
    k.loop(k.begin, k.end, 1, [&](Value unit) {
      Row row(*this, k.elements().delinearize(unit, sizes), 1, nullptr);
      body(row);
    });
    return;
  }

  // A unit is a piece of the innermost axis, at one place of the others.
  Expr pieces = Expr::ceilDiv(laneSize, sideBySideUnit);
  Value pieceCount = k.size(pieces), laneCount = sizes[*laneGroup];
  sizes[*laneGroup] = pieceCount;
  Expr units = pieces;
  size_t next = 0;
  for (const Group &group : storing.list)
    if (!group.along && next++ != *laneGroup)
      units = units * group.size;
  k.setUnits(units, rowCost * Expr::min(laneSize, sideBySideUnit));
  k.loop(k.begin, k.end, 1, [&](Value unit) {
    Index others = k.elements().delinearize(unit, sizes);
    Value pieceSize = k.index(sideBySideUnit);
    Value from = arith::MulIOp::create(k.b, k.loc, others[*laneGroup], pieceSize);
    Value to = arith::MinSIOp::create(
        k.b, k.loc, arith::AddIOp::create(k.b, k.loc, from, pieceSize), laneCount);
    bool gaveUp = false;
    for (int64_t width : usefulWidths(laneSize, {nativeLanes * unroll, nativeLanes, 1})) {
      if (gaveUp && width > 1)
        continue;
      Value end = k.endOfVectors(from, to, width);
      k.loop(from, end, width, [&](Value lane) {
        Index here(others);
        here[*laneGroup] = lane;
        Row row(*this, here, width, lane);
        body(row);
        gaveUp = width > 1 && row.gaveUp;
      });
      if (gaveUp)
        std::prev(k.b.getInsertionPoint())->erase();
      else
        from = end;
    }
  });
}

//===----------------------------------------------------------------------===//
// Row
//===----------------------------------------------------------------------===//

ElementBuilder Row::builder(int64_t width, Value consecutive) {
  ElementBuilder e = k.elements(width);
  if (width > 1)
    e.setConsecutive(consecutive);
  return e;
}

ElementBuilder Row::builder() { return builder(lanes, laneCoordinate); }

Row::At Row::start(bool storing) {
  At at{{}, storing};
  at.coordinates.assign(groups(at).alongSizes.size(), nullptr);
  for (Value &coordinate : at.coordinates)
    coordinate = k.index(0);
  return at;
}

Values Row::nest(ArrayRef<unsigned> looped, At &at, ValueRange carried, Inner inner) {
  if (looped.empty())
    return inner(at, carried);
  return k.loop(k.index(0), groups(at).alongSizes[looped[0]], 1, carried,
                [&](Value iv, ValueRange values) {
                  at.coordinates[looped[0]] = iv;
                  return nest(looped.drop_front(), at, values, inner);
                });
}

Values Row::inBlocks(Value from, Value to, int64_t step, const Expr &size, ValueRange identity,
                     ValueRange init, Combine combine,
                     function_ref<Values(Value, ValueRange)> body) {
  int64_t block = blockLength * step;
  if (size.constant().value_or(2 * block) <= block)
    return k.loop(from, to, step, init, body);
  return k.loop(from, to, block, init, [&](Value start, ValueRange totals) {
    Value end = arith::MinSIOp::create(
        k.b, k.loc, arith::AddIOp::create(k.b, k.loc, start, k.index(block)), to);
    return combine(totals, k.loop(start, end, step, identity, body));
  });
}

Values Row::reduce(ValueRange identity, Step step, Combine combine) {
  At at = start(/*storing=*/false);
  ArrayRef<unsigned> looped = rows.reading.looped;
  if (lanes == 1 && !rows.sideBySide && !looped.empty())
    return nest(looped.drop_back(), at, identity, [&](At &at, ValueRange totals) {
      return reduceAlong(looped.back(), at, identity, totals, step, combine);
    });
  Values nothing(identity);
  if (lanes > 1)
    for (Value &value : nothing)
      value = splatTo(k, value, lanes);
  auto add = [&](At &at, ValueRange carried) {
    ElementBuilder e = builder();
    Values next = step(e, at, carried);
    for (Value &value : next)
      value = e.splat(value);
    gaveUp |= e.gaveUp();
    return next;
  };
  if (looped.empty())
    return add(at, nothing);
  unsigned group = looped.back();
  return nest(looped.drop_back(), at, nothing, [&](At &at, ValueRange totals) {
    return inBlocks(k.index(0), groups(at).alongSizes[group], 1, groups(at).alongShape[group],
                    nothing, totals, combine, [&](Value iv, ValueRange carried) {
                      at.coordinates[group] = iv;
                      return add(at, carried);
                    });
  });
}

Values Row::reduceAlong(unsigned group, At &at, ValueRange identity, ValueRange totals, Step step,
                        Combine combine) {
  Value from = k.index(0), to = groups(at).alongSizes[group];
  int64_t native = rows.nativeLanes, chains = k.target.isDevice ? 1 : reductionChains;
  const Expr &size = groups(at).alongShape[group];
  Values vectors, result(totals);
  bool noLanes = false;
  auto finishVectors = [&] {
    if (!vectors.empty())
      result = combine(result, foldLanes(k, vectors, 1, combine));
    vectors.clear();
  };
  for (int64_t width : usefulWidths(size, {native * chains, native, 1})) {
    if (noLanes && width > 1)
      continue;
    Values init;
    if (width == 1) {
      finishVectors();
      init = result;
    } else if (vectors.empty()) {
      for (Value value : identity)
        init.push_back(splatTo(k, value, width));
    } else {
      init = foldLanes(k, vectors, width, combine);
    }
    Value end = k.endOfVectors(from, to, width);
    Values next = k.loop(from, end, width, init, [&](Value iv, ValueRange carried) {
      ElementBuilder e = builder(width, iv);
      at.coordinates[group] = iv;
      Values values = step(e, at, carried);
      for (Value &value : values)
        value = e.splat(value);
      noLanes = e.gaveUp();
      return values;
    });
    if (width == 1) {
      result = next;
    } else if (noLanes) {
      next.front().getDefiningOp()->erase();
    } else {
      vectors = next;
      from = end;
    }
  }
  finishVectors();
  return result;
}

void Row::each(Visit visit) {
  At at = start(/*storing=*/true);
  ArrayRef<unsigned> looped = rows.storing.looped;
  if (lanes > 1 || rows.sideBySide || looped.empty()) {
    nest(looped, at, {}, [&](At &at, ValueRange) {
      ElementBuilder e = builder();
      visit(e, at);
      gaveUp |= e.gaveUp();
      return Values();
    });
    return;
  }
  nest(looped.drop_back(), at, {}, [&](At &at, ValueRange) {
    k.vectorLoop(k.index(0), groups(at).alongSizes[looped.back()], rows.nativeLanes,
                 [&](ElementBuilder &e, Value iv) {
                   at.coordinates[looped.back()] = iv;
                   visit(e, at);
                 });
    return Values();
  });
}

void Row::scan(bool backward, ValueRange init, Step step) {
  At at = start(/*storing=*/true);
  Values carried(init);
  if (lanes > 1)
    for (Value &value : carried)
      value = splatTo(k, value, lanes);
  nest(rows.storing.looped, at, carried, [&](At &at, ValueRange values) {
    ElementBuilder e = builder();
    At here = at;
    if (backward)
      for (unsigned group : rows.storing.looped)
        here.coordinates[group] =
            e.sub(e.sub(rows.storing.alongSizes[group], k.index(1)), at.coordinates[group]);
    Values next = step(e, here, values);
    for (Value &value : next)
      value = e.splat(value);
    gaveUp |= e.gaveUp();
    return next;
  });
}

Index Row::indexOf(const At &at) const {
  Index index;
  size_t inRow = 0, outside = 0;
  for (const Rows::Group &group : groups(at).list)
    index.push_back(group.along ? at.coordinates[inRow++] : others[outside++]);
  return index;
}

Value Row::operand(ElementBuilder &e, const At &at) {
  if (rows.operandDirect)
    return e.load(groups(at).operand, indexOf(at));
  return e.element(rows.anchor->getOperand(0), indexOf(at));
}

Value Row::number(ElementBuilder &e, const At &at) {
  Value number = k.index(0);
  for (auto [coordinate, size] : llvm::zip(at.coordinates, groups(at).alongSizes))
    number = matchPattern(number, m_Zero()) ? coordinate : e.add(e.mul(number, size), coordinate);
  return number;
}

void Row::stage(ElementBuilder &e, const At &at, Value value) {
  if (rows.stageInResult) {
    Buffer buffer = groups(at).result;
    buffer.sizes = groups(at).sizes;
    return e.store(value, buffer, indexOf(at));
  }
  Index index{number(e, at)};
  if (rows.sideBySide) {
    index.push_back(k.index(0));
    e.setConsecutive(index.back());
  }
  e.store(value, rows.stageBuffer, index);
}

Value Row::staged(ElementBuilder &e, const At &at) {
  if (rows.stageInResult) {
    Buffer buffer = groups(at).result;
    buffer.sizes = groups(at).sizes;
    return e.load(buffer, indexOf(at));
  }
  Index index{number(e, at)};
  if (rows.sideBySide) {
    index.push_back(k.index(0));
    e.setConsecutive(index.back());
  }
  return e.load(rows.stageBuffer, index);
}

void Row::storeResult(ElementBuilder &e, Value value, ArrayRef<Value> index, const Buffer &direct) {
  if (rows.resultDirect)
    return e.store(value, direct, index);
  e.setSource(rows.anchor->getResult(0),
              [value](ElementBuilder &, ArrayRef<Value>) { return value; });
  k.storeResults(e, index);
}

void Row::store(ElementBuilder &e, const At &at, Value value) {
  storeResult(e, value, indexOf(at), rows.storing.result);
}

void Row::storeReduced(Value value) {
  ElementBuilder e = builder();
  Index index;
  if (rows.resultDirect) {
    index = others;
  } else {
    // Nothing was merged: groups are axes.
    bool keepsRank = rankOf(rows.anchor->getResult(0)) == static_cast<int64_t>(rows.shape.size());
    size_t outside = 0;
    for (bool inRow : rows.along) {
      if (!inRow)
        index.push_back(others[outside++]);
      else if (keepsRank)
        index.push_back(k.index(0));
    }
  }
  storeResult(e, value, index, rows.storing.result);
  gaveUp |= e.gaveUp();
}
