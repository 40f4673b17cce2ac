//===- View.cpp - Ops that only rename elements ---------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/View/View.h"
#include "mlir/IR/OpImplementation.h"

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
