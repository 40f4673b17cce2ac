//===- Normalization.import.cpp - Standardised rows, import ---------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Normalization/Normalization.h"
#include "kiln/Import/Compose.h"

using namespace mlir;
using namespace kiln;

template <typename OpTy>
static Formula rowNorm(NodeImporter &n, Value x, int64_t axis, double epsilon) {
  return {n, n.create<OpTy>({x}, {n.attr("axis", axis), n.floatNamed("epsilon", epsilon)})};
}

static FailureOr<int64_t> firstAxis(NodeImporter &n) {
  int64_t axis = n.intAttr("axis", -1), rank = rankOf(n.input(0));
  auto at = normalizeAxis(axis, rank);
  if (!at)
    return n.invalid("axis " + Twine(axis) + " is out of range for rank " + Twine(rank));
  return *at;
}

/// Scale and bias must not widen the result.
static LogicalResult checkBroadcast(NodeImporter &n, unsigned input, StringRef what) {
  if (!n.hasInput(input))
    return success();
  Shape shape = shapeOf(n.input(0)), other = shapeOf(n.input(input));
  auto joined = broadcastShapes(shape, other);
  if (failed(joined) || joined->size() != shape.size())
    return n.invalid(Twine(what) + " does not broadcast to the input's shape");
  for (auto [dim, result] : llvm::zip(shape, *joined))
    if (dim.constant() && result.constant() && dim != result)
      return n.invalid(Twine(what) + " does not broadcast to the input's shape");
  return success();
}

/// ONNX element type number of stash_type as the type of the statistics. What
/// is computed more exactly than asked for is welcome: double stays double.
static FailureOr<Type> stashType(NodeImporter &n) {
  switch (int64_t number = n.intAttr("stash_type", 1)) {
  case 1:
    return Type(n.b.getF32Type());
  case 10:
    return Type(n.b.getF16Type());
  case 11:
    return Type(n.b.getF64Type());
  case 16:
    return Type(n.b.getBF16Type());
  default:
    return n.invalid("stash_type " + Twine(number) + " is no float type");
  }
}

static FailureOr<SmallVector<Value>> importLayerNorm(NodeImporter &n) {
  auto axis = firstAxis(n);
  auto stash = stashType(n);
  if (failed(axis) || failed(stash) || failed(checkBroadcast(n, 1, "Scale")) ||
      failed(checkBroadcast(n, 2, "B")))
    return failure();
  double epsilon = n.floatAttr("epsilon", 1e-5);
  Formula x(n, n.input(0));
  Type type = elementTypeOf(x.value);
  Formula y = x, mean(n, nullptr), inverse(n, nullptr);
  if (!n.outputUsed(1) && !n.outputUsed(2)) {
    y = rowNorm<StandardizeOp>(n, x.value, *axis, epsilon);
  } else {
    SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(*axis, rankOf(x.value)));
    Formula wide = x.widen();
    Formula average = wide.mean(axes), deviation = wide - average;
    inverse = 1.0 / ((deviation * deviation).mean(axes) + epsilon).sqrt();
    y = (deviation * inverse).cast(type);
    mean = average.cast(*stash);
    inverse = inverse.cast(*stash);
  }
  y = y * Formula(n, n.input(1));
  if (n.hasInput(2))
    y = y + Formula(n, n.input(2));
  return SmallVector<Value>{y.value, mean.value, inverse.value};
}

static FailureOr<SmallVector<Value>> importRmsNorm(NodeImporter &n) {
  auto axis = firstAxis(n);
  auto stash = stashType(n);
  if (failed(axis) || failed(stash) || failed(checkBroadcast(n, 1, "scale")))
    return failure();
  Formula y = rowNorm<RmsNormalizeOp>(n, n.input(0), *axis, n.floatAttr("epsilon", 1e-5));
  // The result has the scale's type.
  Formula scale(n, n.input(1));
  return SmallVector<Value>{(y.cast(elementTypeOf(scale.value)) * scale).value};
}

