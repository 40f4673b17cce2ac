//===- Col2Im.import.cpp - Sums of overlapping blocks, import -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Col2Im/Col2Im.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

static FailureOr<SmallVector<Value>> importCol2Im(NodeImporter &n) {
  Value x = n.input(0);
  auto image = n.exprs(1), block = n.exprs(2);
  if (failed(image) || failed(block))
    return failure();
  size_t rank = image->size();
  auto attribute = [&](StringRef name, size_t count, int64_t otherwise) {
    return n.intsAttr(name).value_or(SmallVector<int64_t>(count, otherwise));
  };
  auto strides = attribute("strides", rank, 1), dilations = attribute("dilations", rank, 1),
       pads = attribute("pads", 2 * rank, 0);
  if (rankOf(x) != 3 || rank == 0 || block->size() != rank || strides.size() != rank ||
      dilations.size() != rank || pads.size() != 2 * rank)
    return n.invalid("input of rank " + Twine(rankOf(x)) + ", or shapes and attributes of " +
                     "different lengths");
  Shape counts;
  for (size_t i = 0; i < rank; ++i) {
    if (strides[i] < 1 || dilations[i] < 1 || pads[i] < 0 || pads[rank + i] < 0)
      return n.invalid("strides and dilations must be positive, pads not negative");
    for (const Expr &size : {(*image)[i], (*block)[i]}) {
      if (size.constant().value_or(1) < 1)
        return n.invalid("image_shape and block_shape must be positive");
      n.requireAtMost(1, size, "sizes of image and block are positive");
    }
    Expr padded = (*image)[i] + Expr(pads[i] + pads[rank + i]);
    Expr reach = Expr(dilations[i]) * ((*block)[i] - Expr(1)) + Expr(1);
    counts.push_back(Expr::max(0, Expr::floorDiv(padded - reach, strides[i]) + Expr(1)));
  }
  Shape dims = shapeOf(x);
  Expr blockSize = elementCount(*block), blockCount = elementCount(counts);
  if (dims[2].constant() && blockCount.constant() && dims[2] != blockCount)
    return n.invalid("there are " + dims[2].str() + " columns for " + blockCount.str() + " blocks");
  n.require(dims[2], blockCount, "Col2Im's input has one column for each block");
  if (dims[1].constant() && blockSize.constant() && *dims[1].constant() % *blockSize.constant())
    return n.invalid(dims[1].str() + " channels do not divide into blocks of " + blockSize.str());
  n.require(dims[1], Expr::floorDiv(dims[1], blockSize) * blockSize,
            "channels of Col2Im are a multiple of the block size");
  pads.truncate(rank);
  return SmallVector<Value>{
      n.create<Col2ImOp>({x}, {n.exprsNamed("image", *image), n.exprsNamed("block", *block),
                               n.exprsNamed("counts", counts), n.attr("strides", strides),
                               n.attr("dilations", dilations), n.attr("pads", pads)})};
}

namespace kiln {
void registerCol2ImImporters(ImportTable &table);
} // namespace kiln

void kiln::registerCol2ImImporters(ImportTable &table) { table.add("Col2Im", 18, importCol2Im); }
