//===- GroupNorm.cpp - Normalised groups of channels ----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "dialects/Kiln/ops/Normalization/Normalization.h"
#include "dialects/Kiln/ops/View/View.h"
#include "kiln/Patterns/Natives.h"

using namespace mlir;
using namespace kiln;

static Value reshape(OpBuilder &b, Value x, const Shape &shape) {
  auto op = tryBuild<ReshapeOp>(b, x.getLoc(), x,
                                {b.getNamedAttr("shape", exprsAttr(b.getContext(), shape))});
  return succeeded(op) ? op->getY() : Value();
}

/// `rows` are standardised groups of channels, [batch, groups, elements], `image`
/// the same elements as [batch, channels, ...].
static Value groupNormOf(PatternRewriter &b, Operation *rows, Operation *image, Value gamma,
                         Value beta) {
  auto norm = dyn_cast<StandardizeOp>(rows);
  if (!norm || rankOf(norm.getX()) != 3 || static_cast<int64_t>(norm.getAxis()) != 2)
    return nullptr;
  Shape given = shapeOf(norm.getX()), shape = shapeOf(image->getResult(0));
  auto groups = given[1].constant(), channels = shape[1].constant();
  if (shape[0] != given[0] || !groups || !channels || *groups < 1 || *channels % *groups != 0)
    return nullptr;
  Shape split{shape[0], *groups, *channels / *groups};
  split.append(shape.begin() + 2, shape.end());
  // Of one element for all, or one a channel.
  auto vector = [&](Value v) {
    Shape narrow(split.size() - 1, Expr(1));
    if (!elementCount(shapeOf(v)).isConstant(1))
      narrow[0] = split[1], narrow[1] = split[2];
    return reshape(b, v, narrow);
  };
  Value x = reshape(b, norm.getX(), split), scale = vector(gamma), offset = vector(beta);
  if (!x || !scale || !offset)
    return nullptr;
  Location loc = rows->getLoc();
  auto made = tryBuild<StandardizeOp>(b, loc, x, norm->getAttrs());
  if (failed(made))
    return nullptr;
  auto scaled = tryBuild<MulOp>(b, loc, {made->getY(), scale});
  if (failed(scaled))
    return nullptr;
  auto shifted = tryBuild<AddOp>(b, loc, {scaled->getY(), offset});
  return succeeded(shifted) ? reshape(b, shifted->getY(), shape) : Value();
}

namespace kiln {
void registerGroupNormNatives(NativeTable &table);
} // namespace kiln

void kiln::registerGroupNormNatives(NativeTable &table) {
  table.rewrite("GroupNormOf", {"rows", "image", "gamma", "beta"},
                "An image of standardised groups of channels, times `gamma` and plus `beta`, with "
                "these inside of the groups.",
                groupNormOf);
}
