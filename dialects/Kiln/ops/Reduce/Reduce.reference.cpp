//===- Reduce.reference.cpp - Folding axes, reference ---------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Reduce/Reduce.h"
#include "kiln/Reference/ReferenceTable.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace kiln;

namespace {
enum class Kind { Sum, Prod, Max, Min, Mean };

/// One total in the widest type of its kind. Doubles are summed with
/// compensation, so that the oracle of float64 is better than what it judges.
struct Total {
  double real;
  double lost = 0;
  int64_t integer;
};
} // namespace

static bool isLess(int64_t a, int64_t b, bool isUnsigned) {
  return isUnsigned ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
}

static Total identityOf(Kind kind, Type type) {
  Total total{0, 0, 0};
  bool isUnsigned = type.isUnsignedInteger() || type.isInteger(1);
  if (kind == Kind::Prod)
    total = {1, 0, 1};
  if (kind != Kind::Max && kind != Kind::Min)
    return total;
  bool largest = kind == Kind::Min;
  total.real = (largest ? 1 : -1) * std::numeric_limits<double>::infinity();
  if (isa<FloatType>(type))
    return total;
  unsigned bits = type.getIntOrFloatBitWidth();
  if (isUnsigned)
    total.integer = largest ? static_cast<int64_t>(llvm::maxUIntN(bits)) : 0;
  else
    total.integer = largest ? llvm::maxIntN(bits) : llvm::minIntN(bits);
  return total;
}

static void addFloat(Kind kind, Total &total, double x) {
  switch (kind) {
  case Kind::Sum:
  case Kind::Mean: {
    double sum = total.real + x;
    if (std::isfinite(sum))
      total.lost +=
          std::abs(total.real) >= std::abs(x) ? (total.real - sum) + x : (x - sum) + total.real;
    total.real = sum;
    return;
  }
  case Kind::Prod:
    total.real *= x;
    return;
  case Kind::Max:
    total.real = std::isnan(x) || x > total.real ? x : total.real;
    return;
  case Kind::Min:
    total.real = std::isnan(x) || x < total.real ? x : total.real;
    return;
  }
}

static void addInt(Kind kind, Total &total, int64_t x, bool isUnsigned) {
  switch (kind) {
  case Kind::Sum:
  case Kind::Mean:
    total.integer =
        static_cast<int64_t>(static_cast<uint64_t>(total.integer) + static_cast<uint64_t>(x));
    return;
  case Kind::Prod:
    total.integer =
        static_cast<int64_t>(static_cast<uint64_t>(total.integer) * static_cast<uint64_t>(x));
    return;
  case Kind::Max:
    total.integer = isLess(total.integer, x, isUnsigned) ? x : total.integer;
    return;
  case Kind::Min:
    total.integer = isLess(x, total.integer, isUnsigned) ? x : total.integer;
    return;
  }
}

template <typename OpTy, Kind kind>
static LogicalResult reduce(Operation *op, ArrayRef<TensorData> operands,
                            MutableArrayRef<TensorData> results) {
  const TensorData &x = operands[0];
  TensorData &y = results[0];
  Type type = x.elementType();
  bool isFloat = isa<FloatType>(type), isUnsigned = type.isUnsignedInteger() || type.isInteger(1);
  SmallVector<int64_t> kept(x.shape());
  for (int64_t axis : cast<OpTy>(op).getAxes())
    kept[axis] = 1;
  std::vector<Total> totals(static_cast<size_t>(y.size()), identityOf(kind, type));
  for (int64_t i = 0; i < x.size(); ++i) {
    Total &total = totals[static_cast<size_t>(broadcastIndex(kept, x.shape(), i))];
    if (isFloat)
      addFloat(kind, total, x.getFloat(i));
    else
      addInt(kind, total, x.getInt(i), isUnsigned);
  }
  int64_t count = y.size() ? x.size() / y.size() : 0;
  for (int64_t i = 0; i < y.size(); ++i) {
    const Total &total = totals[static_cast<size_t>(i)];
    if (isFloat) {
      double value = total.real + total.lost;
      y.setFloat(i, kind == Kind::Mean ? value / static_cast<double>(count) : value);
      continue;
    }
    // Wrap before dividing, as the sum does.
    y.setInt(i, total.integer);
    if (kind == Kind::Mean)
      y.setInt(i, count == 0   ? 0
                  : isUnsigned ? static_cast<int64_t>(static_cast<uint64_t>(y.getInt(i)) /
                                                      static_cast<uint64_t>(count))
                               : y.getInt(i) / count);
  }
  return success();
}

namespace kiln {
void registerReduceReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerReduceReferences(ReferenceTable &table) {
  table.add<ReduceSumOp>(reduce<ReduceSumOp, Kind::Sum>);
  table.add<ReduceProdOp>(reduce<ReduceProdOp, Kind::Prod>);
  table.add<ReduceMaxOp>(reduce<ReduceMaxOp, Kind::Max>);
  table.add<ReduceMinOp>(reduce<ReduceMinOp, Kind::Min>);
  table.add<ReduceMeanOp>(reduce<ReduceMeanOp, Kind::Mean>);
}
