//===- NonMaxSuppression.cpp - Boxes that overlap -------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/NonMaxSuppression/NonMaxSuppression.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

/// Sizes that are known to differ.
static bool clash(const Expr &a, const Expr &b) { return a.constant() && b.constant() && a != b; }

LogicalResult SuppressBoxesOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                                Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Shape boxes = shapeOf(adaptor.getBoxes()), scores = shapeOf(adaptor.getScores()),
        count = exprsOf(adaptor.getCount());
  if (clash(boxes[0], scores[0]) || clash(boxes[1], scores[2]) || clash(boxes[2], 4))
    return emitOptionalError(loc, "(C1) boxes are ", adaptor.getBoxes().getType(), ", scores ",
                             adaptor.getScores().getType());
  if (count.size() != 1 || count[0].constant().value_or(0) < 0)
    return emitOptionalError(loc, "(C2) count must be one number that is not negative");
  Type i64 = IntegerType::get(context, 64);
  types.push_back(tensorType({scores[0], scores[1], count[0]}, i64));
  types.push_back(tensorType({scores[0], scores[1]}, i64));
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/NonMaxSuppression/NonMaxSuppression.cpp.inc"

namespace kiln {
void registerNonMaxSuppressionOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerNonMaxSuppressionOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/NonMaxSuppression/NonMaxSuppression.cpp.inc"
      >();
}
