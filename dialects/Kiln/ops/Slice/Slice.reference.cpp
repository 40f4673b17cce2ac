//===- Slice.reference.cpp - Parts of tensors, reference ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Slice/Slice.h"
#include "kiln/Reference/MoveElements.h"
#include "kiln/Reference/ReferenceTable.h"

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

namespace kiln {
void registerSliceReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerSliceReferences(ReferenceTable &table) { table.add<SliceOp>(slice); }
