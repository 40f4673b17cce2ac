//===- ElementwiseBinary.reference.cpp - Ops on two elements, broadcast, reference ---===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "kiln/Reference/ReferenceTable.h"

using namespace mlir;
using namespace kiln;

/// Applies one of two functions to broadcast elements: floats in double, else
/// integers as int64 (they wrap into their width on the way out).
template <typename FloatFn, typename IntFn>
static LogicalResult zip(ArrayRef<TensorData> operands, MutableArrayRef<TensorData> results,
                         FloatFn floatFn, IntFn intFn) {
  const TensorData &a = operands[0], &b = operands[1];
  TensorData &y = results[0];
  for (int64_t i = 0; i < y.size(); ++i) {
    int64_t ia = broadcastIndex(a.shape(), y.shape(), i),
            ib = broadcastIndex(b.shape(), y.shape(), i);
    if (isa<FloatType>(a.elementType()))
      y.setFloat(i, floatFn(a.getFloat(ia), b.getFloat(ib)));
    else
      y.setInt(i, intFn(a.getInt(ia), b.getInt(ib), a.elementType()));
  }
  return success();
}

static int64_t divideInt(int64_t a, int64_t b, Type type) {
  if (b == 0)
    return 0;
  if (type.isUnsignedInteger())
    return static_cast<int64_t>(static_cast<uint64_t>(a) / static_cast<uint64_t>(b));
  return b == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(a)) : a / b;
}

#define KILN_BINARY(NAME, FLOAT, INT)                                                              \
  static LogicalResult NAME(Operation *, ArrayRef<TensorData> operands,                            \
                            MutableArrayRef<TensorData> results) {                                 \
    return zip(                                                                                    \
        operands, results, [](double a, double b) -> double { return FLOAT; },                     \
        [](int64_t a, int64_t b, [[maybe_unused]] Type type) -> int64_t {                          \
          return static_cast<int64_t>(INT);                                                        \
        });                                                                                        \
  }

KILN_BINARY(add, a + b, static_cast<uint64_t>(a) + static_cast<uint64_t>(b))
KILN_BINARY(sub, a - b, static_cast<uint64_t>(a) - static_cast<uint64_t>(b))
KILN_BINARY(mul, a *b, static_cast<uint64_t>(a) * static_cast<uint64_t>(b))
KILN_BINARY(div, a / b, divideInt(a, b, type))

namespace kiln {
void registerElementwiseBinaryReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerElementwiseBinaryReferences(ReferenceTable &table) {
  table.add<AddOp>(add);
  table.add<SubOp>(sub);
  table.add<MulOp>(mul);
  table.add<DivOp>(div);
}
