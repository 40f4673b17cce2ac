//===- Unique.reference.cpp - Different rows of a matrix, reference -------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Unique/Unique.h"
#include "kiln/Reference/ReferenceTable.h"
#include "llvm/ADT/Sequence.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

static LogicalResult unique(Operation *op, ArrayRef<TensorData> operands,
                            MutableArrayRef<TensorData> results) {
  const TensorData &x = operands[0];
  int64_t rows = x.shape()[0], width = x.shape()[1];
  bool isFloat = isa<FloatType>(x.elementType()), isUnsigned = x.elementType().isUnsignedInteger();
  auto isLess = [&](int64_t i, int64_t j) {
    if (isFloat) {
      double a = x.getFloat(i), b = x.getFloat(j);
      return a < b || (!std::isnan(a) && std::isnan(b));
    }
    int64_t a = x.getInt(i), b = x.getInt(j);
    return isUnsigned ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
  };
  // Negative, 0 or positive.
  auto compare = [&](int64_t row, int64_t other) {
    for (int64_t i = 0; i < width; ++i) {
      if (isLess(row * width + i, other * width + i))
        return -1;
      if (isLess(other * width + i, row * width + i))
        return 1;
    }
    return 0;
  };
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rows));
  llvm::sort(order, [&](int64_t i, int64_t j) {
    int ordering = compare(i, j);
    return ordering != 0 ? ordering < 0 : i < j;
  });
  SmallVector<SmallVector<int64_t>> groups;
  for (int64_t row : order) {
    if (groups.empty() || compare(groups.back().front(), row) != 0)
      groups.emplace_back();
    groups.back().push_back(row);
  }
  if (!::cast<UniqueOp>(op).getSorted())
    llvm::sort(groups, [](auto &a, auto &b) { return a.front() < b.front(); });
  for (auto [i, group] : llvm::enumerate(groups)) {
    auto place = static_cast<int64_t>(i);
    results[0].setInt(place, group.front());
    results[2].setInt(place, static_cast<int64_t>(group.size()));
    for (int64_t row : group)
      results[1].setInt(row, place);
  }
  results[3].setInt(0, static_cast<int64_t>(groups.size()));
  return success();
}

namespace kiln {
void registerUniqueReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerUniqueReferences(ReferenceTable &table) { table.add<UniqueOp>(unique); }
