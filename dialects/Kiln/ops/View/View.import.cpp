//===- View.import.cpp - Ops that only rename elements, import ------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/View/View.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

/// The dims that a Reshape's shape operand asks for: 0 keeps (unless
/// allowzero), one -1 is what is left over.
static FailureOr<Shape> resolveShape(NodeImporter &n, ArrayRef<Expr> from, ArrayRef<Expr> asked,
                                     bool allowZero) {
  Shape shape;
  std::optional<size_t> inferred;
  bool anyZero = false;
  for (auto [i, dim] : llvm::enumerate(asked)) {
    if (dim.isConstant(-1)) {
      if (inferred)
        return n.invalid("shape has more than one -1");
      inferred = i;
      shape.push_back(1);
    } else if (dim.isConstant(0) && !allowZero) {
      if (i >= from.size())
        return n.invalid("shape keeps dim " + Twine(i) + ", which the input lacks");
      shape.push_back(from[i]);
    } else if (dim.constant().value_or(0) < 0) {
      return n.invalid("shape has the negative size " + dim.str());
    } else {
      anyZero |= dim.isConstant(0);
      shape.push_back(dim);
    }
  }
  if (inferred && anyZero)
    return n.invalid("shape has both 0 and -1 under allowzero");
  if (inferred) {
    Expr known = elementCount(shape), count = elementCount(from);
    auto total = count.constant(), rest = known.constant();
    if (total && rest && (*rest == 0 ? *total != 0 : *total % *rest != 0))
      return n.invalid("cannot reshape " + Twine(*total) + " elements to a multiple of " +
                       Twine(*rest));
    shape[*inferred] = rest && *rest == 0 ? Expr(0) : Expr::floorDiv(count, known);
  }
  return shape;
}

static bool mayBeNegative(const Expr &expr) {
  bool negative = false;
  expr.forEachSymbol([&](StringRef name) { negative |= name.starts_with("%"); });
  return negative;
}

static FailureOr<SmallVector<Value>> importReshape(NodeImporter &n) {
  auto asked = n.exprs(1);
  if (failed(asked))
    return failure();
  Shape from = shapeOf(n.input(0));
  bool allowZero = n.intAttr("allowzero", 0) != 0;
  FailureOr<Shape> shape = failure();
  if (llvm::any_of(*asked, mayBeNegative)) {
    // 0 and -1 may come at run time only.
    Value resolved = n.create<ResolveShapeOp>(
        {n.input(1)}, {n.exprsNamed("from", from), n.boolNamed("allow_zero", allowZero)});
    if (resolved)
      shape = n.bindSizes(resolved, "reshape", "size in Reshape's shape");
  } else {
    shape = resolveShape(n, from, *asked, allowZero);
  }
  if (failed(shape))
    return failure();
  n.require(elementCount(from), elementCount(*shape), "Reshape keeps the number of elements");
  return SmallVector<Value>{n.reshape(n.input(0), *shape)};
}

/// Axes come from an attribute up to opset 12, then from input 1.
static FailureOr<std::optional<SmallVector<int64_t>>> axesOf(NodeImporter &n) {
  if (n.sinceVersion() < 13)
    return n.intsAttr("axes");
  if (!n.hasInput(1))
    return std::optional<SmallVector<int64_t>>();
  auto axes = n.constantInts(n.input(1));
  if (!axes)
    return n.refuse("axes are computed at run time", "constant axes");
  return axes;
}

static FailureOr<SmallVector<Value>> importSqueeze(NodeImporter &n) {
  auto axes = axesOf(n);
  if (failed(axes))
    return failure();
  Shape from = shapeOf(n.input(0)), to;
  SmallVector<bool> drop(from.size(), false);
  if (!*axes) {
    for (auto [i, dim] : llvm::enumerate(from)) {
      if (!dim.constant())
        return n.refuse("Squeeze without axes needs a static shape", "Squeeze with axes");
      drop[i] = dim.isConstant(1);
    }
  } else {
    for (int64_t axis : **axes) {
      auto at = normalizeAxis(axis, static_cast<int64_t>(from.size()));
      if (!at)
        return n.invalid("axis " + Twine(axis) + " is out of range for rank " + Twine(from.size()));
      if (from[*at].constant().value_or(1) != 1)
        return n.invalid("axis " + Twine(axis) + " has size " + from[*at].str() + ", not 1");
      n.require(from[*at], 1, "Squeeze drops axes of size 1");
      drop[*at] = true;
    }
  }
  for (auto [dim, dropped] : llvm::zip(from, drop))
    if (!dropped)
      to.push_back(dim);
  return SmallVector<Value>{n.reshape(n.input(0), to)};
}

static FailureOr<SmallVector<Value>> importUnsqueeze(NodeImporter &n) {
  auto axes = axesOf(n);
  if (failed(axes))
    return failure();
  Shape from = shapeOf(n.input(0)), to;
  int64_t rank = static_cast<int64_t>(from.size() + (*axes)->size());
  SmallVector<bool> added(rank, false);
  for (int64_t axis : **axes) {
    auto at = normalizeAxis(axis, rank);
    if (!at || added[*at])
      return n.invalid("axis " + Twine(axis) + " is out of range or given twice for rank " +
                       Twine(rank));
    added[*at] = true;
  }
  auto next = from.begin();
  for (bool one : added)
    to.push_back(one ? Expr(1) : *next++);
  return SmallVector<Value>{n.reshape(n.input(0), to)};
}

static FailureOr<SmallVector<Value>> importFlatten(NodeImporter &n) {
  Shape from = shapeOf(n.input(0));
  int64_t rank = static_cast<int64_t>(from.size()), axis = n.intAttr("axis", 1);
  // Unlike elsewhere, axis may be the rank itself.
  if (axis < -rank || axis > rank)
    return n.invalid("axis " + Twine(axis) + " is out of range for rank " + Twine(rank));
  size_t at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  return SmallVector<Value>{n.reshape(n.input(0), {elementCount(ArrayRef(from).take_front(at)),
                                                   elementCount(ArrayRef(from).drop_front(at))})};
}

static FailureOr<SmallVector<Value>> importIdentity(NodeImporter &n) {
  return SmallVector<Value>{n.input(0)};
}

/// Inference leaves everything as it is.
static FailureOr<SmallVector<Value>> importDropout(NodeImporter &n) {
  if (n.sinceVersion() >= 12 && n.hasInput(2)) {
    auto training = n.constantFloats(n.input(2)), ratio = n.constantFloats(n.input(1));
    bool drops = !ratio || ratio->size() != 1 || (*ratio)[0] != 0;
    if (!training || training->size() != 1 || ((*training)[0] != 0 && drops))
      return n.refuse("Dropout in training mode drops at random", "training_mode false");
  }
  // The mask is of the input's type before opset 10.
  Type type = n.sinceVersion() < 10 ? elementTypeOf(n.input(0)) : n.b.getI1Type();
  Value mask = n.outputUsed(1) ? n.broadcastTo(n.scalar(type, 1), shapeOf(n.input(0))) : nullptr;
  return SmallVector<Value>{n.input(0), mask};
}

namespace kiln {
void registerViewImporters(ImportTable &table);
} // namespace kiln

void kiln::registerViewImporters(ImportTable &table) {
  table.add("Reshape", 5, importReshape);
  table.add("Squeeze", 1, importSqueeze);
  table.add("Unsqueeze", 1, importUnsqueeze);
  table.add("Flatten", 1, importFlatten);
  table.add("Identity", 1, importIdentity);
  table.add("Dropout", 7, importDropout);
}
