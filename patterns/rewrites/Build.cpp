//===- Build.cpp - Rewrites that make ops ---------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Reduce/Reduce.h"
#include "dialects/Kiln/ops/View/View.h"
#include "kiln/Patterns/Natives.h"

using namespace mlir;
using namespace kiln;

/// The op `like`, on other operands.
static Operation *withOperands(PatternRewriter &rewriter, Operation *like, ValueRange operands) {
  auto op = tryBuild(rewriter, like->getLoc(), like->getName().getStringRef(), operands,
                     like->getAttrs());
  return succeeded(op) ? *op : nullptr;
}

/// One element for each index of axis 0 of `filter`, from one for each index of
/// axis 1 of what the filter makes.
static Value acrossFilters(PatternRewriter &rewriter, Value vector, Value filter) {
  Shape shape(static_cast<size_t>(rankOf(filter)), Expr(1));
  Expr count = elementCount(shapeOf(vector));
  if (!count.isConstant(1) && count != shapeOf(filter)[0])
    return {};
  shape[0] = count;
  auto op = tryBuild<ReshapeOp>(
      rewriter, vector.getLoc(), vector,
      {rewriter.getNamedAttr("shape", exprsAttr(rewriter.getContext(), shape))});
  return succeeded(op) ? op->getY() : Value();
}

/// The sum of each filter's elements, shaped as a bias of what they make.
static Value filterSums(PatternRewriter &rewriter, Value filter) {
  int64_t rank = rankOf(filter);
  if (rank < 3)
    return {};
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(1, rank));
  auto sums =
      tryBuild<ReduceSumOp>(rewriter, filter.getLoc(), filter,
                            {rewriter.getNamedAttr("axes", rewriter.getDenseI64ArrayAttr(axes)),
                             rewriter.getNamedAttr("keepdims", rewriter.getBoolAttr(false))});
  if (failed(sums))
    return {};
  Shape shape(static_cast<size_t>(rank) - 1, Expr(1));
  shape[0] = shapeOf(filter)[0];
  auto bias = tryBuild<ReshapeOp>(
      rewriter, filter.getLoc(), sums->getY(),
      {rewriter.getNamedAttr("shape", exprsAttr(rewriter.getContext(), shape))});
  return succeeded(bias) ? bias->getY() : Value();
}

namespace kiln {
void registerBuildNatives(NativeTable &table);
} // namespace kiln

void kiln::registerBuildNatives(NativeTable &table) {
  table.rewrite("WithOperand", {"like", "operand"},
                "An op as `like` with the same attributes, on another single operand.",
                [](PatternRewriter &rewriter, Operation *like, Value operand) {
                  return withOperands(rewriter, like, operand);
                });
  table.rewrite("WithOperands", {"like", "operands"},
                "An op as `like` with the same attributes, on other operands.", withOperands);
  table.rewrite("AcrossFilters", {"vector", "filter"},
                "The vector, one element a channel, along axis 0 of `filter`.", acrossFilters);
  table.rewrite("FilterSums", {"filter"},
                "The sum of each filter's elements, shaped as a convolution's bias.", filterSums);
}
