//===- Pad.reference.cpp - Elements around a tensor, reference ------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Pad/Pad.h"
#include "kiln/Reference/MoveElements.h"
#include "kiln/Reference/ReferenceTable.h"

using namespace mlir;
using namespace kiln;

/// The place in [0, size) that place `at` shows; -1 when it shows none.
static int64_t placeOf(int64_t at, int64_t size, StringRef mode) {
  if (mode == "edge")
    return std::clamp<int64_t>(at, 0, size - 1);
  if (mode == "wrap")
    return ((at % size) + size) % size;
  if (mode == "reflect")
    return size - 1 - std::abs(size - 1 - std::abs(at));
  return at < 0 || at >= size ? -1 : at;
}

static LogicalResult pad(Operation *op, ArrayRef<TensorData> operands,
                         MutableArrayRef<TensorData> results) {
  auto pad = ::cast<PadOp>(op);
  const TensorData &x = operands[0];
  TensorData &y = results[0];
  auto before = constantsOf(pad.getBefore());
  if (!before)
    return failure();
  forEachIndex(y.shape(), [&](ArrayRef<int64_t> index, int64_t position) {
    IntIndex at(index);
    bool outside = false;
    for (auto [i, pad, size] : llvm::zip_equal(at, *before, x.shape())) {
      i = placeOf(i - pad, size, ::cast<PadOp>(op).getMode());
      outside |= i < 0;
    }
    copyElement(y, position, outside ? operands[1] : x, outside ? 0 : positionOf(at, x.shape()));
  });
  return success();
}

namespace kiln {
void registerPadReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerPadReferences(ReferenceTable &table) { table.add<PadOp>(pad); }
