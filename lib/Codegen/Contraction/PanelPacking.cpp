//===- PanelPacking.cpp - Columns into a panel ----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kiln;
using namespace kiln::contraction;

/// Rows of a square block as its columns: blocks off the diagonal change places
/// at every size from half of it down to one element.
static void transposeSquare(KernelBuilder &k, MutableArrayRef<Value> rows) {
  auto size = static_cast<int64_t>(rows.size());
  for (int64_t half = size / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> upper, lower;
    for (int64_t lane = 0; lane < size; ++lane) {
      bool high = (lane & half) != 0;
      upper.push_back(high ? size + lane - half : lane);
      lower.push_back(high ? size + lane : lane + half);
    }
    for (int64_t i = 0; i < size; ++i)
      if ((i & half) == 0) {
        Value a = rows[i], b = rows[i + half];
        rows[i] = vector::ShuffleOp::create(k.b, k.loc, a, b, upper);
        rows[i + half] = vector::ShuffleOp::create(k.b, k.loc, a, b, lower);
      }
  }
}

namespace {
class PanelPacker {
public:
  PanelPacker(KernelBuilder &k, const Buffer &target, Type type, PanelElement element,
              const StridedColumns *strided)
      : k(k), math(k.b, k.loc), target(target), type(type), element(element), strided(strided),
        lanes(k.target.lanes(target.elementType)) {}

  void byTransposing(Value validColumns);
  void byRows(Value validColumns);
  void zeroFrom(Value column);

private:
  Value depth() const { return target.sizes[0]; }
  Value width() const { return target.sizes[1]; }
  Value position(Value at, Value column) {
    return math.add(strided->base, math.add(math.mul(at, strided->kStride),
                                            math.mul(column, strided->columnStride)));
  }
  void store(ElementBuilder &e, Value element, Value at, Value column) {
    e.store(e.convert(element, type, target.elementType), target, {at, column});
  }
  Type stored(int64_t count) {
    Type scalar = cast<MemRefType>(strided->memref.getType()).getElementType();
    return count == 1 ? scalar : VectorType::get({count}, scalar);
  }
  Value load(Value at, Value column, int64_t count) {
    if (count == 1)
      return memref::LoadOp::create(k.b, k.loc, strided->memref, position(at, column));
    return vector::LoadOp::create(k.b, k.loc, cast<VectorType>(stored(count)), strided->memref,
                                  position(at, column));
  }
  /// The element, or lanes along the consecutive index, which lie side by side.
  Value get(ElementBuilder &e, Value at, Value column) {
    return strided ? load(at, column, e.lanes) : element(e, at, column);
  }

  KernelBuilder &k;
  IndexMath math;
  const Buffer &target;
  Type type;
  PanelElement element;
  const StridedColumns *strided;
  int64_t lanes;
};
} // namespace

/// Neighbours lie along k: whole squares through registers, the rest element by
/// element.
void PanelPacker::byTransposing(Value validColumns) {
  Value from = k.index(0), step = k.index(lanes);
  Value wholeColumns = math.sub(validColumns, math.rem(validColumns, step));
  k.loop(from, wholeColumns, lanes, [&](Value column) {
    k.vectorLoop(from, depth(), lanes, [&](ElementBuilder &e, Value at) {
      if (e.lanes < lanes)
        return k.loop(from, step, 1, [&](Value i) {
          Value here = math.add(column, i);
          store(e, get(e, at, here), at, here);
        });
      SmallVector<Value, 16> rows;
      for (int64_t i = 0; i < lanes; ++i)
        rows.push_back(
            e.splat(e.convert(get(e, at, math.add(column, i)), type, target.elementType)));
      transposeSquare(k, rows);
      for (int64_t i = 0; i < lanes; ++i)
        vector::StoreOp::create(k.b, k.loc, rows[i], target.memref,
                                ValueRange{math.add(math.mul(math.add(at, i), width()), column)});
    });
  });
  k.loop(wholeColumns, validColumns, 1, [&](Value column) {
    k.vectorLoop(from, depth(), lanes,
                 [&](ElementBuilder &e, Value at) { store(e, get(e, at, column), at, column); });
  });
}

void PanelPacker::byRows(Value validColumns) {
  bool contiguous = !strided || math.constantOf(strided->columnStride) == 1;
  k.loop(k.index(0), depth(), 1, [&](Value at) {
    k.vectorLoop(k.index(0), validColumns, lanes, [&](ElementBuilder &e, Value column) {
      if (contiguous || e.lanes == 1)
        return store(e, get(e, at, column), at, column);
      SmallVector<Value> parts;
      for (int64_t lane = 0; lane < e.lanes; ++lane)
        parts.push_back(load(at, math.add(column, lane), 1));
      store(e, vector::FromElementsOp::create(k.b, k.loc, cast<VectorType>(stored(e.lanes)), parts),
            at, column);
    });
  });
}

void PanelPacker::zeroFrom(Value column) {
  k.loop(k.index(0), depth(), 1, [&](Value at) {
    k.loop(column, width(), 1, [&](Value c) {
      ElementBuilder e = k.elements();
      e.store(e.constant(target.elementType, 0), target, {at, c});
    });
  });
}

void contraction::packPanel(KernelBuilder &k, const Buffer &target, Type type, Value validColumns,
                            PanelElement element, const std::optional<StridedColumns> &strided,
                            bool pulledAlongK) {
  PanelPacker packer(k, target, type, element, strided ? &*strided : nullptr);
  bool alongK = strided ? IndexMath::constantOf(strided->kStride) == 1 &&
                              IndexMath::constantOf(strided->columnStride) != 1
                        : pulledAlongK;
  if (alongK)
    packer.byTransposing(validColumns);
  else
    packer.byRows(validColumns);
  k.branch(
      arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::slt, validColumns, target.sizes[1]),
      [&] { packer.zeroFrom(validColumns); });
}
