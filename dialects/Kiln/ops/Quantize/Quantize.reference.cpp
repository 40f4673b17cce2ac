//===- Quantize.reference.cpp - Floats as scaled integers, reference ------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Quantize/Quantize.h"
#include "dialects/Kiln/IR/Indexing.h"
#include "kiln/Reference/ReferenceTable.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

/// Where in a scale or zero point the parameter of x's element at an index is.
static int64_t parameterAt(ArrayRef<int64_t> index, ArrayRef<int64_t> shape, int64_t axis,
                           int64_t blockSize) {
  size_t lead = index.size() - shape.size();
  int64_t position = 0;
  for (auto [i, size] : llvm::enumerate(shape)) {
    int64_t at = index[lead + i];
    if (blockSize > 0 && static_cast<int64_t>(i) == axis)
      at /= blockSize;
    position = position * size + (size == 1 ? 0 : at);
  }
  return position;
}

/// Calls visit(i, position of the scale, of the zero point) for each element.
template <typename OpTy, typename Visit>
static LogicalResult forEach(OpTy op, ArrayRef<TensorData> operands, Visit visit) {
  forEachIndex(operands[0].shape(), [&](ArrayRef<int64_t> index, int64_t i) {
    auto at = [&](const TensorData &parameter) {
      return parameterAt(index, parameter.shape(), op.getAxis(), op.getBlockSize());
    };
    visit(i, at(operands[1]), at(operands[2]));
  });
  return success();
}

static LogicalResult quantize(Operation *op, ArrayRef<TensorData> operands,
                              MutableArrayRef<TensorData> results) {
  const TensorData &x = operands[0], &scale = operands[1], &zero = operands[2];
  Type to = results[0].elementType();
  unsigned bits = to.getIntOrFloatBitWidth();
  bool isSigned = !to.isUnsignedInteger();
  double low = isSigned ? static_cast<double>(llvm::minIntN(bits)) : 0;
  double high = std::ldexp(1.0, static_cast<int>(bits - isSigned)) - 1;
  // An element to round the quotient through.
  TensorData element(RankedTensorType::get({1}, x.elementType()));
  return forEach(cast<QuantizeOp>(op), operands, [&](int64_t i, int64_t s, int64_t z) {
    element.setFloat(0, x.getFloat(i) / scale.getFloat(s));
    if (isSmallFloat(to))
      return results[0].setFloat(i, element.getFloat(0), cast<QuantizeOp>(op).getSaturate());
    double sum = std::nearbyint(element.getFloat(0)) + static_cast<double>(zero.getInt(z));
    results[0].setInt(i, static_cast<int64_t>(!(sum > low) ? low : std::min(sum, high)));
  });
}

static LogicalResult dequantize(Operation *op, ArrayRef<TensorData> operands,
                                MutableArrayRef<TensorData> results) {
  const TensorData &x = operands[0], &scale = operands[1], &zero = operands[2];
  return forEach(cast<DequantizeOp>(op), operands, [&](int64_t i, int64_t s, int64_t z) {
    if (isSmallFloat(x.elementType()))
      return results[0].setFloat(i, x.getFloat(i) * scale.getFloat(s));
    // Wraps where x has 32 bits, which come without a zero point.
    auto shifted = static_cast<int32_t>(x.getInt(i) - zero.getInt(z));
    results[0].setFloat(i, static_cast<double>(shifted) * scale.getFloat(s));
  });
}

namespace kiln {
void registerQuantizeReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerQuantizeReferences(ReferenceTable &table) {
  table.add<QuantizeOp>(quantize);
  table.add<DequantizeOp>(dequantize);
}
