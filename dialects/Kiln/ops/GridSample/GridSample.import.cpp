//===- GridSample.import.cpp - Samples at computed places, import ---------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/GridSample/GridSample.h"
#include "dialects/Kiln/ops/Range/Range.h"
#include "dialects/Kiln/ops/Symbol/Symbol.h"
#include "kiln/Import/Compose.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

static FailureOr<SmallVector<Value>> importGridSample(NodeImporter &n) {
  Shape x = shapeOf(n.input(0)), grid = shapeOf(n.input(1));
  if (x.size() < 3 || grid.size() != x.size())
    return n.invalid("input of rank " + Twine(x.size()) + " and grid of rank " +
                     Twine(grid.size()));
  // Opset 16 had other names for two modes.
  StringRef mode = n.stringAttr("mode").value_or("linear");
  mode = mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode;
  StringRef padding = n.stringAttr("padding_mode").value_or("zeros");
  if (elementTypeOf(n.input(0)).isInteger(1) && mode != "nearest")
    return n.invalid("mode " + mode + " needs numbers, not booleans");
  n.require(x[0], grid[0], "input and grid of GridSample agree in the batch");
  auto spatial = static_cast<int64_t>(x.size()) - 2;
  n.require(grid.back(), spatial, "the grid has a coordinate for each dimension");
  if (!grid.back().constant())
    return n.refuse("the number of the grid's coordinates is known at run time only",
                    "a static last dimension");
  Expr places = elementCount(ArrayRef(grid).drop_back());
  for (const Expr &dim : ArrayRef(x).drop_front(2))
    n.requireAtMost(Expr::min(1, places), dim, "an image that is sampled is not empty");
  return SmallVector<Value>{n.create<GridSampleOp>(
      {n.input(0), n.input(1)}, {n.stringNamed("mode", mode), n.stringNamed("padding", padding),
                                 n.boolNamed("align_corners", n.intAttr("align_corners", 0))})};
}

/// Places of an axis from -1 to 1, as a tensor of one dimension: the centres of
/// its elements, which are the ends with `corners`.
static Formula axisPlaces(NodeImporter &n, const Expr &size, Type type, bool corners) {
  auto number = [&](const Expr &value) {
    Value exact = n.create<ExprsOp>({}, {n.exprsNamed("values", {value})});
    return Formula(n, n.reshape(n.cast(exact, type), {}));
  };
  // A single corner is -1: any step will do.
  Formula steps = number(corners ? Expr::max(size - Expr(1), 1) : size);
  Formula delta = 2.0 / steps;
  Formula start = corners ? delta.number(-1) : delta * 0.5 + -1.0;
  return start.with(n.create<RangeOp>({start.value, delta.value}, {n.exprsNamed("count", {size})}));
}

/// theta times (x, y, 1) for every place of an image, and likewise in 3-D.
static FailureOr<SmallVector<Value>> importAffineGrid(NodeImporter &n) {
  Value theta = n.input(0);
  Type type = elementTypeOf(theta);
  auto size = n.exprs(1);
  if (failed(size))
    return failure();
  size_t spatial = size->size() - 2;
  if ((spatial != 2 && spatial != 3) || rankOf(theta) != 3)
    return n.invalid("theta of rank " + Twine(rankOf(theta)) + " for a size of " +
                     Twine(size->size()) + " numbers");
  auto rows = static_cast<int64_t>(spatial);
  n.require(shapeOf(theta)[1], rows, "theta has a row for each dimension");
  n.require(shapeOf(theta)[2], rows + 1, "theta has a column for each dimension and one more");
  n.require(shapeOf(theta)[0], (*size)[0], "theta has a matrix for each image");
  bool corners = n.intAttr("align_corners", 0) != 0;
  Formula matrix = Formula(n, theta).widen();
  if (!matrix.value)
    return failure();
  Type inType = elementTypeOf(matrix.value);
  // Column j of theta, beside every place.
  auto column = [&](int64_t j) {
    Shape beside(spatial + 2, 1);
    beside.front() = (*size)[0];
    beside.back() = rows;
    return matrix.with(n.reshape(n.slice(matrix.value, {0, 0, j}, {(*size)[0], rows, 1}), beside));
  };
  Formula sum = column(rows);
  for (int64_t j = 0; j < rows; ++j) {
    // Coordinates start at the innermost dimension.
    size_t axis = spatial - 1 - static_cast<size_t>(j);
    Shape along(spatial + 2, 1);
    along[1 + axis] = (*size)[2 + axis];
    sum = sum + column(j) * axisPlaces(n, (*size)[2 + axis], inType, corners).reshape(along);
  }
  return SmallVector<Value>{sum.cast(type).value};
}

namespace kiln {
void registerGridSampleImporters(ImportTable &table);
} // namespace kiln

void kiln::registerGridSampleImporters(ImportTable &table) {
  table.add("GridSample", 16, importGridSample);
  table.add("AffineGrid", 20, importAffineGrid);
}
