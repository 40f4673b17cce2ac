//===- NonMaxSuppression.reference.cpp - Boxes that overlap, reference ----===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/NonMaxSuppression/NonMaxSuppression.h"
#include "kiln/Reference/ReferenceTable.h"

using namespace mlir;
using namespace kiln;

namespace {
/// In float32, as the thresholds are meant.
struct Box {
  float top, left, bottom, right;

  float area() const { return (bottom - top) * (right - left); }
};
} // namespace

static Box readBox(const TensorData &boxes, int64_t at, bool center) {
  auto number = [&](int64_t i) { return static_cast<float>(boxes.getFloat(4 * at + i)); };
  float a = number(0), b = number(1), c = number(2), d = number(3);
  if (center)
    return {b - d / 2, a - c / 2, b + d / 2, a + c / 2};
  return {std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d)};
}

static bool overlap(const Box &x, const Box &y, float threshold) {
  float height = std::min(x.bottom, y.bottom) - std::max(x.top, y.top),
        width = std::min(x.right, y.right) - std::max(x.left, y.left);
  if (!(height > 0) || !(width > 0) || !(x.area() > 0) || !(y.area() > 0))
    return false;
  float common = height * width, all = x.area() + y.area() - common;
  return all > 0 && common / all > threshold;
}

static LogicalResult suppress(Operation *op, ArrayRef<TensorData> operands,
                              MutableArrayRef<TensorData> results) {
  const TensorData &boxes = operands[0], &scores = operands[1];
  bool center = ::cast<SuppressBoxesOp>(op).getCenter();
  auto iou = static_cast<float>(operands[2].getFloat(0)),
       least = static_cast<float>(operands[3].getFloat(0));
  int64_t classes = scores.shape()[1], size = scores.shape()[2], most = results[0].shape()[2];
  for (int64_t row = 0; row < scores.shape()[0] * classes; ++row) {
    auto score = [&](int64_t i) { return scores.getFloat(row * size + i); };
    auto box = [&](int64_t i) { return readBox(boxes, row / classes * size + i, center); };
    SmallVector<int64_t> order, picked;
    for (int64_t i = 0; i < size; ++i)
      if (score(i) > least)
        order.push_back(i);
    llvm::sort(order, [&](int64_t a, int64_t b) {
      return score(a) > score(b) || (score(a) == score(b) && a < b);
    });
    for (int64_t i : order)
      if (static_cast<int64_t>(picked.size()) < most &&
          llvm::none_of(picked, [&](int64_t j) { return overlap(box(i), box(j), iou); }))
        picked.push_back(i);
    for (auto [place, i] : llvm::enumerate(picked))
      results[0].setInt(row * most + static_cast<int64_t>(place), i);
    results[1].setInt(row, static_cast<int64_t>(picked.size()));
  }
  return success();
}

namespace kiln {
void registerNonMaxSuppressionReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerNonMaxSuppressionReferences(ReferenceTable &table) {
  table.add<SuppressBoxesOp>(suppress);
}
