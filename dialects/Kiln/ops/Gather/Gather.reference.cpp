//===- Gather.reference.cpp - Elements at computed places, reference ------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Gather/Gather.h"
#include "kiln/Reference/MoveElements.h"
#include "kiln/Reference/ReferenceTable.h"

using namespace mlir;
using namespace kiln;

/// An index operand's element as a place; fails (reported) out of range.
static FailureOr<int64_t> placeOf(Operation *op, const TensorData &indices, int64_t i,
                                  int64_t dim) {
  int64_t index = indices.getInt(i);
  if (index < -dim || index >= dim)
    return op->emitError("index ") << index << " is out of range for a dimension of " << dim;
  return index < 0 ? index + dim : index;
}

static LogicalResult gather(Operation *op, ArrayRef<TensorData> operands,
                            MutableArrayRef<TensorData> results) {
  size_t axis = ::cast<GatherOp>(op).getAxis();
  const TensorData &x = operands[0], &indices = operands[1];
  auto rank = static_cast<size_t>(indices.rank());
  SmallVector<int64_t> places;
  for (int64_t i = 0; i < indices.size() && results[0].size(); ++i) {
    auto place = placeOf(op, indices, i, x.shape()[axis]);
    if (failed(place))
      return failure();
    places.push_back(*place);
  }
  moveElements(x, results[0], [&](ArrayRef<int64_t> index) {
    IntIndex at(index.take_front(axis));
    at.push_back(places[positionOf(index.slice(axis, rank), indices.shape())]);
    llvm::append_range(at, index.drop_front(axis + rank));
    return at;
  });
  return success();
}

static LogicalResult gatherElements(Operation *op, ArrayRef<TensorData> operands,
                                    MutableArrayRef<TensorData> results) {
  size_t axis = ::cast<GatherElementsOp>(op).getAxis();
  const TensorData &x = operands[0], &indices = operands[1];
  bool legal = true;
  moveElements(x, results[0], [&](ArrayRef<int64_t> index) {
    IntIndex at(index);
    int64_t i = positionOf(index, indices.shape());
    auto place = legal ? placeOf(op, indices, i, x.shape()[axis]) : FailureOr<int64_t>(0);
    legal &= succeeded(place);
    at[axis] = place.value_or(0);
    return at;
  });
  return success(legal);
}

static LogicalResult gatherND(Operation *op, ArrayRef<TensorData> operands,
                              MutableArrayRef<TensorData> results) {
  size_t batch = ::cast<GatherNDOp>(op).getBatchDims();
  const TensorData &x = operands[0], &indices = operands[1];
  int64_t depth = indices.shape().back();
  size_t lead = static_cast<size_t>(indices.rank()) - 1;
  bool legal = true;
  moveElements(x, results[0], [&](ArrayRef<int64_t> index) {
    IntIndex at(index.take_front(batch));
    int64_t tuple = positionOf(index.take_front(lead), indices.shape().drop_back()) * depth;
    for (int64_t i = 0; i < depth; ++i) {
      int64_t dim = x.shape()[batch + static_cast<size_t>(i)];
      auto place = legal ? placeOf(op, indices, tuple + i, dim) : FailureOr<int64_t>(0);
      legal &= succeeded(place);
      at.push_back(place.value_or(0));
    }
    llvm::append_range(at, index.drop_front(lead));
    return at;
  });
  return success(legal);
}

namespace kiln {
void registerGatherReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerGatherReferences(ReferenceTable &table) {
  table.add<GatherOp>(gather);
  table.add<GatherElementsOp>(gatherElements);
  table.add<GatherNDOp>(gatherND);
}
