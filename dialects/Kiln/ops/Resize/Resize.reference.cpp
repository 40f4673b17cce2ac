//===- Resize.reference.cpp - Interpolation between elements, reference ---===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Resize/Resize.h"
#include "kiln/Reference/MoveElements.h"
#include "kiln/Reference/ReferenceTable.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <functional>

using namespace mlir;
using namespace kiln;

namespace {
/// How one axis is resampled, all in double.
class AxisSampler {
public:
  AxisSampler(ResizeOp op, size_t i, ArrayRef<TensorData> operands)
      : op(op), axis(op.getAxes()[i]), in(operands[0].shape()[static_cast<size_t>(axis)]),
        out(*exprsOf(op.getSizes())[i].constant()) {
    int64_t count = static_cast<int64_t>(op.getAxes().size()), at = static_cast<int64_t>(i);
    double fixed = op.getScalesOperand() ? operands[1].getFloat(at) : op.getScales()[i];
    scale = fixed != 0 ? fixed : ratio();
    width = fixed == 0 && op.getPolicy() == "stretch" ? static_cast<double>(out)
                                                      : scale * static_cast<double>(in);
    if (op.isCrop()) {
      regionStart = operands.back().getFloat(at);
      regionEnd = operands.back().getFloat(count + at);
    }
  }

  /// Where place `at` of the result lies in x.
  double sourceOf(int64_t at) {
    StringRef mode = op.getCoordinates();
    auto i = static_cast<double>(at), last = static_cast<double>(in - 1);
    if (mode == "align_corners")
      return width == 1 ? 0 : i * last / (width - 1);
    if (mode == "asymmetric")
      return i / scale;
    if (mode == "tf_half_pixel_for_nn")
      return (i + 0.5) / scale;
    if (mode == "tf_crop_and_resize")
      return width == 1 ? (regionEnd - regionStart) * last / 2 + regionStart * last
                        : i * (regionEnd - regionStart) * last / (width - 1) + regionStart * last;
    if (mode == "pytorch_half_pixel" && out <= 1)
      return 0;
    double source = (i + 0.5) / scale - 0.5;
    if (mode == "half_pixel_symmetric")
      source += static_cast<double>(in) / 2 * (1 - static_cast<double>(out) / width);
    return source;
  }
  bool isOutside(double source) {
    // Written so that NaN is outside.
    return op.isCrop() && !(source >= 0 && source <= static_cast<double>(in - 1));
  }
  int64_t inside(double place) {
    return static_cast<int64_t>(std::clamp(place, 0.0, static_cast<double>(in - 1)));
  }

  int64_t nearest(double source) {
    StringRef rounding = op.getRounding();
    double below = std::floor(source), rest = source - below;
    bool up = rounding == "ceil"                 ? rest > 0
              : rounding == "round_prefer_floor" ? rest > 0.5
              : rounding == "round_prefer_ceil"  ? rest >= 0.5
                                                 : false;
    return inside(up ? below + 1 : below);
  }

  /// Calls visit(place, weight) for all that weighs on a place.
  void forEachTap(double source, function_ref<void(int64_t, double)> visit) {
    double below = std::floor(source), rest = source - below;
    double shrink = op.getAntialias() ? std::min(scale, 1.0) : 1.0;
    int64_t first =
                static_cast<int64_t>(std::floor(-static_cast<double>(op.radius()) / shrink)) + 1,
            last = 1 - first;
    SmallVector<std::pair<int64_t, double>> taps;
    double sum = 0;
    for (int64_t i = first; i <= last; ++i) {
      double place = below + static_cast<double>(i);
      double weight = weightAt((static_cast<double>(i) - rest) * shrink);
      if (op.getExcludeOutside() && (place < 0 || place > static_cast<double>(in - 1)))
        weight = 0;
      taps.push_back({inside(place), weight});
      sum += weight;
    }
    if (sum == 0 || (!op.getAntialias() && !op.getExcludeOutside()))
      sum = 1;
    for (auto [place, weight] : taps)
      visit(place, weight / sum);
  }

