//===- Scatter.import.cpp - Updates at computed places, import ------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Scatter/Scatter.h"
#include "dialects/Kiln/IR/Indexing.h"
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
  return SmallVector<Value>{
      n.create<ScatterNDOp>({x, indices, updates}, {n.stringNamed("reduction", *reduction)})};
}

/// Where each element of a column of blocks belongs in the padded image.
static SmallVector<int64_t> blockPlaces(ArrayRef<int64_t> padded, ArrayRef<int64_t> block,
                                        ArrayRef<int64_t> counts, ArrayRef<int64_t> strides,
                                        ArrayRef<int64_t> dilations) {
  SmallVector<int64_t> places;
  forEachIndex(block, [&](ArrayRef<int64_t> inBlock, int64_t) {
    forEachIndex(counts, [&](ArrayRef<int64_t> which, int64_t) {
      IntIndex at;
      for (size_t i = 0; i < padded.size(); ++i)
        at.push_back(which[i] * strides[i] + inBlock[i] * dilations[i]);
      places.push_back(positionOf(at, padded));
    });
  });
  return places;
}

/// Sums of overlapping blocks: a scatter with known places into the padded
/// image, from which the middle is cut.
static FailureOr<SmallVector<Value>> importCol2Im(NodeImporter &n) {
  Value x = n.input(0);
  auto image = n.constantInts(n.input(1)), block = n.constantInts(n.input(2));
  if (!image || !block)
    return n.refuse("image_shape or block_shape is computed at run time", "constant shapes");
  size_t rank = image->size();
  auto attribute = [&](StringRef name, size_t count, int64_t otherwise) {
    return n.intsAttr(name).value_or(SmallVector<int64_t>(count, otherwise));
  };
  auto strides = attribute("strides", rank, 1), dilations = attribute("dilations", rank, 1),
       pads = attribute("pads", 2 * rank, 0);
  if (rankOf(x) != 3 || block->size() != rank || strides.size() != rank ||
      dilations.size() != rank || pads.size() != 2 * rank)
    return n.invalid("input of rank " + Twine(rankOf(x)) +
                     ", or shapes and attributes of different lengths");
  Expr blockSize = 1, blockCount = 1, positions = 1;
  SmallVector<int64_t> padded, counts;
  for (size_t i = 0; i < rank; ++i) {
    padded.push_back((*image)[i] + pads[i] + pads[rank + i]);
    int64_t reach = dilations[i] * ((*block)[i] - 1) + 1;
    if ((*image)[i] < 1 || (*block)[i] < 1 || strides[i] < 1 || dilations[i] < 1 || pads[i] < 0 ||
        pads[rank + i] < 0 || padded[i] < reach)
      return n.invalid("blocks do not fit dimension " + Twine(i) + " of the image");
    counts.push_back((padded[i] - reach) / strides[i] + 1);
    blockSize = blockSize * Expr((*block)[i]);
    blockCount = blockCount * Expr(counts[i]);
    positions = positions * Expr(padded[i]);
  }
  Shape from = shapeOf(x);
  Expr channels = Expr::floorDiv(from[1], blockSize), planes = from[0] * channels,
       perPlane = blockSize * blockCount;
  n.require(from[1], channels * blockSize, "channels of Col2Im are a multiple of the block size");
  n.require(from[2], blockCount, "Col2Im's input has one column for each block");
  Value places = n.int64s(blockPlaces(padded, *block, counts, strides, dilations));
  Value image2D = n.create<ScatterElementsOp>(
      {n.broadcastTo(n.scalar(elementTypeOf(x), 0), {planes, positions}),
       n.broadcastTo(places, {planes, perPlane}), n.reshape(x, {planes, perPlane})},
      {n.attr("axis", 1), n.stringNamed("reduction", "add")});
  Shape full{from[0], channels}, starts{0, 0}, sizes{from[0], channels};
  for (size_t i = 0; i < rank; ++i) {
    full.push_back(padded[i]);
    starts.push_back(pads[i]);
    sizes.push_back((*image)[i]);
  }
  return SmallVector<Value>{n.slice(n.reshape(image2D, full), starts, sizes)};
}

namespace kiln {
void registerScatterImporters(ImportTable &table);
} // namespace kiln

void kiln::registerScatterImporters(ImportTable &table) {
  table.add("Scatter", 9, importScatterElements);
  table.add("ScatterElements", 11, importScatterElements);
  table.add("ScatterND", 11, importScatterND);
  table.add("Col2Im", 18, importCol2Im);
}
