//===- GridSample.reference.cpp - Samples at computed places, reference ---===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/GridSample/GridSample.h"
#include "kiln/Reference/MoveElements.h"
#include "kiln/Reference/ReferenceTable.h"
#include <cmath>
#include <functional>

using namespace mlir;
using namespace kiln;

namespace {
/// One dimension of the image: from coordinates to places and back inside.
/// T is float unless the grid is float64, as rounding decides mode nearest.
template <typename T> class Dimension {
public:
  Dimension(int64_t size, bool corners, StringRef padding)
      : size(size), corners(corners), padding(padding), low(corners ? 0 : static_cast<T>(-0.5)),
        high(static_cast<T>(size) - (corners ? T(1) : static_cast<T>(0.5))) {}

  T placeOf(T coordinate, bool round) const {
    T last = static_cast<T>(size - 1), all = static_cast<T>(size);
    T place = corners ? (coordinate + 1) / 2 * last : ((coordinate + 1) * all - 1) / 2;
    if (round)
      place = std::nearbyint(place);
    if (padding == "border")
      place = std::clamp<T>(place, 0, last);
    else if (padding == "reflection")
      place = reflect(place);
    // No place at all is one far outside.
    return place > -1e9f && place < 1e9f ? place : static_cast<T>(-1e9f);
  }

  /// The element shown at a whole place; -1 for zero.
  int64_t elementAt(int64_t at) const {
    if (padding == "zeros")
      return at >= 0 && at < size ? at : -1;
    if (padding == "border" || size == 1)
      return std::clamp<int64_t>(at, 0, size - 1);
    int64_t period = 2 * (corners ? size - 1 : size);
    int64_t in = ((at % period) + period) % period;
    return in < size ? in : period - in - (corners ? 0 : 1);
  }

private:
  T reflect(T place) const {
    T range = high - low;
    bool below = place < low;
    if (range == 0 || (place >= low && place <= high))
      return range == 0 ? T(0) : place;
    T beyond = below ? low - place : place - high;
    T turns = std::trunc(beyond / range), rest = beyond - turns * range;
    bool even = std::fmod(turns, T(2)) == 0;
    return even == below ? low + rest : high - rest;
  }

  int64_t size;
  bool corners;
  StringRef padding;
  T low, high;
};
} // namespace

/// Weights of the elements around a place; the first of them.
static std::pair<int64_t, SmallVector<double>> tapsAt(double place, StringRef mode) {
  double below = std::floor(place), t = place - below;
  auto first = static_cast<int64_t>(below);
  if (mode == "nearest")
    return {first, {1}};
  if (mode == "linear")
    return {first, {1 - t, t}};
  constexpr double a = -0.75;
  auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  return {first - 1, {far(t + 1), near(t), near(1 - t), far(2 - t)}};
}

template <typename T>
static void sampleAll(GridSampleOp op, const TensorData &x, const TensorData &grid, TensorData &y) {
  StringRef mode = op.getMode();
  ArrayRef<int64_t> image = x.shape().drop_front(2);
  SmallVector<Dimension<T>> dims;
  for (int64_t size : image)
    dims.emplace_back(size, op.getAlignCorners(), op.getPadding());
  forEachIndex(y.shape(), [&](ArrayRef<int64_t> index, int64_t position) {
    IntIndex where(index.drop_front(2));
    where.insert(where.begin(), index[0]);
    int64_t coordinates = positionOf(where, grid.shape().drop_back()) * grid.shape().back();
    SmallVector<T> places;
    for (size_t i = 0; i < dims.size(); ++i)
      places.push_back(dims[i].placeOf(
          static_cast<T>(grid.getFloat(coordinates + static_cast<int64_t>(dims.size() - 1 - i))),
          mode == "nearest"));
    IntIndex at{index[0], index[1]};
    std::function<double(size_t)> sum = [&](size_t i) -> double {
      if (i == dims.size())
        return x.getFloat(positionOf(at, x.shape()));
      auto [first, weights] = tapsAt(static_cast<double>(places[i]), mode);
      double total = 0;
      for (auto [offset, weight] : llvm::enumerate(weights)) {
        int64_t element = dims[i].elementAt(first + static_cast<int64_t>(offset));
        if (element < 0)
          continue;
        at.push_back(element);
        total += weight * sum(i + 1);
        at.pop_back();
      }
      return total;
    };
    y.setFloat(position, sum(0));
  });
}

static LogicalResult gridSample(Operation *op, ArrayRef<TensorData> operands,
                                MutableArrayRef<TensorData> results) {
  auto sample = ::cast<GridSampleOp>(op);
  if (operands[1].elementType().isF64())
    sampleAll<double>(sample, operands[0], operands[1], results[0]);
  else
    sampleAll<float>(sample, operands[0], operands[1], results[0]);
  return success();
}

namespace kiln {
void registerGridSampleReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerGridSampleReferences(ReferenceTable &table) {
  table.add<GridSampleOp>(gridSample);
}