  ResizeOp op;
  int64_t axis, in, out;

private:
  double ratio() {
    if (op.getPolicy() == "stretch")
      return static_cast<double>(out) / static_cast<double>(in);
    IntIndex pairs = *constantsOf(*op.getRatios());
    bool least = op.getPolicy() == "not_larger";
    double best = least ? HUGE_VAL : 0;
    for (size_t i = 0; i < pairs.size(); i += 2) {
      double quotient = static_cast<double>(pairs[i]) / static_cast<double>(pairs[i + 1]);
      best = least ? std::min(best, quotient) : std::max(best, quotient);
    }
    return best;
  }

  double weightAt(double distance) {
    double x = std::abs(distance), a = op.getCubic().convertToDouble();
    if (op.getMode() == "linear")
      return std::max(0.0, 1 - x);
    if (x <= 1)
      return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
  }

  double scale, width, regionStart = 0, regionEnd = 1;
};
} // namespace

static void setRounded(TensorData &y, int64_t i, double value) {
  Type type = y.elementType();
  if (isa<FloatType>(type))
    return y.setFloat(i, value);
  unsigned bits = type.getIntOrFloatBitWidth();
  bool isUnsigned = type.isUnsignedInteger();
  double low = isUnsigned ? 0.0 : -std::ldexp(1.0, static_cast<int>(bits) - 1);
  double limit = std::ldexp(1.0, static_cast<int>(isUnsigned ? bits : bits - 1));
  value = std::nearbyint(value);
  if (value >= limit)
    return y.setInt(i, isUnsigned ? -1 : llvm::maxIntN(bits));
  value = std::max(value, low);
  y.setInt(i, isUnsigned ? static_cast<int64_t>(static_cast<uint64_t>(value))
                         : static_cast<int64_t>(value));
}

static LogicalResult resize(Operation *op, ArrayRef<TensorData> operands,
                            MutableArrayRef<TensorData> results) {
  auto resize = ::cast<ResizeOp>(op);
  if (!constantsOf(resize.getSizes()) || (resize.getRatios() && !constantsOf(*resize.getRatios())))
    return failure();
  const TensorData &x = operands[0];
  TensorData &y = results[0];
  SmallVector<AxisSampler> samplers;
  for (size_t i = 0; i < resize.getAxes().size(); ++i)
    samplers.emplace_back(resize, i, operands);
  bool isNearest = resize.getMode() == "nearest";
  std::function<double(IntIndex &, size_t, ArrayRef<int64_t>)> sample =
      [&](IntIndex &at, size_t i, ArrayRef<int64_t> index) -> double {
    if (i == samplers.size())
      return x.getFloat(positionOf(at, x.shape()));
    auto axis = static_cast<size_t>(samplers[i].axis);
    double sum = 0;
    samplers[i].forEachTap(samplers[i].sourceOf(index[axis]), [&](int64_t place, double weight) {
      at[axis] = place;
      sum += weight * sample(at, i + 1, index);
    });
    return sum;
  };
  forEachIndex(y.shape(), [&](ArrayRef<int64_t> index, int64_t position) {
    IntIndex at(index);
    bool outside = false;
    for (AxisSampler &sampler : samplers) {
      auto axis = static_cast<size_t>(sampler.axis);
      double source = sampler.sourceOf(index[axis]);
      outside |= sampler.isOutside(source);
      if (isNearest)
        at[axis] = sampler.nearest(source);
    }
    if (outside)
      setRounded(y, position, resize.getExtrapolation().convertToDouble());
    else if (isNearest)
      copyElement(y, position, x, positionOf(at, x.shape()));
    else
      setRounded(y, position, sample(at, 0, index));
  });
  return success();
}

namespace kiln {
void registerResizeReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerResizeReferences(ReferenceTable &table) { table.add<ResizeOp>(resize); }
