//===- NonMaxSuppression.import.cpp - Boxes that overlap, import ----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/NonMaxSuppression/NonMaxSuppression.h"
#include "dialects/Kiln/ops/Concat/Concat.h"
#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "dialects/Kiln/ops/Gather/Gather.h"
#include "dialects/Kiln/ops/NonZero/NonZero.h"
#include "dialects/Kiln/ops/Range/Range.h"
#include "kiln/Import/ImportTable.h"
#include <limits>

using namespace mlir;
using namespace kiln;

/// Places [0, counts) of each row of `picked` as triples (batch, class, box).
static Value listPicked(NodeImporter &n, Value picked, Value counts) {
  Shape shape = shapeOf(picked);
  Value places = n.create<RangeOp>({n.scalar(n.b.getI64Type(), 0), n.scalar(n.b.getI64Type(), 1)},
                                   {n.exprsNamed("count", {shape[2]})});
  Value isPicked = n.create<LessOp>({places, n.reshape(counts, {shape[0], shape[1], Expr(1)})});
  Value number = n.create<CountNonZeroOp>({isPicked});
  if (!number)
    return nullptr;
  Expr count = n.bindSizes(number, "selected", "the number of selected boxes").front();
  Value where = n.create<NonZeroOp>({isPicked}, {n.exprsNamed("count", {count})});
  if (!where)
    return nullptr;
  where = n.transpose(where, {1, 0});
  Value boxes = n.create<GatherNDOp>({picked, where}, {n.attr("batch_dims", 0)});
  Value owners = n.slice(where, {0, 0}, {count, 2});
  return n.create<ConcatOp>({owners, n.reshape(boxes, {count, Expr(1)})}, {n.attr("axis", 1)});
}

static FailureOr<SmallVector<Value>> importSuppression(NodeImporter &n) {
  Value boxes = n.input(0), scores = n.input(1);
  if (rankOf(boxes) != 3 || rankOf(scores) != 3)
    return n.invalid("boxes and scores have " + Twine(rankOf(boxes)) + " and " +
                     Twine(rankOf(scores)) + " axes, not 3");
  Shape boxShape = shapeOf(boxes), scoreShape = shapeOf(scores);
  n.require(boxShape[0], scoreShape[0], "boxes and scores have one number of batches");
  n.require(boxShape[1], scoreShape[2], "each box has a score");
  n.require(boxShape[2], 4, "a box has four numbers");
  int64_t center = n.intAttr("center_point_box", 0);
  if (center != 0 && center != 1)
    return n.invalid("center_point_box is " + Twine(center) + ", must be 0 or 1");
  Expr most = 0;
  if (n.hasInput(2)) {
    auto given = n.exprs(2);
    if (failed(given))
      return failure();
    if (given->size() != 1)
      return n.invalid("max_output_boxes_per_class is not one number");
    most = Expr::min(Expr::max(0, (*given)[0]), boxShape[1]);
  }
  auto threshold = [&](unsigned i, double otherwise) {
    return n.hasInput(i) ? n.reshape(n.oneElement(n.input(i), "input " + Twine(i)), {})
                         : n.scalar(n.b.getF32Type(), otherwise);
  };
  Value operands[] = {boxes, scores, threshold(3, 0),
                      threshold(4, -std::numeric_limits<double>::infinity())};
  for (Value operand : operands)
    if (!operand)
      return failure();
  auto op = tryBuild<SuppressBoxesOp>(
      n.b, n.loc, operands, {n.boolNamed("center", center == 1), n.exprsNamed("count", {most})});
  if (failed(op))
    return failure();
  return SmallVector<Value>{listPicked(n, op->getPicked(), op->getCounts())};
}

namespace kiln {
void registerNonMaxSuppressionImporters(ImportTable &table);
} // namespace kiln

void kiln::registerNonMaxSuppressionImporters(ImportTable &table) {
  table.add("NonMaxSuppression", 10, importSuppression);
}
