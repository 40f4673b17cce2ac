//===- Epilogue.cpp - From a tile's sums to the results -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile.h"
#include "kiln/Codegen/PullCost.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kiln;
using namespace kiln::contraction;

/// Ops an element above which the epilogue is a loop over the stored tile: a
/// long computation on all accumulators would spill and repeat its code.
static constexpr unsigned maxOpsInRegisters = 16;

Epilogue::Epilogue(KernelBuilder &k, Operation *anchor, const TileShape &largest, IndexFn indexOf)
    : k(k), anchor(anchor), type(accumulatorType(elementTypeOf(anchor->getResult(0)))),
      indexOf(std::move(indexOf)), width(largest.columns()) {
  int64_t bytes = largest.rows * width * type.getIntOrFloatBitWidth() / 8;
  tileOffset = k.reserveScratch(bytes);
  probe(largest);
}

/// Builds one element's epilogue to see what it takes, and drops it.
void Epilogue::probe(const TileShape &tile) {
  auto block = std::make_unique<Block>();
  OpBuilder::InsertionGuard guard(k.b);
  k.b.setInsertionPointToEnd(block.get());
  ElementBuilder e = k.elements(tile.lanes);
  Value row = k.index(7), column = k.index(9);
  e.setConsecutive(column);
  auto vectorType = VectorType::get({tile.lanes}, type);
  Value sum = arith::ConstantOp::create(k.b, k.loc, k.b.getZeroAttr(vectorType));
  e.setSource(anchor->getResult(0), [&](ElementBuilder &e, ArrayRef<Value>) {
    return e.narrow(sum, elementTypeOf(anchor->getResult(0)));
  });
  k.storeResults(e, indexOf(e, row, column));
  inRegisters = !e.gaveUp() && vectorCost(*block) < maxOpsInRegisters;
  block->dropAllReferences();
  block->clear();
}

void Epilogue::store(const TileShape &tile, ArrayRef<Value> sums, const Place &place) {
  if (!inRegisters)
    return storeByLoop(tile, sums, place);
  if (!place.validColumns)
    return storeFromRegisters(tile, sums, place);
  Value whole = arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::sge, place.validColumns,
                                      k.index(tile.columns()));
  k.branch(
      whole, [&] { storeFromRegisters(tile, sums, place); },
      [&] { storeByLoop(tile, sums, place); });
}

void Epilogue::storeFromRegisters(const TileShape &tile, ArrayRef<Value> sums, const Place &place) {
  IndexMath math(k.b, k.loc);
  auto storeRow = [&](int64_t r) {
    for (int64_t v = 0; v < tile.vectors; ++v) {
      ElementBuilder e = k.elements(tile.lanes);
      Value column = math.add(place.column, v * tile.lanes);
      e.setConsecutive(column);
      e.setSource(anchor->getResult(0), [&](ElementBuilder &e, ArrayRef<Value>) {
        return e.narrow(sums[r * tile.vectors + v], elementTypeOf(anchor->getResult(0)));
      });
      k.storeResults(e, indexOf(e, math.add(place.row, r), column));
    }
  };
  for (int64_t r = 0; r < tile.rows; ++r) {
    if (!place.validRows || r == 0) {
      storeRow(r);
      continue;
    }
    Value exists =
        arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::slt, k.index(r), place.validRows);
    k.branch(exists, [&] { storeRow(r); });
  }
}

void Epilogue::storeByLoop(const TileShape &tile, ArrayRef<Value> sums, const Place &place) {
  IndexMath math(k.b, k.loc);
  Buffer buffer;
  buffer.elementType = type;
  buffer.memref = k.scratchBuffer(tileOffset, tile.rows * width, type);
  buffer.sizes = {k.index(tile.rows), k.index(width)};
  for (int64_t r = 0; r < tile.rows; ++r)
    for (int64_t v = 0; v < tile.vectors; ++v)
      vector::StoreOp::create(k.b, k.loc, sums[r * tile.vectors + v], buffer.memref,
                              ValueRange{k.index(r * width + v * tile.lanes)});
  Value rows = place.validRows ? math.min(place.validRows, k.index(tile.rows)) : k.index(tile.rows);
  Value columns = place.validColumns ? math.min(place.validColumns, k.index(tile.columns()))
                                     : k.index(tile.columns());
  k.loop(k.index(0), rows, 1, [&](Value r) {
    Value row = math.add(place.row, r);
    k.vectorLoop(k.index(0), columns, tile.lanes, [&](ElementBuilder &e, Value c) {
      e.setSource(anchor->getResult(0), [&](ElementBuilder &e, ArrayRef<Value>) {
        return e.narrow(e.load(buffer, {r, c}), elementTypeOf(anchor->getResult(0)));
      });
      k.storeResults(e, indexOf(e, row, e.add(place.column, c)));
    });
  });
}

Value contraction::interleave(OpBuilder &b, Location loc, SmallVector<Value> vectors) {
  // First those that lie half of them apart, last the even and the odd ones.
  while (vectors.size() > 1) {
    size_t half = vectors.size() / 2;
    SmallVector<Value> merged;
    for (size_t i = 0; i < half; ++i) {
      int64_t length = cast<VectorType>(vectors[i].getType()).getDimSize(0);
      SmallVector<int64_t> order;
      for (int64_t lane = 0; lane < length; ++lane)
        order.append({lane, length + lane});
      merged.push_back(vector::ShuffleOp::create(b, loc, vectors[i], vectors[i + half], order));
    }
    vectors = std::move(merged);
  }
  return vectors[0];
}

bool contraction::canCollapse(KernelBuilder &k, Operation *anchor, size_t first, size_t last) {
  Shape shape = shapeOf(anchor->getResult(0));
  auto covers = [&](Value tensor) {
    Shape dims = shapeOf(tensor);
    if (dims.size() > shape.size())
      return false;
    size_t lead = shape.size() - dims.size();
    bool all = true, none = true;
    for (size_t d = first; d < last; ++d) {
      bool present = d >= lead;
      all &= present && dims[d - lead] == shape[d];
      none &= !present || dims[d - lead].isConstant(1);
    }
    // What is broadcast is read at 0 along a dim of size 1, but the last of the
    // dims is the one that counts through all of them.
    if (!none && dims != shape && shape[last - 1].isConstant(1))
      return false;
    return all || none;
  };
  SmallVector<Value> work(k.results());
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (op && op->hasTrait<OpTrait::ConstantLike>())
      continue;
    if (!covers(value))
      return false;
    if (!op || op == anchor)
      continue;
    const OpKernels *kernels = k.table.find(op);
    if (!kernels || !kernels->pointwise)
      return false;
    work.append(op->operand_begin(), op->operand_end());
  }
  return true;
}

void contraction::forUnits(KernelBuilder &k, Value innerCount,
                           function_ref<void(Value, Value, Value)> body) {
  IndexMath math(k.b, k.loc);
  // Sizes of 0 give no units, but the divisor must not be 0.
  Value divisor = math.max(innerCount, k.index(1));
  k.loop(math.div(k.begin, divisor), math.ceilDiv(k.end, divisor), 1, [&](Value outer) {
    Value first = math.mul(outer, innerCount);
    body(outer, math.max(math.sub(k.begin, first), k.index(0)),
         math.min(math.sub(k.end, first), innerCount));
  });
}
