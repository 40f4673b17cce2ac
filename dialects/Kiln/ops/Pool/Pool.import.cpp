//===- Pool.import.cpp - Windows that slide over spatial axes, import -----===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Pool/Pool.h"
#include "kiln/Import/Compose.h"

using namespace mlir;
using namespace kiln;

namespace {
/// A pooling node's window, with padding and result sizes worked out.
struct Window {
  SmallVector<int64_t> kernel, strides, dilations;
  Shape pads, sizes;

  SmallVector<NamedAttribute> attributes(NodeImporter &n) const {
    return {n.attr("kernel", ArrayRef(kernel)), n.attr("strides", ArrayRef(strides)),
            n.attr("dilations", ArrayRef(dilations)), n.exprsNamed("pads", pads),
            n.exprsNamed("sizes", sizes)};
  }
};
} // namespace

/// One positive number for each spatial axis; 1 when the attribute is left out.
static FailureOr<SmallVector<int64_t>> perAxis(NodeImporter &n, StringRef name, size_t spatial) {
  auto given = n.intsAttr(name);
  if (!given)
    return SmallVector<int64_t>(spatial, 1);
  if (given->size() != spatial)
    return n.invalid(name + " has " + Twine(given->size()) + " entries for " + Twine(spatial) +
                     " spatial axes");
  // Their products are sizes, and must not wrap.
  constexpr int64_t most = INT64_C(1) << 31;
  for (int64_t value : *given)
    if (value < 1 || value > most)
      return n.invalid(name + " holds " + Twine(value) + ", expected 1 to " + Twine(most));
  return *given;
}

static FailureOr<Window> readWindow(NodeImporter &n) {
  Shape shape = shapeOf(n.input(0));
  if (shape.size() < 3)
    return n.invalid("input has rank " + Twine(shape.size()) +
                     ", expected at least one spatial axis");
  size_t spatial = shape.size() - 2;
  if (!n.intsAttr("kernel_shape"))
    return n.invalid("kernel_shape is missing");
  auto kernel = perAxis(n, "kernel_shape", spatial), strides = perAxis(n, "strides", spatial);
  auto dilations = perAxis(n, "dilations", spatial);
  if (failed(kernel) || failed(strides) || failed(dilations))
    return failure();
  Window w{*kernel, *strides, *dilations, Shape(2 * spatial, 0), {}};
  StringRef autoPad = n.stringAttr("auto_pad").value_or("NOTSET");
  bool same = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
  if (!same && autoPad != "VALID" && autoPad != "NOTSET" && !autoPad.empty())
    return n.invalid("auto_pad is " + autoPad +
                     ", expected NOTSET, SAME_UPPER, SAME_LOWER or VALID");
  auto pads = n.intsAttr("pads");
  if (pads && !same && autoPad != "VALID") {
    if (pads->size() != 2 * spatial)
      return n.invalid("pads has " + Twine(pads->size()) + " entries for " + Twine(spatial) +
                       " spatial axes");
    for (auto [i, pad] : llvm::enumerate(*pads)) {
      constexpr int64_t most = INT64_C(1) << 31;
      if (pad < 0 || pad > most)
        return n.invalid("pads holds " + Twine(pad) + ", expected 0 to " + Twine(most));
      w.pads[i] = pad;
    }
  }
  bool ceiling = n.intAttr("ceil_mode", 0) != 0;
  for (size_t i = 0; i < spatial; ++i) {
    Expr in = shape[2 + i], stride = w.strides[i];
    Expr extent = (w.kernel[i] - 1) * w.dilations[i] + 1;
    Expr &before = w.pads[i], &after = w.pads[spatial + i];
    if (same) {
      w.sizes.push_back(Expr::ceilDiv(in, stride));
      Expr missing = Expr::max((w.sizes[i] - Expr(1)) * stride + extent - in, 0);
      before = Expr::floorDiv(missing + Expr(autoPad == "SAME_LOWER" ? 1 : 0), 2);
      after = missing - before;
      continue;
    }
    Expr room = in + before + after - extent;
    Expr size = Expr::floorDiv(room, stride) + Expr(1);
    // Windows that would start behind the input are left out.
    if (ceiling)
      size = Expr::min(Expr::ceilDiv(room, stride) + Expr(1), Expr::ceilDiv(in + before, stride));
    if (size.constant().value_or(1) < 1 && in.constant().value_or(1) > 0)
      return n.invalid("a window of " + extent.str() + " elements does not fit the " +
                       (in + before + after).str() + " of spatial axis " + Twine(i));
    if (!in.constant())
      n.requireAtMost(extent, in + before + after,
                      "window of " + n.opType() + " <= spatial axis " + Twine(i) +
                          " with its padding");
    w.sizes.push_back(size.constant().value_or(0) < 0 ? Expr(0) : size);
  }
  return w;
}

