//===- MatMul.reference.cpp - Matrix product, reference -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/MatMul/MatMul.h"
#include "kiln/Reference/ReferenceTable.h"

using namespace mlir;
using namespace kiln;

namespace {
/// The matrices of an operand.
struct Matrices {
  Matrices(const TensorData &data, bool transposed) : data(data), batch(data.shape().drop_back(2)) {
    int64_t inner = data.shape().back();
    rowStride = transposed ? 1 : inner;
    columnStride = transposed ? inner : 1;
    size = data.shape()[data.rank() - 2] * inner;
  }
  int64_t at(int64_t matrix, int64_t row, int64_t column) const {
    return matrix * size + row * rowStride + column * columnStride;
  }
  const TensorData &data;
  ArrayRef<int64_t> batch;
  int64_t rowStride, columnStride, size;
};
} // namespace

static LogicalResult matMul(Operation *op, ArrayRef<TensorData> operands,
                            MutableArrayRef<TensorData> results) {
  auto matMul = cast<MatMulOp>(op);
  Matrices a(operands[0], matMul.getTransA()), b(operands[1], matMul.getTransB());
  TensorData &y = results[0];
  bool isFloat = isa<FloatType>(y.elementType());
  int64_t rows = y.shape()[y.rank() - 2], columns = y.shape().back();
  int64_t depth = a.data.shape()[a.data.rank() - (matMul.getTransA() ? 2 : 1)];
  ArrayRef<int64_t> batch = y.shape().drop_back(2);
  for (int64_t i = 0; i < y.size(); ++i) {
    int64_t column = i % columns, row = i / columns % rows, outer = i / columns / rows;
    int64_t ia = broadcastIndex(a.batch, batch, outer), ib = broadcastIndex(b.batch, batch, outer);
    double sum = 0;
    uint64_t wrapped = 0;
    for (int64_t k = 0; k < depth; ++k) {
      int64_t left = a.at(ia, row, k), right = b.at(ib, k, column);
      if (isFloat)
        sum += a.data.getFloat(left) * b.data.getFloat(right);
      else
        wrapped += static_cast<uint64_t>(a.data.getInt(left)) *
                   static_cast<uint64_t>(b.data.getInt(right));
    }
    if (isFloat)
      y.setFloat(i, sum);
    else
      y.setInt(i, static_cast<int64_t>(wrapped));
  }
  return success();
}

namespace kiln {
void registerMatMulReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerMatMulReferences(ReferenceTable &table) { table.add<MatMulOp>(matMul); }
