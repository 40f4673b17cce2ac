//===- Conv.reference.cpp - Convolutions, reference -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Conv/Conv.h"
#include "kiln/Reference/ReferenceTable.h"
#include <vector>

using namespace mlir;
using namespace kiln;

namespace {
/// Counts through the positions of a box, row-major.
class Box {
public:
  explicit Box(ArrayRef<int64_t> sizes) : sizes(sizes), at(sizes.size(), 0) {}
  bool empty() const { return llvm::is_contained(sizes, 0); }
  /// False after the last position.
  bool advance() {
    for (size_t d = sizes.size(); d-- > 0;) {
      if (++at[d] < sizes[d])
        return true;
      at[d] = 0;
    }
    return false;
  }
  int64_t operator[](size_t d) const { return at[d]; }

private:
  ArrayRef<int64_t> sizes;
  SmallVector<int64_t> at;
};

/// What both kinds of convolution read from their op.
template <typename OpTy> struct Geometry {
  explicit Geometry(OpTy op)
      : strides(op.getStrides()), dilations(op.getDilations()),
        group(static_cast<int64_t>(op.getGroup())) {
    for (const Expr &pad : exprsOf(op.getPads()))
      pads.push_back(pad.constant().value_or(0));
  }
  ArrayRef<int64_t> strides, dilations;
  int64_t group;
  SmallVector<int64_t> pads;
};

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}
} // namespace

static std::vector<double> doubles(const TensorData &data) {
  std::vector<double> values(static_cast<size_t>(data.size()));
  for (int64_t i = 0; i < data.size(); ++i)
    values[static_cast<size_t>(i)] = data.getFloat(i);
  return values;
}

static void store(ArrayRef<double> sums, TensorData &y) {
  for (auto [i, sum] : llvm::enumerate(sums))
    if (isa<FloatType>(y.elementType()))
      y.setFloat(static_cast<int64_t>(i), sum);
    else
      y.setInt(static_cast<int64_t>(i), static_cast<int64_t>(sum));
}

/// Calls visit(small, large, tap) for each position of the smaller side (the
/// output of a convolution, the input of a transposed one), each position of
/// the other side that a tap of the kernel connects it to, and that tap.
template <typename Geometry>
static void connect(const Geometry &g, ArrayRef<int64_t> small, ArrayRef<int64_t> large,
                    ArrayRef<int64_t> kernel, function_ref<void(int64_t, int64_t, int64_t)> visit) {
  Box position(small);
  if (position.empty() || llvm::is_contained(kernel, 0))
    return;
  int64_t flat = 0;
  do {
    Box tap(kernel);
    int64_t flatTap = 0;
    do {
      int64_t other = 0;
      bool inside = true;
      for (size_t d = 0; d < small.size(); ++d) {
        int64_t at = position[d] * g.strides[d] - g.pads[d] + tap[d] * g.dilations[d];
        inside &= at >= 0 && at < large[d];
        other = other * large[d] + at;
      }
      if (inside)
        visit(flat, other, flatTap);
      ++flatTap;
    } while (tap.advance());
    ++flat;
  } while (position.advance());
}

static LogicalResult conv(Operation *op, ArrayRef<TensorData> operands,
                          MutableArrayRef<TensorData> results) {
  Geometry<ConvOp> g(cast<ConvOp>(op));
  const TensorData &x = operands[0], &w = operands[1];
  TensorData &y = results[0];
  std::vector<double> input = doubles(x), weights = doubles(w);
  std::vector<double> sums(static_cast<size_t>(y.size()), 0.0);
  ArrayRef<int64_t> in = x.shape().drop_front(2), out = y.shape().drop_front(2),
                    kernel = w.shape().drop_front(2);
  int64_t outputs = y.shape()[1], channels = w.shape()[1], taps = product(kernel);
  for (int64_t n = 0; n < y.shape()[0]; ++n)
    for (int64_t k = 0; k < outputs; ++k)
      for (int64_t c = 0; c < channels; ++c) {
        int64_t channel = k / (outputs / g.group) * channels + c;
        double *sum = sums.data() + (n * outputs + k) * product(out);
        const double *from = input.data() + (n * x.shape()[1] + channel) * product(in);
        const double *weight = weights.data() + (k * channels + c) * taps;
        connect(g, out, in, kernel,
                [&](int64_t o, int64_t i, int64_t tap) { sum[o] += from[i] * weight[tap]; });
      }
  store(sums, y);
  return success();
}

static LogicalResult convTranspose(Operation *op, ArrayRef<TensorData> operands,
                                   MutableArrayRef<TensorData> results) {
  Geometry<ConvTransposeOp> g(cast<ConvTransposeOp>(op));
  const TensorData &x = operands[0], &w = operands[1];
  TensorData &y = results[0];
  std::vector<double> input = doubles(x), weights = doubles(w);
  std::vector<double> sums(static_cast<size_t>(y.size()), 0.0);
  ArrayRef<int64_t> in = x.shape().drop_front(2), out = y.shape().drop_front(2),
                    kernel = w.shape().drop_front(2);
  int64_t channels = x.shape()[1], outputs = w.shape()[1], taps = product(kernel);
  for (int64_t n = 0; n < y.shape()[0]; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t k = 0; k < outputs; ++k) {
        int64_t output = c / (channels / g.group) * outputs + k;
        double *sum = sums.data() + (n * y.shape()[1] + output) * product(out);
        const double *from = input.data() + (n * channels + c) * product(in);
        const double *weight = weights.data() + (c * outputs + k) * taps;
        connect(g, in, out, kernel,
                [&](int64_t i, int64_t o, int64_t tap) { sum[o] += from[i] * weight[tap]; });
      }
  store(sums, y);
  return success();
}

namespace kiln {
void registerConvReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerConvReferences(ReferenceTable &table) {
  table.add<ConvOp>(conv);
  table.add<ConvTransposeOp>(convTranspose);
}
