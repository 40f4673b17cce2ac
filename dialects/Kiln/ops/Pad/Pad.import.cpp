//===- Pad.import.cpp - Elements around a tensor, import ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Pad/Pad.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

/// Modes other than constant read x at every place, so what they read must be
/// there.
static LogicalResult checkPlaces(NodeImporter &n, StringRef mode, const Expr &dim,
                                 const Expr &before, const Expr &after) {
  if (mode == "reflect") {
    Expr most = Expr::max(dim - Expr(1), 0);
    for (const Expr &pad : {before, after}) {
      if (pad.constant() && most.constant() && *pad.constant() > *most.constant())
        return n.invalid("mode reflect cannot pad a dimension of " + dim.str() + " by " +
                         pad.str() + ": pads must be less than the dimension");
      n.requireAtMost(pad, most, "pads of mode reflect are less than the dimension");
    }
    return success();
  }
  Expr any = Expr::min(1, before + after);
  if (dim.isConstant(0) && any.isConstant(1))
    return n.invalid("mode " + mode + " cannot pad an empty dimension");
  n.requireAtMost(any, dim, "a dimension padded in mode " + mode + " is not empty");
  return success();
}

static Value makePad(NodeImporter &n, Value x, Value value, ArrayRef<Expr> before,
                     ArrayRef<Expr> after, StringRef mode) {
  SmallVector<Value> operands{x};
  if (mode == "constant")
    operands.push_back(value);
  return n.create<PadOp>(operands, {n.exprsNamed("before", before), n.exprsNamed("after", after),
                                    n.stringNamed("mode", mode)});
}

/// The value of mode constant as a scalar of x's element type: an attribute
/// before opset 11, then an optional operand.
static FailureOr<Value> padValue(NodeImporter &n) {
  Type type = elementTypeOf(n.input(0));
  if (n.sinceVersion() < 11)
    return n.scalar(type, n.floatAttr("value", 0));
  if (!n.hasInput(2))
    return n.scalar(type, 0);
  Value value = n.oneElement(n.input(2), "constant_value");
  if (!value)
    return failure();
  if (elementTypeOf(value) != type)
    return n.invalid("constant_value is not of the input's type");
  return n.reshape(value, {});
}

static FailureOr<SmallVector<Value>> importPad(NodeImporter &n) {
  Value x = n.input(0);
  Shape dims = shapeOf(x), before(dims.size(), 0), after(dims.size(), 0);
  StringRef mode = n.stringAttr("mode").value_or("constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap")
    return n.invalid("unknown mode '" + mode + "'");
  FailureOr<Shape> pads = Shape(), axes = Shape();
  if (n.sinceVersion() >= 11) {
    pads = n.exprs(1);
  } else {
    auto given = n.intsAttr("pads").value_or(SmallVector<int64_t>());
    pads = Shape(given.begin(), given.end());
  }
  if (n.sinceVersion() >= 18 && n.hasInput(3))
    axes = n.exprs(3);
  else
    for (size_t i = 0; i < dims.size(); ++i)
      axes->push_back(static_cast<int64_t>(i));
  if (failed(pads) || failed(axes))
    return failure();
  if (pads->size() != 2 * axes->size())
    return n.invalid("pads has " + Twine(pads->size()) + " elements for " + Twine(axes->size()) +
                     " axes");
  ArrayRef<Expr> all = *pads;
  if (failed(placeOnAxes(
          n, *axes,
          {{before, all.take_front(axes->size())}, {after, all.drop_front(axes->size())}})))
    return failure();
  for (auto [i, dim] : llvm::enumerate(dims)) {
    Expr size = dim + before[i] + after[i];
    if (size.constant().value_or(0) < 0)
      return n.invalid("pads " + before[i].str() + " and " + after[i].str() + " of axis " +
                       Twine(i) + " drop more than its " + dim.str() + " elements");
    n.requireAtMost(0, size, "Pad drops no more elements than there are");
  }
  if (mode == "constant") {
    auto value = padValue(n);
    if (failed(value))
      return failure();
    return SmallVector<Value>{makePad(n, x, *value, before, after, mode)};
  }
  // What negative pads drop is gone before the rest is mirrored or repeated;
  // the specification leaves the order open.
  Shape starts, sizes;
  for (auto [i, dim] : llvm::enumerate(dims)) {
    Expr dropped = Expr::max(0, Expr(0) - before[i]);
    starts.push_back(dropped);
    sizes.push_back(dim - dropped - Expr::max(0, Expr(0) - after[i]));
    before[i] = Expr::max(0, before[i]);
    after[i] = Expr::max(0, after[i]);
    if (sizes[i].constant().value_or(0) < 0)
      return n.invalid("negative pads drop more than the " + dim.str() + " elements of axis " +
                       Twine(i));
    n.requireAtMost(0, sizes[i], "Pad drops no more elements than there are");
    if (failed(checkPlaces(n, mode, sizes[i], before[i], after[i])))
      return failure();
  }
  return SmallVector<Value>{makePad(n, n.slice(x, starts, sizes), nullptr, before, after, mode)};
}

/// The middle of x where it is too large, zeros around it where it is too
/// small; an odd element goes to the end.
static FailureOr<SmallVector<Value>> importCenterCropPad(NodeImporter &n) {
  Value x = n.input(0);
  Shape dims = shapeOf(x), wanted = dims, axes, starts, sizes, before, after;
  auto asked = n.exprs(1);
  if (failed(asked))
    return failure();
  auto given = n.intsAttr("axes").value_or(llvm::to_vector(llvm::seq<int64_t>(0, dims.size())));
  axes.assign(given.begin(), given.end());
  if (failed(placeOnAxes(n, axes, {{wanted, *asked}})))
    return failure();
  for (auto [dim, want] : llvm::zip_equal(dims, wanted)) {
    if (want.constant().value_or(0) < 0)
      return n.invalid("shape has the negative size " + want.str());
    n.requireAtMost(0, want, "sizes of CenterCropPad are not negative");
    starts.push_back(Expr::max(0, Expr::floorDiv(dim - want, 2)));
    sizes.push_back(Expr::min(dim, want));
    before.push_back(Expr::max(0, Expr::floorDiv(want - dim, 2)));
    after.push_back(want - sizes.back() - before.back());
  }
  return SmallVector<Value>{makePad(n, n.slice(x, starts, sizes), n.scalar(elementTypeOf(x), 0),
                                    before, after, "constant")};
}

namespace kiln {
void registerPadImporters(ImportTable &table);
} // namespace kiln

void kiln::registerPadImporters(ImportTable &table) {
  table.add("Pad", 2, importPad);
  table.add("CenterCropPad", 18, importCenterCropPad);
}
