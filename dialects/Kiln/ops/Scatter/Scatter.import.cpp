//===- Scatter.import.cpp - Updates at computed places, import ------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Scatter/Scatter.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

/// Reductions came with opset 16.
static FailureOr<StringRef> reductionOf(NodeImporter &n) {
  StringRef reduction = n.stringAttr("reduction").value_or("none");
  if (!llvm::is_contained({"none", "add", "mul", "min", "max"}, reduction))
    return n.invalid("unknown reduction '" + reduction + "'");
  return reduction;
}

static FailureOr<SmallVector<Value>> importScatterElements(NodeImporter &n) {
  Value x = n.input(0), indices = n.input(1), updates = n.input(2);
  Shape dims = shapeOf(x), places = shapeOf(indices);
  int64_t rank = rankOf(x), asked = n.intAttr("axis", 0);
  auto axis = normalizeAxis(asked, rank);
  if (!axis)
    return n.invalid("axis " + Twine(asked) + " is out of range for rank " + Twine(rank));
  if (rankOf(indices) != rank || rankOf(updates) != rank)
    return n.invalid("data, indices and updates have ranks " + Twine(rank) + ", " +
                     Twine(rankOf(indices)) + " and " + Twine(rankOf(updates)));
  auto reduction = reductionOf(n);
  if (failed(reduction))
    return failure();
  for (auto [i, have, place, update] : llvm::enumerate(dims, places, shapeOf(updates))) {
    n.require(place, update, "indices and updates have one shape");
    if (static_cast<int64_t>(i) != *axis)
      n.requireAtMost(place, have, "indices of ScatterElements are no larger than the data");
  }
  n.requireIndices(indices, dims[static_cast<size_t>(*axis)], "index of " + n.opType());
  return SmallVector<Value>{n.create<ScatterElementsOp>(
      {x, indices, updates}, {n.attr("axis", *axis), n.stringNamed("reduction", *reduction)})};
}

static FailureOr<SmallVector<Value>> importScatterND(NodeImporter &n) {
  Value x = n.input(0), indices = n.input(1), updates = n.input(2);
  Shape dims = shapeOf(x), places = shapeOf(indices);
  auto reduction = reductionOf(n);
  if (failed(reduction))
    return failure();
  if (places.empty())
    return n.invalid("indices must have rank 1 or more");
  if (!places.back().constant())
    return n.refuse("the length of ScatterND's index tuples is known at run time only",
                    "a static last dimension of indices");
  auto depth = static_cast<size_t>(*places.back().constant());
  if (depth > dims.size())
    return n.invalid("index tuples of " + Twine(depth) + " for data of rank " + Twine(dims.size()));
  Shape wanted(ArrayRef(places).drop_back());
  llvm::append_range(wanted, ArrayRef(dims).drop_front(depth));
  if (rankOf(updates) != static_cast<int64_t>(wanted.size()))
    return n.invalid("updates have rank " + Twine(rankOf(updates)) + ", not " +
                     Twine(wanted.size()));
  for (auto [have, want] : llvm::zip_equal(shapeOf(updates), wanted))
    n.require(have, want, "updates of ScatterND fit indices and data");
  n.requireTuples(indices, ArrayRef(dims).take_front(depth), "index of ScatterND");
  return SmallVector<Value>{
      n.create<ScatterNDOp>({x, indices, updates}, {n.stringNamed("reduction", *reduction)})};
}

static FailureOr<SmallVector<Value>> importTensorScatter(NodeImporter &n) {
  Value cache = n.input(0), update = n.input(1);
  Shape dims = shapeOf(cache), newDims = shapeOf(update);
  int64_t asked = n.intAttr("axis", -2);
  auto axis = normalizeAxis(asked, static_cast<int64_t>(dims.size()));
  if (!axis || *axis == 0)
    return n.invalid("axis " + Twine(asked) + " for a cache of rank " + Twine(dims.size()));
  StringRef mode = n.stringAttr("mode").value_or("linear");
  if (mode != "linear" && mode != "circular")
    return n.invalid("unknown mode '" + mode + "'");
  if (newDims.size() != dims.size())
    return n.invalid("update has rank " + Twine(newDims.size()) + ", the cache " +
                     Twine(dims.size()));
  for (auto [i, have, want] : llvm::enumerate(newDims, dims)) {
    if (static_cast<int64_t>(i) == *axis)
      n.requireAtMost(have, want, "the update is no longer than the cache");
    else
      n.require(have, want, "update and cache agree in dimension " + Twine(i));
  }
  SmallVector<Value> operands{cache, update};
  if (n.hasInput(2)) {
    if (rankOf(n.input(2)) != 1)
      return n.invalid("write_indices has rank " + Twine(rankOf(n.input(2))) + ", not 1");
    n.require(shapeOf(n.input(2))[0], dims[0], "write_indices has one element for each batch");
    operands.push_back(n.input(2));
    auto at = static_cast<size_t>(*axis);
    Expr room = mode == "circular" ? dims[at] - Expr(1) : dims[at] - newDims[at];
    n.requireRange(n.input(2), 0, room, "write_indices of TensorScatter");
  }
  return SmallVector<Value>{n.create<TensorScatterOp>(
      operands, {n.attr("axis", *axis), n.boolNamed("circular", mode == "circular")})};
}

namespace kiln {
void registerScatterImporters(ImportTable &table);
} // namespace kiln

void kiln::registerScatterImporters(ImportTable &table) {
  table.add("Scatter", 9, importScatterElements);
  table.add("ScatterElements", 11, importScatterElements);
  table.add("ScatterND", 11, importScatterND);
  table.add("TensorScatter", 24, importTensorScatter);
}
