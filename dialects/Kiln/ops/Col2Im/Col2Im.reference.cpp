//===- Col2Im.reference.cpp - Sums of overlapping blocks, reference -------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Col2Im/Col2Im.h"
#include "kiln/Reference/MoveElements.h"
#include "kiln/Reference/ReferenceTable.h"

using namespace mlir;
using namespace kiln;

static LogicalResult col2Im(Operation *op, ArrayRef<TensorData> operands,
                            MutableArrayRef<TensorData> results) {
  auto col = ::cast<Col2ImOp>(op);
  auto block = constantsOf(col.getBlock()), counts = constantsOf(col.getCounts());
  if (!block || !counts)
    return failure();
  const TensorData &x = operands[0];
  TensorData &y = results[0];
  ArrayRef<int64_t> image = y.shape().drop_front(2);
  int64_t planes = y.shape()[0] * y.shape()[1], imageSize = 1;
  for (int64_t size : image)
    imageSize *= size;
  bool isFloat = isa<FloatType>(x.elementType());
  for (int64_t plane = 0; plane < planes; ++plane) {
    SmallVector<double> sums(static_cast<size_t>(imageSize), 0);
    SmallVector<uint64_t> intSums(static_cast<size_t>(imageSize), 0);
    int64_t from = plane * (x.size() / planes);
    forEachIndex(*block, [&](ArrayRef<int64_t> in, int64_t) {
      forEachIndex(*counts, [&](ArrayRef<int64_t> which, int64_t) {
        IntIndex at;
        bool inside = true;
        for (size_t i = 0; i < image.size(); ++i) {
          at.push_back(which[i] * col.getStrides()[i] + in[i] * col.getDilations()[i] -
                       col.getPads()[i]);
          inside &= at[i] >= 0 && at[i] < image[i];
        }
        if (inside && isFloat)
          sums[static_cast<size_t>(positionOf(at, image))] += x.getFloat(from);
        else if (inside)
          intSums[static_cast<size_t>(positionOf(at, image))] +=
              static_cast<uint64_t>(x.getInt(from));
        ++from;
      });
    });
    for (int64_t i = 0; i < imageSize; ++i) {
      if (isFloat)
        y.setFloat(plane * imageSize + i, sums[static_cast<size_t>(i)]);
      else
        y.setInt(plane * imageSize + i, static_cast<int64_t>(intSums[static_cast<size_t>(i)]));
    }
  }
  return success();
}

namespace kiln {
void registerCol2ImReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerCol2ImReferences(ReferenceTable &table) { table.add<Col2ImOp>(col2Im); }
