//===- Cast.cpp - Conversion of element types -----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Cast/Cast.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

LogicalResult CastOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  types.push_back(tensorType(shapeOf(adaptor.getX()), adaptor.getTo()));
  return success();
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  return getX().getType() == getType() ? getX() : OpFoldResult();
}

std::optional<SmallVector<Expr>>
CastOp::symbolicValue(function_ref<std::optional<SmallVector<Expr>>(Value)> elements) {
  if (getTo().isInteger(1)) {
    // Where it is certain which of them are zero.
    auto values = elements(getX());
    if (values)
      for (Expr &value : *values) {
        if (!value.constant() && !(value - Expr(1)).isNonNegative())
          return std::nullopt;
        value = !value.isConstant(0);
      }
    return values;
  }
  // Sizes fit every integer type that models use for them.
  if (!isa<IntegerType>(elementTypeOf(getX())) || !getTo().isInteger() ||
      getTo().getIntOrFloatBitWidth() < 32)
    return std::nullopt;
  return elements(getX());
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Cast/Cast.cpp.inc"

namespace kiln {
void registerCastOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerCastOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Cast/Cast.cpp.inc"
      >();
}
