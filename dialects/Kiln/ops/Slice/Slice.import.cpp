//===- Slice.import.cpp - Parts of tensors, import ------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Slice/Slice.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

/// What a Slice takes of one axis.
namespace {
struct Part {
  Expr start, size;
};
} // namespace

/// ONNX writes "to the end" as a number beyond any size.
static constexpr int64_t beyondAnySize = (INT64_C(1) << 31) - 1;

/// 1 when the number is negative, else 0.
static Expr isNegative(const Expr &number) {
  // Clamped first: the least integer has no opposite.
  return Expr::min(1, Expr::max(0, Expr(0) - Expr::max(-1, number)));
}

/// `at`, counted from the end when it is negative.
static Expr fromEnd(const Expr &at, const Expr &dim) {
  if (auto known = at.constant())
    return *known < 0 ? at + dim : at;
  // dim - 1 is negative for an empty axis only, where nothing can be read.
  if (at.isNonNegative() || at == dim - Expr(1))
    return at;
  return at + dim * isNegative(at);
}

/// Sizes are far from overflow; numbers that a run reads need not be.
static bool isOfRun(const Expr &expr) {
  bool found = false;
  expr.forEachSymbol([&](StringRef name) { found |= name.starts_with("%"); });
  return found;
}

/// The specification clamps start into [0, dim] and end likewise; upper bounds
/// of the start and lower ones of the end change nothing but an empty slice.
static Part forward(const Expr &dim, const Expr &from, const Expr &to, const Expr &step) {
  Expr start = fromEnd(from, dim), end = Expr::min(fromEnd(to, dim), dim);
  if (isOfRun(from) || isOfRun(to)) {
    start = Expr::max(0, start);
    end = Expr::max(0, end);
  }
  // end - max(0, start), in a form that folds.
  Expr length = Expr::min(end, end - start);
  return {Expr::max(0, start), Expr::max(0, Expr::ceilDiv(length, step))};
}

/// Every -`step`th element backwards: start is clamped into [0, dim - 1], end
/// into [-1, dim - 1].
static Part backward(const Expr &dim, const Expr &from, const Expr &to, const Expr &step) {
  Expr last = dim - Expr(1), start = last, end = -1;
  if (from.constant().value_or(0) < beyondAnySize)
    start = Expr::min(fromEnd(from, dim), last);
  if (to.constant().value_or(0) > -beyondAnySize)
    end = Expr::max(fromEnd(to, dim), -1);
  bool clamped = start != last && from.constant().value_or(-1) < 0;
  if (clamped)
    start = Expr::max(0, start);
  Expr size = Expr::max(0, Expr::ceilDiv(start - end, step));
  return {start, clamped ? Expr::min(size, dim) : size};
}

static Shape toExprs(ArrayRef<int64_t> values) { return Shape(values.begin(), values.end()); }

/// Operands of opset 10, attributes before.
static FailureOr<Shape> listOf(NodeImporter &n, unsigned input, StringRef attribute,
                               ArrayRef<int64_t> otherwise) {
  if (n.sinceVersion() < 10)
    return toExprs(n.intsAttr(attribute).value_or(SmallVector<int64_t>(otherwise)));
  if (!n.hasInput(input))
    return toExprs(otherwise);
  return n.exprs(input);
}

static Value makeSlice(NodeImporter &n, ArrayRef<Expr> starts, ArrayRef<Expr> sizes,
                       ArrayRef<Expr> steps) {
  return n.create<SliceOp>(
      {n.input(0)},
      {n.exprsNamed("starts", starts), n.exprsNamed("sizes", sizes), n.exprsNamed("steps", steps)});
}

/// The run must see steps other than 0.
static LogicalResult requireSteps(NodeImporter &n) {
  auto steps = n.exprs(4);
  if (failed(steps))
    return failure();
  for (const Expr &step : *steps)
    // Clamped first: the least integer has no opposite.
    n.requireAtMost(1, Expr::max(step, Expr(0) - Expr::max(step, -beyondAnySize)),
                    "1 <= size of a step");
  return success();
}

/// The run must see axes that are there, none of them twice.
static LogicalResult requireAxes(NodeImporter &n, int64_t rank) {
  auto axes = n.exprs(3);
  if (failed(axes))
    return failure();
  Shape places;
  for (const Expr &axis : *axes) {
    n.requireAtMost(-rank, axis, Twine(-rank) + " <= axis");
    n.requireAtMost(axis, rank - 1, "axis <= " + Twine(rank - 1));
    Expr place = axis + Expr(rank) * isNegative(axis);
    for (const Expr &other : places)
      n.requireAtMost(1, Expr::max(place - other, other - place), "1 <= distance of two axes");
    places.push_back(place);
  }
  return success();
}

