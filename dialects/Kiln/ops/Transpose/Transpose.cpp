//===- Transpose.cpp - Permutation of axes --------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Transpose/Transpose.h"
#include "dialects/Kiln/IR/Indexing.h"
#include "dialects/Kiln/ops/View/View.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace kiln;

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Shape shape = shapeOf(adaptor.getX()), permuted;
  SmallVector<int64_t> sorted(adaptor.getPermutation());
  llvm::sort(sorted);
  for (auto [i, axis] : llvm::enumerate(sorted))
    if (static_cast<int64_t>(i) != axis || sorted.size() != shape.size())
      return emitOptionalError(loc, "(C1) permutation must hold each of the ", shape.size(),
                               " axes once");
  if (sorted.size() != shape.size())
    return emitOptionalError(loc, "(C1) permutation must hold each of the ", shape.size(),
                             " axes once");
  for (int64_t axis : adaptor.getPermutation())
    permuted.push_back(shape[axis]);
  types.push_back(tensorType(permuted, elementTypeOf(adaptor.getX())));
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (llvm::is_sorted(getPermutation()))
    return getX();
  if (auto inner = getX().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> both;
    for (int64_t axis : getPermutation())
      both.push_back(inner.getPermutation()[axis]);
    setPermutation(both);
    setOperand(inner.getX());
    return getResult();
  }
  return {};
}

/// A permutation that keeps the order of all axes but those of size 1 moves no
/// element.
LogicalResult TransposeOp::canonicalize(TransposeOp op, PatternRewriter &rewriter) {
  Shape shape = shapeOf(op.getX());
  int64_t last = -1;
  for (int64_t axis : op.getPermutation()) {
    if (shape[axis].isConstant(1))
      continue;
    if (axis < last)
      return failure();
    last = axis;
  }
  auto result = exprsAttr(op.getContext(), shapeOf(op.getResult()));
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getX(), result);
  return success();
}

SymbolicElements TransposeOp::symbolicValue(function_ref<SymbolicElements(Value)> elements) {
  return moveSymbols(elements(getX()), getX().getType(), getType(), [&](ArrayRef<int64_t> index) {
    IntIndex at(index);
    for (auto [i, axis] : llvm::enumerate(getPermutation()))
      at[axis] = index[i];
    return at;
  });
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Transpose/Transpose.cpp.inc"

namespace kiln {
void registerTransposeOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerTransposeOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Transpose/Transpose.cpp.inc"
      >();
}
