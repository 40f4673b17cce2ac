//===- Trilu.reference.cpp - Triangles of matrices, reference -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Trilu/Trilu.h"
#include "kiln/Reference/MoveElements.h"
#include "kiln/Reference/ReferenceTable.h"

using namespace mlir;
using namespace kiln;

static LogicalResult trilu(Operation *op, ArrayRef<TensorData> operands,
                           MutableArrayRef<TensorData> results) {
  auto trilu = ::cast<TriluOp>(op);
  auto k = constantsOf(trilu.getK());
  if (!k)
    return failure();
  forEachIndex(results[0].shape(), [&](ArrayRef<int64_t> index, int64_t i) {
    int64_t row = index[index.size() - 2], column = index.back();
    // Written without column - row - k: k may be as large as it likes.
    if (trilu.getUpper() ? column - row >= (*k)[0] : column - row <= (*k)[0])
      copyElement(results[0], i, operands[0], i);
  });
  return success();
}

namespace kiln {
void registerTriluReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerTriluReferences(ReferenceTable &table) { table.add<TriluOp>(trilu); }
