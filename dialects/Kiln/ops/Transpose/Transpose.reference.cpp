//===- Transpose.reference.cpp - Permutation of axes, reference -----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Transpose/Transpose.h"
#include "kiln/Reference/ReferenceTable.h"

using namespace mlir;
using namespace kiln;

static LogicalResult transpose(Operation *op, ArrayRef<TensorData> operands,
                               MutableArrayRef<TensorData> results) {
  const TensorData &x = operands[0];
  TensorData &y = results[0];
  ArrayRef<int64_t> permutation = ::cast<TransposeOp>(op).getPermutation();
  SmallVector<int64_t> strides(x.rank(), 1);
  for (int64_t i = x.rank() - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * x.shape()[i + 1];
  int64_t width = elementBytes(x.elementType());
  for (int64_t i = 0; i < y.size(); ++i) {
    int64_t rest = i, from = 0;
    for (int64_t axis = y.rank() - 1; axis >= 0; --axis) {
      from += rest % y.shape()[axis] * strides[permutation[axis]];
      rest /= y.shape()[axis];
    }
    std::memcpy(y.mutableBytes() + i * width, x.bytes() + from * width, static_cast<size_t>(width));
  }
  return success();
}

namespace kiln {
void registerTransposeReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerTransposeReferences(ReferenceTable &table) { table.add<TransposeOp>(transpose); }