/// A vector of one element a channel (or group), shaped to meet axis 1 of a
/// tensor of this rank.
static FailureOr<Formula> channelVector(NodeImporter &n, unsigned input, const Expr &count,
                                        ArrayRef<Expr> shape) {
  Shape given = shapeOf(n.input(input));
  if (given.size() != 1 || (given[0].constant() && count.constant() && given[0] != count))
    return n.invalid("input " + Twine(input) + " must have shape [" + count.str() + "]");
  n.require(given[0], count, "one element a channel");
  return Formula(n, n.input(input)).reshape(shape);
}

static FailureOr<SmallVector<Value>> importInstanceNorm(NodeImporter &n) {
  Shape shape = shapeOf(n.input(0));
  if (shape.size() < 3)
    return n.invalid("input has rank " + Twine(shape.size()) +
                     ", expected at least one spatial axis");
  Shape perChannel(shape.size() - 1, 1);
  perChannel[0] = shape[1];
  auto scale = channelVector(n, 1, shape[1], perChannel);
  auto bias = channelVector(n, 2, shape[1], perChannel);
  if (failed(scale) || failed(bias))
    return failure();
  Formula y = rowNorm<StandardizeOp>(n, n.input(0), 2, n.floatAttr("epsilon", 1e-5));
  return SmallVector<Value>{(y * *scale + *bias).value};
}

/// Scale and bias were per group in opset 18, and are per channel since 21.
static FailureOr<SmallVector<Value>> importGroupNorm(NodeImporter &n) {
  Shape shape = shapeOf(n.input(0));
  auto groups = n.intAttr("num_groups");
  if (shape.size() < 2 || !groups || *groups < 1)
    return n.invalid("expected num_groups of at least 1 and an input of at least rank 2");
  auto channels = shape[1].constant();
  if (!channels)
    return n.refuse("the number of channels is not known", "a static number of channels");
  if (*channels % *groups)
    return n.invalid("num_groups " + Twine(*groups) + " does not divide " + Twine(*channels) +
                     " channels");
  Shape split{shape[0], *groups, *channels / *groups};
  split.append(shape.begin() + 2, shape.end());
  bool perGroup = n.sinceVersion() < 21;
  Shape vector(split.size() - 1, 1);
  vector[0] = *groups;
  if (!perGroup)
    vector[1] = split[2];
  Expr count = perGroup ? Expr(*groups) : shape[1];
  auto scale = channelVector(n, 1, count, vector), bias = channelVector(n, 2, count, vector);
  if (failed(scale) || failed(bias))
    return failure();
  Formula y =
      rowNorm<StandardizeOp>(n, n.reshape(n.input(0), split), 2, n.floatAttr("epsilon", 1e-5));
  return SmallVector<Value>{(y * *scale + *bias).reshape(shape).value};
}

static FailureOr<SmallVector<Value>> importLpNorm(NodeImporter &n) {
  auto axis = firstAxis(n);
  if (failed(axis))
    return failure();
  int64_t p = n.intAttr("p", 2);
  if (p != 1 && p != 2)
    return n.invalid("p is " + Twine(p) + ", expected 1 or 2");
  Formula x = Formula(n, n.input(0)).widen();
  Formula norm = p == 1 ? x.abs().fold<ReduceSumOp>({*axis}, true)
                        : (x * x).fold<ReduceSumOp>({*axis}, true).sqrt();
  // Rows of zeros are divided by the least number above 0, and stay zeros.
  bool isDouble = elementTypeOf(n.input(0)).isF64();
  double least = isDouble ? 4.9406564584124654e-324 : 1.401298464324817e-45;
  return SmallVector<Value>{(x / norm.atLeast(least)).cast(elementTypeOf(n.input(0))).value};
}

