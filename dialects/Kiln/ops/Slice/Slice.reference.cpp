//===- Slice.reference.cpp - Parts of tensors, reference ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Slice/Slice.h"
#include "kiln/Reference/MoveElements.h"
#include "kiln/Reference/ReferenceTable.h"
#include <array>
#include <limits>

using namespace mlir;
using namespace kiln;

static LogicalResult slice(Operation *op, ArrayRef<TensorData> operands,
                           MutableArrayRef<TensorData> results) {
  auto slice = ::cast<SliceOp>(op);
  auto starts = constantsOf(slice.getStarts()), steps = constantsOf(slice.getSteps());
  if (!starts || !steps)
    return failure();
  moveElements(operands[0], results[0], [&](ArrayRef<int64_t> index) {
    IntIndex at(index);
    for (auto [i, start, step] : llvm::zip_equal(at, *starts, *steps))
      i = start + i * step;
    return at;
  });
  return success();
}
/// Start, size and step that ONNX's rules make of one axis.
static std::array<int64_t, 3> boundsOf(int64_t dim, int64_t start, int64_t end, int64_t step) {
  constexpr int64_t far = INT64_C(1) << 31;
  step = std::clamp(step, -far, far);
  start = start < 0 ? start + dim : start;
  end = end < 0 ? end + dim : end;
  int64_t length = 0;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, dim);
    length = std::clamp<int64_t>(end, 0, dim) - start;
  } else {
    start = std::max<int64_t>(std::min(start, dim - 1), 0);
    length = start - std::clamp<int64_t>(end, -1, dim - 1);
  }
  int64_t size = length <= 0 || step == 0 ? 0 : (length - 1) / std::abs(step) + 1;
  size = std::min(size, dim);
  return {size ? start : 0, size, step};
}

static LogicalResult sliceBounds(Operation *op, ArrayRef<TensorData> operands,
                                 MutableArrayRef<TensorData> results) {
  auto dims = constantsOf(::cast<SliceBoundsOp>(op).getDims());
  if (!dims)
    return failure();
  auto rank = static_cast<int64_t>(dims->size());
  for (int64_t axis = 0; axis < rank; ++axis) {
    int64_t start = 0, end = std::numeric_limits<int64_t>::max(), step = 1;
    for (int64_t i = 0; i < operands[2].size(); ++i) {
      int64_t here = operands[2].getInt(i);
      if ((here < 0 ? here + rank : here) != axis)
        continue;
      start = operands[0].getInt(i);
      end = operands[1].getInt(i);
      step = operands[3].getInt(i);
    }
    auto bounds = boundsOf((*dims)[static_cast<size_t>(axis)], start, end, step);
    for (auto [row, number] : llvm::enumerate(bounds))
      results[0].setInt(static_cast<int64_t>(row) * rank + axis, number);
  }
  return success();
}

namespace kiln {
void registerSliceReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerSliceReferences(ReferenceTable &table) {
  table.add<SliceOp>(slice);
  table.add<SliceBoundsOp>(sliceBounds);
}
