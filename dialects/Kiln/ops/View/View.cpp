//===- View.cpp - Ops that only rename elements ---------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/View/View.h"
#include "dialects/Kiln/ops/Transpose/Transpose.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace kiln;

LogicalResult ReshapeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Shape shape = exprsOf(adaptor.getShape());
  auto from = elementCount(shapeOf(adaptor.getX())).constant(), to = elementCount(shape).constant();
  if (from && to && *from != *to)
    return emitOptionalError(loc, "(C1) cannot reshape ", *from, " elements into ", *to);
  if (anyNegative(shape))
    return emitOptionalError(loc, "(C2) a size of the shape is negative");
  types.push_back(tensorType(shape, elementTypeOf(adaptor.getX())));
  return success();
}

LogicalResult ResolveShapeOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                               Adaptor adaptor, SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getAsked().getType());
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getX().getType() == getType())
    return getX();
  if (auto inner = getX().getDefiningOp<ReshapeOp>()) {
    setOperand(inner.getX());
    return getResult();
  }
  return {};
}

/// Outer dims merged, inner ones permuted, outer dims split again (torch's
/// exporter does so to transpose the last two): the dims are split first, which
/// leaves one transpose between two reshapes that are often none.
LogicalResult ReshapeOp::canonicalize(ReshapeOp op, PatternRewriter &b) {
  auto transpose = op.getX().getDefiningOp<TransposeOp>();
  auto merge = transpose ? transpose.getX().getDefiningOp<ReshapeOp>() : nullptr;
  if (!merge || !transpose->hasOneUse() || transpose.getPermutation().front() != 0)
    return failure();
  Shape merged = shapeOf(merge.getY()), split = shapeOf(op.getY()), permuted = shapeOf(op.getX());
  if (split.size() < permuted.size() ||
      ArrayRef(permuted).drop_front() != ArrayRef(split).take_back(permuted.size() - 1))
    return failure();
  auto extra = static_cast<int64_t>(split.size() - permuted.size());
  Shape outer(ArrayRef(split).take_front(extra + 1));
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, extra + 1));
  for (int64_t axis : transpose.getPermutation().drop_front())
    permutation.push_back(axis + extra);
  outer.append(merged.begin() + 1, merged.end());
  auto first = ReshapeOp::create(b, merge.getLoc(), tensorType(outer, elementTypeOf(merge)),
                                 merge.getX(), exprsAttr(op.getContext(), outer));
  b.replaceOpWithNewOp<TransposeOp>(op, op.getType(), first.getY(), permutation);
  return success();
}

std::optional<SmallVector<Expr>>
ReshapeOp::symbolicValue(function_ref<std::optional<SmallVector<Expr>>(Value)> elements) {
  return elements(getX());
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/View/View.cpp.inc"

namespace kiln {
void registerViewOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerViewOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/View/View.cpp.inc"
      >();
}