/// Axes or steps that only the run knows: all bounds are computed there.
static FailureOr<SmallVector<Value>> sliceOfRun(NodeImporter &n) {
  Shape dims = shapeOf(n.input(0)), length = shapeOf(n.input(1));
  if ((n.hasInput(3) && failed(requireAxes(n, static_cast<int64_t>(dims.size())))) ||
      (n.hasInput(4) && failed(requireSteps(n))))
    return failure();
  Type i64 = n.b.getI64Type();
  auto count = length[0].constant().value_or(0);
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, count));
  Value axes = n.hasInput(3) ? n.cast(n.input(3), i64) : n.int64s(all);
  Value steps =
      n.hasInput(4) ? n.cast(n.input(4), i64) : n.int64s(SmallVector<int64_t>(all.size(), 1));
  Value bounds =
      n.create<SliceBoundsOp>({n.cast(n.input(1), i64), n.cast(n.input(2), i64), axes, steps},
                              {n.exprsNamed("dims", dims)});
  if (!bounds)
    return failure();
  // Sizes become symbols that are never negative.
  auto rank = static_cast<int64_t>(dims.size());
  auto row = [&](int64_t i) { return n.reshape(n.slice(bounds, {i, 0}, {1, rank}), {rank}); };
  Value starts = row(0), sizes = row(1), strides = row(2);
  if (!starts || !sizes || !strides)
    return failure();
  return SmallVector<Value>{makeSlice(n, n.bind(starts, "start"),
                                      n.bindSizes(sizes, "slice", "size of the slice"),
                                      n.bind(strides, "step"))};
}

static FailureOr<SmallVector<Value>> importSlice(NodeImporter &n) {
  Shape dims = shapeOf(n.input(0));
  if (n.sinceVersion() >= 10)
    for (unsigned i : {3u, 4u})
      if (n.hasInput(i) && !n.constantInts(n.input(i)))
        return sliceOfRun(n);
  auto starts = listOf(n, 1, "starts", {}), ends = listOf(n, 2, "ends", {});
  if (failed(starts) || failed(ends))
    return failure();
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, starts->size()));
  auto axes = listOf(n, 3, "axes", all);
  auto steps = listOf(n, 4, "steps", SmallVector<int64_t>(starts->size(), 1));
  if (failed(axes) || failed(steps))
    return failure();
  Shape from(dims.size(), 0), to = dims, by(dims.size(), 1);
  if (failed(placeOnAxes(n, *axes, {{from, *starts}, {to, *ends}, {by, *steps}})))
    return failure();
  Shape begins, sizes;
  for (auto [dim, start, end, step] : llvm::zip_equal(dims, from, to, by)) {
    if (step.isConstant(0))
      return n.invalid("a step is 0");
    // A step beyond any size takes the first element only, as this one does.
    step = std::clamp(*step.constant(), -beyondAnySize, beyondAnySize);
    Part part = *step.constant() > 0 ? forward(dim, start, end, step)
                                     : backward(dim, start, end, Expr(0) - step);
    begins.push_back(part.start);
    sizes.push_back(part.size);
  }
  return SmallVector<Value>{makeSlice(n, begins, sizes, by)};
}

/// Sizes of a Split's outputs: given, or as equal as can be.
static FailureOr<Shape> splitSizes(NodeImporter &n, const Expr &dim) {
  auto count = static_cast<int64_t>(n.numOutputs());
  if (n.sinceVersion() < 13) {
    if (auto sizes = n.intsAttr("split"))
      return toExprs(*sizes);
  } else if (n.hasInput(1)) {
    if (n.intAttr("num_outputs"))
      return n.invalid("both split and num_outputs are given");
    return n.exprs(1);
  } else if (n.sinceVersion() >= 18) {
    if (n.intAttr("num_outputs", count) != count)
      return n.invalid("num_outputs is " + Twine(n.intAttr("num_outputs", 0)) + " for " +
                       Twine(count) + " outputs");
    // The last ones are smaller when the dimension does not divide.
    Expr part = Expr::ceilDiv(dim, count);
    Shape sizes;
    for (int64_t i = 0; i < count; ++i)
      sizes.push_back(
          part * Expr(count) == dim ? part : Expr::max(0, Expr::min(part, dim - part * Expr(i))));
    return sizes;
  }
  if (auto known = dim.constant(); known && *known % count != 0)
    return n.invalid("a dimension of " + Twine(*known) + " does not split into " + Twine(count) +
                     " equal parts");
  return Shape(static_cast<size_t>(count), Expr::floorDiv(dim, count));
}

static FailureOr<SmallVector<Value>> importSplit(NodeImporter &n) {
  Shape dims = shapeOf(n.input(0));
  auto axis = normalizeAxis(n.intAttr("axis", 0), static_cast<int64_t>(dims.size()));
  if (!axis)
    return n.invalid("axis " + Twine(n.intAttr("axis", 0)) + " is out of range for rank " +
                     Twine(dims.size()));
  auto parts = splitSizes(n, dims[*axis]);
  if (failed(parts))
    return failure();
  if (parts->size() != n.numOutputs())
    return n.invalid(Twine(parts->size()) + " sizes are given for " + Twine(n.numOutputs()) +
                     " outputs");
  Expr total = 0;
  for (const Expr &part : *parts) {
    if (part.constant().value_or(0) < 0)
      return n.invalid("a part has the negative size " + part.str());
    n.requireAtMost(0, part, "parts of Split are not negative");
    total = total + part;
  }
  if (total.constant() && dims[*axis].constant() && total != dims[*axis])
    return n.invalid("parts add up to " + total.str() + " of " + dims[*axis].str());
  n.require(total, dims[*axis], "parts of Split add up to the dimension");
  SmallVector<Value> results;
  Shape starts(dims.size(), 0), sizes = dims;
  for (const Expr &part : *parts) {
    sizes[*axis] = part;
    results.push_back(n.slice(n.input(0), starts, sizes));
    starts[*axis] = starts[*axis] + part;
  }
  return results;
}

namespace kiln {
void registerSliceImporters(ImportTable &table);
} // namespace kiln

void kiln::registerSliceImporters(ImportTable &table) {
  table.add("Slice", 1, importSlice);
  table.add("Split", 2, importSplit);
}