/// One window that is the whole of each channel makes a reduction of a pool.
static bool coversAll(const Window &w, ArrayRef<Expr> shape) {
  for (auto [i, size] : llvm::enumerate(w.kernel))
    if (!shape[2 + i].isConstant(size) || !w.sizes[i].isConstant(1) || w.dilations[i] != 1 ||
        !w.pads[i].isConstant(0) || !w.pads[w.kernel.size() + i].isConstant(0))
      return false;
  return true;
}

template <typename ReduceOp> static Value reduceSpatial(NodeImporter &n) {
  Value x = n.input(0);
  return Formula(n, x)
      .fold<ReduceOp>(llvm::to_vector(llvm::seq<int64_t>(2, rankOf(x))), true)
      .value;
}

static FailureOr<SmallVector<Value>> importMaxPool(NodeImporter &n) {
  auto w = readWindow(n);
  if (failed(w))
    return failure();
  int64_t order = n.intAttr("storage_order", 0);
  if (order != 0 && order != 1)
    return n.invalid("storage_order is " + Twine(order) + ", expected 0 or 1");
  SmallVector<NamedAttribute> attributes = w->attributes(n);
  Value y, indices;
  if (n.outputUsed(0))
    y = coversAll(*w, shapeOf(n.input(0))) ? reduceSpatial<ReduceMaxOp>(n)
                                           : n.create<MaxPoolOp>({n.input(0)}, attributes);
  if (n.outputUsed(1)) {
    attributes.push_back(n.boolNamed("column_major", order == 1));
    indices = n.create<MaxPoolIndicesOp>({n.input(0)}, attributes);
  }
  return SmallVector<Value>{y, indices};
}

static FailureOr<SmallVector<Value>> importAveragePool(NodeImporter &n) {
  auto w = readWindow(n);
  if (failed(w))
    return failure();
  if (coversAll(*w, shapeOf(n.input(0))))
    return SmallVector<Value>{reduceSpatial<ReduceMeanOp>(n)};
  SmallVector<NamedAttribute> attributes = w->attributes(n);
  attributes.push_back(n.boolNamed("count_include_pad", n.intAttr("count_include_pad", 0) != 0));
  return SmallVector<Value>{n.create<AvgPoolOp>({n.input(0)}, attributes)};
}

static FailureOr<SmallVector<Value>> importLpPool(NodeImporter &n) {
  auto w = readWindow(n);
  if (failed(w))
    return failure();
  int64_t p = n.intAttr("p", 2);
  if (p < 1)
    return n.invalid("p is " + Twine(p) + ", expected at least 1");
  auto power = static_cast<double>(p);
  Formula x = Formula(n, n.input(0)).widen();
  Formula powers = p == 1 ? x.abs() : p == 2 ? x * x : x.abs().pow(power);
  Formula sum = powers.with(n.create<SumPoolOp>({powers.value}, w->attributes(n)));
  Formula y = p == 1 ? sum : p == 2 ? sum.sqrt() : sum.pow(1 / power);
  return SmallVector<Value>{y.cast(elementTypeOf(n.input(0))).value};
}

