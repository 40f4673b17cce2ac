//===- Pool.reference.cpp - Windows that slide over spatial axes, reference -===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Pool/Pool.h"
#include "kiln/Reference/ReferenceTable.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace kiln;

namespace {
/// Row-major coordinates of element `flat`.
SmallVector<int64_t> coordinates(int64_t flat, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> at(shape.size());
  for (size_t i = shape.size(); i-- > 0; flat /= shape[i])
    at[i] = flat % shape[i];
  return at;
}

int64_t flatten(ArrayRef<int64_t> at, ArrayRef<int64_t> shape) {
  int64_t flat = 0;
  for (auto [i, size] : llvm::zip(at, shape))
    flat = flat * size + i;
  return flat;
}
} // namespace

/// Calls `visit` with the position in x of each existing element of the window
/// of each result element, and then `finish` with the number of elements that
/// exist, and that exist or are padding.
template <typename OpTy>
static void forEachWindow(OpTy op, const TensorData &x, const TensorData &y,
                          function_ref<void(int64_t result, int64_t element)> visit,
                          function_ref<void(int64_t result, int64_t real, int64_t padded)> finish) {
  ArrayRef<int64_t> kernel = op.getKernel(), strides = op.getStrides(),
                    dilations = op.getDilations();
  Shape pads = exprsOf(op.getPads());
  size_t spatial = kernel.size();
  int64_t taps = 1;
  for (int64_t size : kernel)
    taps *= size;
  for (int64_t i = 0; i < y.size(); ++i) {
    SmallVector<int64_t> at = coordinates(i, y.shape());
    int64_t real = 0, padded = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      SmallVector<int64_t> offset = coordinates(tap, kernel), source(at);
      bool exists = true, counts = true;
      for (size_t d = 0; d < spatial; ++d) {
        int64_t &position = source[2 + d], size = x.shape()[2 + d];
        position = at[2 + d] * strides[d] - *pads[d].constant() + offset[d] * dilations[d];
        exists &= position >= 0 && position < size;
        counts &= position < size + *pads[spatial + d].constant();
      }
      real += exists;
      padded += counts;
      if (exists)
        visit(i, flatten(source, x.shape()));
    }
    finish(i, real, padded);
  }
}

static bool isGreater(const TensorData &x, int64_t a, int64_t b) {
  if (isa<FloatType>(x.elementType()))
    return x.getFloat(a) > x.getFloat(b) ||
           (std::isnan(x.getFloat(a)) && !std::isnan(x.getFloat(b)));
  if (x.elementType().isUnsignedInteger())
    return static_cast<uint64_t>(x.getInt(a)) > static_cast<uint64_t>(x.getInt(b));
  return x.getInt(a) > x.getInt(b);
}

/// Position of each window's largest element, -1 for none.
template <typename OpTy>
static std::vector<int64_t> largest(OpTy op, const TensorData &x, const TensorData &y) {
  std::vector<int64_t> best(static_cast<size_t>(y.size()), -1);
  forEachWindow(
      op, x, y,
      [&](int64_t result, int64_t element) {
        int64_t &found = best[static_cast<size_t>(result)];
        if (found < 0 || isGreater(x, element, found))
          found = element;
      },
      [](int64_t, int64_t, int64_t) {});
  return best;
}

static LogicalResult maxPool(Operation *op, ArrayRef<TensorData> operands,
                             MutableArrayRef<TensorData> results) {
  const TensorData &x = operands[0];
  TensorData &y = results[0];
  Type type = x.elementType();
  for (auto [i, best] : llvm::enumerate(largest(cast<MaxPoolOp>(op), x, y))) {
    auto at = static_cast<int64_t>(i);
    if (isa<FloatType>(type))
      y.setFloat(at, best < 0 ? -std::numeric_limits<double>::infinity() : x.getFloat(best));
    else if (best >= 0)
      y.setInt(at, x.getInt(best));
    else
      y.setInt(at, type.isUnsignedInteger() ? 0 : llvm::minIntN(type.getIntOrFloatBitWidth()));
  }
  return success();
}

static LogicalResult maxPoolIndices(Operation *op, ArrayRef<TensorData> operands,
                                    MutableArrayRef<TensorData> results) {
  auto node = cast<MaxPoolIndicesOp>(op);
  ArrayRef<int64_t> shape = operands[0].shape();
  for (auto [i, best] : llvm::enumerate(largest(node, operands[0], results[0]))) {
    int64_t position = best;
    if (best >= 0 && node.getColumnMajor()) {
      SmallVector<int64_t> at = coordinates(best, shape);
      position = at[0] * shape[1] + at[1];
      for (size_t d = shape.size(); d-- > 2;)
        position = position * shape[d] + at[d];
    }
    results[0].setInt(static_cast<int64_t>(i), position);
  }
  return success();
}

template <typename OpTy>
static LogicalResult sumPool(Operation *op, ArrayRef<TensorData> operands,
                             MutableArrayRef<TensorData> results) {
  auto node = cast<OpTy>(op);
  TensorData &y = results[0];
  const TensorData &x = operands[0];
  bool isFloat = isa<FloatType>(x.elementType());
  double sum = 0;
  uint64_t intSum = 0;
  forEachWindow(
      node, x, y,
      [&](int64_t, int64_t element) {
        if (isFloat)
          sum += x.getFloat(element);
        else
          intSum += static_cast<uint64_t>(x.getInt(element));
      },
      [&](int64_t result, [[maybe_unused]] int64_t real, [[maybe_unused]] int64_t padded) {
        if constexpr (std::is_same_v<OpTy, AvgPoolOp>)
          sum /= static_cast<double>(node.getCountIncludePad() ? padded : real);
        if (isFloat)
          y.setFloat(result, sum);
        else
          y.setInt(result, static_cast<int64_t>(intSum));
        sum = 0;
        intSum = 0;
      });
  return success();
}

static LogicalResult maxUnpool(Operation *op, ArrayRef<TensorData> operands,
                               MutableArrayRef<TensorData> results) {
  SmallVector<int64_t> indexed;
  for (const Expr &size : exprsOf(cast<MaxUnpoolOp>(op).getIndexed()))
    indexed.push_back(*size.constant());
  int64_t count = 1;
  for (int64_t size : indexed)
    count *= size;
  TensorData &y = results[0];
  int64_t width = elementBytes(y.elementType());
  for (int64_t i = 0; i < operands[0].size(); ++i) {
    int64_t position = operands[1].getInt(i);
    if (position < 0 || position >= count)
      continue;
    SmallVector<int64_t> at = coordinates(position, indexed);
    bool inside = true;
    for (auto [coordinate, size] : llvm::zip(at, y.shape()))
      inside &= coordinate < size;
    if (inside)
      std::memcpy(y.mutableBytes() + flatten(at, y.shape()) * width,
                  operands[0].bytes() + i * width, static_cast<size_t>(width));
  }
  return success();
}

namespace kiln {
void registerPoolReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerPoolReferences(ReferenceTable &table) {
  table.add<MaxPoolOp>(maxPool);
  table.add<MaxPoolIndicesOp>(maxPoolIndices);
  table.add<AvgPoolOp>(sumPool<AvgPoolOp>);
  table.add<SumPoolOp>(sumPool<SumPoolOp>);
  table.add<MaxUnpoolOp>(maxUnpool);
}
