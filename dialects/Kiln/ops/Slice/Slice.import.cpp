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
static Expr isNegative(const Expr &number) { return Expr::min(1, Expr::max(0, Expr(0) - number)); }

/// `at`, counted from the end when it is negative.
static Expr fromEnd(const Expr &at, const Expr &dim) {
  if (auto known = at.constant())
    return *known < 0 ? at + dim : at;
  // dim - 1 is negative for an empty axis only, where nothing can be read.
  if (at.isNonNegative() || at == dim - Expr(1))
    return at;
  return at + dim * isNegative(at);
}

/// The specification clamps start into [0, dim] and end likewise; upper bounds
/// of the start and lower ones of the end change nothing but an empty slice.
static Part forward(const Expr &dim, const Expr &from, const Expr &to, const Expr &step) {
  Expr start = fromEnd(from, dim), end = Expr::min(fromEnd(to, dim), dim);
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

static Part partOf(const Expr &dim, const Expr &from, const Expr &to, const Expr &step) {
  if (auto known = step.constant())
    return *known > 0 ? forward(dim, from, to, step) : backward(dim, from, to, Expr(0) - step);
  Part ahead = forward(dim, from, to, Expr::max(1, step)),
       back = backward(dim, from, to, Expr::max(1, Expr(0) - step));
  Expr isBack = isNegative(step);
  auto choose = [&](const Expr &a, const Expr &b) { return a + (b - a) * isBack; };
  return {choose(ahead.start, back.start), choose(ahead.size, back.size)};
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

static FailureOr<SmallVector<Value>> importSlice(NodeImporter &n) {
  Shape dims = shapeOf(n.input(0));
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
  Shape begins, sizes, strides;
  for (auto [dim, start, end, step] : llvm::zip_equal(dims, from, to, by)) {
    if (step.isConstant(0))
      return n.invalid("a step is 0");
    // A step beyond any size takes the first element only, as this one does.
    strides.push_back(step.constant() ? std::clamp(*step.constant(), -beyondAnySize, beyondAnySize)
                                      : step);
    Part part = partOf(dim, start, end, strides.back());
    begins.push_back(part.start);
    sizes.push_back(part.size);
  }
  return SmallVector<Value>{
      n.create<SliceOp>({n.input(0)}, {n.exprsNamed("starts", begins), n.exprsNamed("sizes", sizes),
                                       n.exprsNamed("steps", strides)})};
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
