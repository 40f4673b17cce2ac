//===- Attention.reference.cpp - Attention, reference ---------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Attention/Attention.h"
#include "kiln/Reference/ReferenceTable.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace kiln;

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// Scores to weights; false where the row of the result is 0 instead.
static bool softmax(MutableArrayRef<double> row, StringRef undefined) {
  double most = -infinity, sum = 0;
  bool allMasked = true;
  for (double score : row) {
    most = std::max(most, score);
    allMasked &= score == -infinity;
  }
  for (double &score : row)
    sum += score = std::exp(score - most);
  bool isUndefined = allMasked || std::isnan(sum);
  for (double &weight : row)
    weight /= sum;
  return undefined == "zero" ? !isUndefined : undefined != "masked-zero" || !allMasked;
}

static LogicalResult attention(Operation *op, ArrayRef<TensorData> operands,
                               MutableArrayRef<TensorData> results) {
  auto node = cast<AttentionOp>(op);
  const TensorData &q = operands[0], &k = operands[1], &v = operands[2];
  const TensorData *mask = operands.size() > 3 ? &operands[3] : nullptr;
  int64_t batch = q.shape()[0], rows = q.shape()[1], heads = q.shape()[2], depth = q.shape()[3];
  int64_t keys = k.shape()[1], groups = k.shape()[2], width = v.shape()[3];
  double scale = node.getScale().convertToDouble();
  double fill = node.getFill() ? node.getFill()->convertToDouble() : -infinity;
  int64_t scoreShape[] = {batch, heads, rows, keys};
  SmallVector<double> row(static_cast<size_t>(keys));
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t h = 0; h < heads; ++h) {
        int64_t group = h / (heads / groups), at = (b * rows + i) * heads + h;
        for (int64_t j = 0; j < keys; ++j) {
          double sum = 0;
          for (int64_t d = 0; d < depth; ++d)
            sum += q.getFloat(at * depth + d) *
                   k.getFloat(((b * keys + j) * groups + group) * depth + d);
          double &score = row[static_cast<size_t>(j)];
          score = sum * scale;
          if (!mask)
            continue;
          int64_t flat = ((b * heads + h) * rows + i) * keys + j;
          int64_t from = broadcastIndex(mask->shape(), scoreShape, flat);
          if (!mask->elementType().isInteger(1))
            score += mask->getFloat(from);
          else if (!mask->getInt(from))
            score = fill;
        }
        bool isDefined = softmax(row, node.getUndefined());
        for (int64_t e = 0; e < width; ++e) {
          double sum = 0;
          for (int64_t j = 0; j < keys; ++j)
            sum += row[static_cast<size_t>(j)] *
                   v.getFloat(((b * keys + j) * groups + group) * width + e);
          results[0].setFloat(at * width + e, isDefined ? sum : 0);
        }
      }
  return success();
}

namespace kiln {
void registerAttentionReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerAttentionReferences(ReferenceTable &table) { table.add<AttentionOp>(attention); }