static FailureOr<SmallVector<Value>> importMeanVariance(NodeImporter &n) {
  int64_t rank = rankOf(n.input(0));
  SmallVector<int64_t> axes;
  for (int64_t axis : n.intsAttr("axes").value_or(SmallVector<int64_t>{0, 2, 3})) {
    auto at = normalizeAxis(axis, rank);
    if (!at || llvm::is_contained(axes, *at))
      return n.invalid("axis " + Twine(axis) + " is out of range or given twice for rank " +
                       Twine(rank));
    axes.push_back(*at);
  }
  llvm::sort(axes);
  Formula x = Formula(n, n.input(0)).widen();
  Formula deviation = x - x.mean(axes);
  Formula spread = (deviation * deviation).mean(axes).sqrt() + 1e-9;
  return SmallVector<Value>{(deviation / spread).cast(elementTypeOf(n.input(0))).value};
}

/// y = x * a + b with a and b per channel, which fold to constants and then into
/// a convolution before. Since opset 14 training_mode takes mean and variance
/// from the batch, and gives the running ones.
static FailureOr<SmallVector<Value>> importBatchNorm(NodeImporter &n) {
  Shape shape = shapeOf(n.input(0));
  Type type = elementTypeOf(n.input(0)), wide = type.isF64() ? type : n.b.getF32Type();
  bool training = n.sinceVersion() >= 14 && n.intAttr("training_mode", 0) != 0;
  for (unsigned i = 1; i < n.numOutputs() && !training; ++i)
    if (n.outputUsed(i))
      return n.refuse("output " + Twine(i) + " is a statistic of training",
                      "the inference form with one output, or training_mode since opset 14");
  if (shape.empty())
    return n.invalid("input has rank 0");
  // A vector is a batch of one channel.
  Expr channels = shape.size() > 1 ? shape[1] : Expr(1);
  Shape perChannel(std::max<size_t>(shape.size() - 1, 1), 1);
  perChannel[0] = channels;
  bool perFeature = n.sinceVersion() < 9 && n.intAttr("spatial", 1) == 0;
  SmallVector<Formula, 4> vectors;
  for (unsigned i = 1; i <= 4; ++i) {
    auto vector = perFeature ? FailureOr<Formula>(Formula(n, n.input(i)))
                             : channelVector(n, i, channels, perChannel);
    if (failed(vector))
      return failure();
    vectors.push_back(vector->cast(wide));
  }
  Formula x = Formula(n, n.input(0)).cast(wide);
  Formula scale = vectors[0], bias = vectors[1], mean = vectors[2], variance = vectors[3];
  SmallVector<Value> results(n.numOutputs());
  if (training) {
    SmallVector<int64_t> axes;
    for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
      if (i != 1)
        axes.push_back(i);
    double momentum = n.floatAttr("momentum", 0.9);
    Formula batchMean = x.mean(axes), deviation = x - batchMean;
    Formula batchVariance = (deviation * deviation).mean(axes);
    auto running = [&](unsigned output, const Formula &old, const Formula &batch) {
      if (output >= n.numOutputs() || !n.outputUsed(output))
        return;
      Formula flat = batch.reshape(perChannel);
      results[output] = (old * momentum + flat * (1 - momentum))
                            .reshape({channels})
                            .cast(elementTypeOf(n.input(output + 2)))
                            .value;
    };
    running(1, mean, batchMean);
    running(2, variance, batchVariance);
    mean = batchMean.reshape(perChannel);
    variance = batchVariance.reshape(perChannel);
  }
  Formula a = scale / (variance + n.floatAttr("epsilon", 1e-5)).sqrt();
  Formula b = bias - mean * a;
  results[0] = (x * a + b).cast(type).value;
  return results;
}

namespace kiln {
void registerNormalizationImporters(ImportTable &table);
} // namespace kiln

void kiln::registerNormalizationImporters(ImportTable &table) {
  table.add("LayerNormalization", 17, importLayerNorm);
  table.add("RMSNormalization", 23, importRmsNorm);
  table.add("InstanceNormalization", 6, importInstanceNorm);
  table.add("GroupNormalization", 18, importGroupNorm);
  table.add("BatchNormalization", 7, importBatchNorm);
  table.add("LpNormalization", 1, importLpNorm);
  table.add("MeanVarianceNormalization", 9, importMeanVariance);
}