/// Sums of squares over neighbouring channels are a pool along that axis.
static FailureOr<SmallVector<Value>> importLrn(NodeImporter &n) {
  Shape shape = shapeOf(n.input(0));
  int64_t size = n.intAttr("size", 0);
  if (shape.size() < 2 || size < 1)
    return n.invalid("expected a size of at least 1 and an input of at least rank 2");
  Expr channels = shape[1], pixels = elementCount(ArrayRef(shape).drop_front(2));
  Window w{{size, 1}, {1, 1}, {1, 1}, {(size - 1) / 2, 0, size / 2, 0}, {channels, pixels}};
  Formula x = Formula(n, n.input(0)).widen();
  Formula squares = (x * x).reshape({shape[0], 1, channels, pixels});
  Formula sums = squares.with(n.create<SumPoolOp>({squares.value}, w.attributes(n))).reshape(shape);
  double alpha = n.floatAttr("alpha", 1e-4), beta = n.floatAttr("beta", 0.75);
  Formula base = sums * (alpha / static_cast<double>(size)) + n.floatAttr("bias", 1);
  return SmallVector<Value>{(x * base.pow(-beta)).cast(elementTypeOf(n.input(0))).value};
}

static FailureOr<SmallVector<Value>> importMaxUnpool(NodeImporter &n) {
  Shape shape = shapeOf(n.input(0));
  if (shape.size() < 3)
    return n.invalid("input has rank " + Twine(shape.size()) +
                     ", expected at least one spatial axis");
  size_t spatial = shape.size() - 2;
  if (!n.intsAttr("kernel_shape"))
    return n.invalid("kernel_shape is missing");
  auto kernel = perAxis(n, "kernel_shape", spatial), strides = perAxis(n, "strides", spatial);
  auto pads = n.intsAttr("pads").value_or(SmallVector<int64_t>(2 * spatial, 0));
  if (failed(kernel) || failed(strides))
    return failure();
  if (pads.size() != 2 * spatial)
    return n.invalid("pads has " + Twine(pads.size()) + " entries for " + Twine(spatial) +
                     " spatial axes");
  Shape indexed(ArrayRef(shape).take_front(2));
  for (size_t i = 0; i < spatial; ++i)
    indexed.push_back((shape[2 + i] - Expr(1)) * Expr((*strides)[i]) -
                      Expr(pads[i] + pads[spatial + i]) + Expr((*kernel)[i]));
  Shape result = indexed;
  if (n.hasInput(2)) {
    auto asked = n.exprs(2);
    if (failed(asked))
      return failure();
    result = *asked;
  }
  for (const Shape &sizes : {indexed, result})
    for (const Expr &size : sizes)
      if (size.constant().value_or(0) < 0)
        return n.invalid("output has the negative size " + size.str());
  // Dims that only the run knows are checked there.
  Value indices = n.input(1);
  Shape own = shapeOf(indices);
  if (own.size() == shape.size()) {
    for (auto [mine, wanted] : llvm::zip(own, shape))
      if (!mine.constant() || !wanted.constant())
        n.require(mine, wanted, "MaxUnpool's indices have the shape of its input");
    if (!elementCount(own).constant() || !elementCount(shape).constant())
      indices = n.reshape(indices, shape);
  }
  n.requireRange(indices, 0, elementCount(indexed) - Expr(1), "index of MaxUnpool");
  return SmallVector<Value>{n.create<MaxUnpoolOp>(
      {n.input(0), indices}, {n.exprsNamed("indexed", indexed), n.exprsNamed("shape", result)})};
}

namespace kiln {
void registerPoolImporters(ImportTable &table);
} // namespace kiln

void kiln::registerPoolImporters(ImportTable &table) {
  table.add("MaxPool", 1, importMaxPool);
  table.add("AveragePool", 7, importAveragePool);
  table.add("LpPool", 2, importLpPool);
  table.add("LRN", 1, importLrn);
  table.add("MaxUnpool", 9, importMaxUnpool);
}
