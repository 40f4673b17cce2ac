//===- TopK.reference.cpp - Largest and smallest elements, reference ------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/TopK/TopK.h"
#include "kiln/Reference/MoveElements.h"
#include "kiln/Reference/ReferenceTable.h"
#include "kiln/Reference/Walk.h"

using namespace mlir;
using namespace kiln;

/// Orders the elements of a row; ties go by place.
template <typename T>
static void selectRow(const Line &from, const Line &to, ArrayRef<T> row, bool largest,
                      const TensorData &x, MutableArrayRef<TensorData> results) {
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, from.length));
  auto isNaN = [](T value) { return value != value; };
  auto isLess = [&](T a, T b) { return a < b || (!isNaN(a) && isNaN(b)); };
  llvm::sort(order, [&](int64_t i, int64_t j) {
    T a = row[static_cast<size_t>(i)], b = row[static_cast<size_t>(j)];
    if (isLess(a, b) || isLess(b, a))
      return largest == isLess(b, a);
    return i < j;
  });
  for (int64_t i = 0; i < to.length; ++i) {
    copyElement(results[0], to.at(i), x, from.at(order[static_cast<size_t>(i)]));
    results[1].setInt(to.at(i), order[static_cast<size_t>(i)]);
  }
}

static LogicalResult topK(Operation *op, ArrayRef<TensorData> operands,
                          MutableArrayRef<TensorData> results) {
  auto topK = ::cast<TopKOp>(op);
  const TensorData &x = operands[0];
  auto axis = static_cast<int64_t>(topK.getAxis());
  SmallVector<Line> targets;
  forEachLine(results[0].shape(), axis, [&](const Line &line) { targets.push_back(line); });
  size_t next = 0;
  auto select = [&](const Line &from, auto read, auto zero) {
    SmallVector<decltype(zero)> row;
    for (int64_t i = 0; i < from.length; ++i)
      row.push_back(read(from.at(i)));
    selectRow<decltype(zero)>(from, targets[next++], row, topK.getLargest(), x, results);
  };
  forEachLine(x.shape(), axis, [&](const Line &from) {
    if (isa<FloatType>(x.elementType()))
      select(from, [&](int64_t i) { return x.getFloat(i); }, 0.0);
    else if (x.elementType().isUnsignedInteger())
      select(from, [&](int64_t i) { return static_cast<uint64_t>(x.getInt(i)); }, UINT64_C(0));
    else
      select(from, [&](int64_t i) { return x.getInt(i); }, INT64_C(0));
  });
  return success();
}

namespace kiln {
void registerTopKReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerTopKReferences(ReferenceTable &table) { table.add<TopKOp>(topK); }
