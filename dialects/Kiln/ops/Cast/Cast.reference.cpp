//===- Cast.reference.cpp - Conversion of element types, reference --------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Cast/Cast.h"
#include "kiln/Reference/ReferenceTable.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

/// Saturates; NaN gives 0.
static int64_t toInteger(double value, Type to) {
  if (std::isnan(value))
    return 0;
  unsigned bits = to.getIntOrFloatBitWidth();
  double low = to.isUnsignedInteger() ? 0.0 : -std::ldexp(1.0, static_cast<int>(bits) - 1);
  double limit = std::ldexp(1.0, static_cast<int>(to.isUnsignedInteger() ? bits : bits - 1));
  value = std::trunc(value);
  if (value < low)
    return to.isUnsignedInteger() ? 0 : llvm::minIntN(bits);
  if (value >= limit)
    return to.isUnsignedInteger() ? static_cast<int64_t>(llvm::maxUIntN(bits))
                                  : llvm::maxIntN(bits);
  return to.isUnsignedInteger() ? static_cast<int64_t>(static_cast<uint64_t>(value))
                                : static_cast<int64_t>(value);
}

static LogicalResult cast(Operation *, ArrayRef<TensorData> operands,
                          MutableArrayRef<TensorData> results) {
  const TensorData &x = operands[0];
  TensorData &y = results[0];
  Type from = x.elementType(), to = y.elementType();
  for (int64_t i = 0; i < y.size(); ++i) {
    if (isa<FloatType>(to))
      y.setFloat(i, x.getFloat(i));
    else if (!isa<FloatType>(from))
      y.setInt(i, x.getInt(i));
    else if (to.isInteger(1))
      y.setInt(i, x.getFloat(i) != 0);
    else
      y.setInt(i, toInteger(x.getFloat(i), to));
  }
  return success();
}

namespace kiln {
void registerCastReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerCastReferences(ReferenceTable &table) { table.add<CastOp>(cast); }
