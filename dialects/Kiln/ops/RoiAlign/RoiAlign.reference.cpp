//===- RoiAlign.reference.cpp - Samples of regions of an image, reference -===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/RoiAlign/RoiAlign.h"
#include "kiln/Reference/ReferenceTable.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

namespace {
/// A region along one axis.
struct Side {
  double start, bin;
  int64_t samples, size;

  Side(double from, double to, int64_t bins, int64_t size, RoiAlignOp op) : size(size) {
    double scale = op.getScale().convertToDouble(), shift = op.getHalfPixel() ? 0.5 : 0;
    start = from * scale - shift;
    double length = to * scale - shift - start;
    if (!op.getHalfPixel())
      length = std::max(length, 1.0);
    bin = length / static_cast<double>(bins);
    samples = static_cast<int64_t>(op.getSamplingRatio());
    if (samples == 0)
      samples = static_cast<int64_t>(std::min(std::max(std::ceil(bin), 0.0), 65536.0));
  }
  double at(int64_t index, int64_t sample) const {
    return start + static_cast<double>(index) * bin +
           (static_cast<double>(sample) + 0.5) * bin / static_cast<double>(samples);
  }
  bool isInside(double position) const {
    return position >= -1 && position <= static_cast<double>(size);
  }
};

/// The two pixels around a position, and how much the second one weighs.
struct Pair {
  int64_t low, high;
  double weight;

  Pair(double position, int64_t size) {
    position = std::max(position, 0.0);
    low = std::min(static_cast<int64_t>(position), size - 1);
    high = std::min(low + 1, size - 1);
    weight = low == high ? 0 : position - static_cast<double>(low);
  }
};
} // namespace

static LogicalResult roiAlign(Operation *op, ArrayRef<TensorData> operands,
                              MutableArrayRef<TensorData> results) {
  auto node = cast<RoiAlignOp>(op);
  const TensorData &x = operands[0], &rois = operands[1];
  TensorData &y = results[0];
  int64_t rows = x.shape()[2], columns = x.shape()[3], height = y.shape()[2], width = y.shape()[3];
  for (int64_t i = 0; i < y.size() && x.size(); ++i) {
    int64_t pw = i % width, ph = i / width % height;
    int64_t channel = i / (width * height) % x.shape()[1],
            region = i / (width * height) / x.shape()[1];
    auto corner = [&](int64_t which) { return rois.getFloat(region * 4 + which); };
    Side vertical(corner(1), corner(3), height, rows, node),
        horizontal(corner(0), corner(2), width, columns, node);
    int64_t batch = std::clamp<int64_t>(operands[2].getInt(region), 0, x.shape()[0] - 1);
    int64_t plane = (batch * x.shape()[1] + channel) * rows * columns;
    double total = 0;
    bool first = true;
    for (int64_t iy = 0; iy < vertical.samples; ++iy)
      for (int64_t ix = 0; ix < horizontal.samples; ++ix) {
        double v = vertical.at(ph, iy), h = horizontal.at(pw, ix), parts[4] = {0, 0, 0, 0};
        if (vertical.isInside(v) && horizontal.isInside(h)) {
          Pair row(v, rows), column(h, columns);
          for (int corner = 0; corner < 4; ++corner) {
            bool down = corner & 2, right = corner & 1;
            double weight =
                (down ? row.weight : 1 - row.weight) * (right ? column.weight : 1 - column.weight);
            parts[corner] = weight * x.getFloat(plane + (down ? row.high : row.low) * columns +
                                                (right ? column.high : column.low));
          }
        }
        double most = std::max(std::max(parts[0], parts[1]), std::max(parts[2], parts[3]));
        if (node.getMaximum())
          total = first ? most : std::max(total, most);
        else
          total += parts[0] + parts[1] + parts[2] + parts[3];
        first = false;
      }
    int64_t count = std::max<int64_t>(vertical.samples * horizontal.samples, 1);
    y.setFloat(i, node.getMaximum() ? total : total / static_cast<double>(count));
  }
  return success();
}

namespace kiln {
void registerRoiAlignReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerRoiAlignReferences(ReferenceTable &table) { table.add<RoiAlignOp>(roiAlign); }
