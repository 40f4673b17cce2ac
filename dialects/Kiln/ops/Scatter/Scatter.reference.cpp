//===- Scatter.reference.cpp - Updates at computed places, reference ------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Scatter/Scatter.h"
#include "kiln/Reference/MoveElements.h"
#include "kiln/Reference/ReferenceTable.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

/// y[to] combined with updates[from].
static void update(TensorData &y, int64_t to, const TensorData &updates, int64_t from,
                   StringRef reduction) {
  if (reduction == "none")
    return copyElement(y, to, updates, from);
  Type type = y.elementType();
  if (isa<FloatType>(type)) {
    double a = y.getFloat(to), b = updates.getFloat(from);
    bool nan = std::isnan(a) || std::isnan(b);
    y.setFloat(to, reduction == "add"   ? a + b
                   : reduction == "mul" ? a * b
                   : nan                ? a + b
                   : reduction == "min" ? std::min(a, b)
                                        : std::max(a, b));
    return;
  }
  int64_t a = y.getInt(to), b = updates.getInt(from);
  bool less =
      type.isUnsignedInteger() ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
  auto wrap = [](uint64_t value) { return static_cast<int64_t>(value); };
  y.setInt(to, reduction == "add"   ? wrap(static_cast<uint64_t>(a) + static_cast<uint64_t>(b))
               : reduction == "mul" ? wrap(static_cast<uint64_t>(a) * static_cast<uint64_t>(b))
               : reduction == "min" ? (less ? a : b)
                                    : (less ? b : a));
}

static FailureOr<int64_t> placeOf(Operation *op, int64_t index, int64_t dim) {
  if (index < -dim || index >= dim)
    return op->emitError("index ") << index << " is out of range for a dimension of " << dim;
  return index < 0 ? index + dim : index;
}

static void copyAll(TensorData &y, const TensorData &x) {
  std::memcpy(y.mutableBytes(), x.bytes(), static_cast<size_t>(x.byteSize()));
}

static LogicalResult scatterElements(Operation *op, ArrayRef<TensorData> operands,
                                     MutableArrayRef<TensorData> results) {
  auto scatter = ::cast<ScatterElementsOp>(op);
  const TensorData &indices = operands[1], &updates = operands[2];
  TensorData &y = results[0];
  copyAll(y, operands[0]);
  bool legal = true;
  forEachIndex(updates.shape(), [&](ArrayRef<int64_t> index, int64_t i) {
    IntIndex at(index);
    auto place =
        legal ? placeOf(op, indices.getInt(i), y.shape()[scatter.getAxis()]) : FailureOr<int64_t>();
    legal &= succeeded(place);
    if (!legal)
      return;
    at[scatter.getAxis()] = *place;
    update(y, positionOf(at, y.shape()), updates, i, scatter.getReduction());
  });
  return success(legal);
}

static LogicalResult scatterND(Operation *op, ArrayRef<TensorData> operands,
                               MutableArrayRef<TensorData> results) {
  const TensorData &indices = operands[1], &updates = operands[2];
  TensorData &y = results[0];
  copyAll(y, operands[0]);
  size_t lead = static_cast<size_t>(indices.rank()) - 1;
  int64_t depth = indices.shape().back();
  bool legal = true;
  forEachIndex(updates.shape(), [&](ArrayRef<int64_t> index, int64_t i) {
    IntIndex at;
    int64_t tuple = positionOf(index.take_front(lead), indices.shape().drop_back()) * depth;
    for (int64_t j = 0; j < depth && legal; ++j) {
      auto place = placeOf(op, indices.getInt(tuple + j), y.shape()[static_cast<size_t>(j)]);
      legal &= succeeded(place);
      at.push_back(place.value_or(0));
    }
    if (!legal)
      return;
    llvm::append_range(at, index.drop_front(lead));
    update(y, positionOf(at, y.shape()), updates, i, ::cast<ScatterNDOp>(op).getReduction());
  });
  return success(legal);
}

static LogicalResult tensorScatter(Operation *op, ArrayRef<TensorData> operands,
                                   MutableArrayRef<TensorData> results) {
  auto scatter = ::cast<TensorScatterOp>(op);
  const TensorData &update = operands[1];
  TensorData &y = results[0];
  size_t axis = scatter.getAxis();
  int64_t size = y.shape()[axis];
  copyAll(y, operands[0]);
  forEachIndex(update.shape(), [&](ArrayRef<int64_t> index, int64_t i) {
    IntIndex at(index);
    at[axis] += operands.size() > 2 ? operands[2].getInt(index[0]) : 0;
    if (scatter.getCircular())
      at[axis] = ((at[axis] % size) + size) % size;
    if (at[axis] >= 0 && at[axis] < size)
      copyElement(y, positionOf(at, y.shape()), update, i);
  });
  return success();
}

namespace kiln {
void registerScatterReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerScatterReferences(ReferenceTable &table) {
  table.add<ScatterElementsOp>(scatterElements);
  table.add<TensorScatterOp>(tensorScatter);
  table.add<ScatterNDOp>(scatterND);
}
