//===- ElementwiseBinary.cpp - Ops on two elements, broadcast -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

/// Operands of one element type, shapes broadcast.
static LogicalResult inferBinary(std::optional<Location> loc, Value a, Value b, Type resultElement,
                                 SmallVectorImpl<Type> &types) {
  if (elementTypeOf(a) != elementTypeOf(b))
    return emitOptionalError(loc, "element types differ: ", elementTypeOf(a), " and ",
                             elementTypeOf(b));
  auto shape = broadcastShapes(shapeOf(a), shapeOf(b));
  if (failed(shape))
    return emitOptionalError(loc, "shapes of ", a.getType(), " and ", b.getType(),
                             " do not broadcast");
  types.push_back(tensorType(*shape, resultElement ? resultElement : elementTypeOf(a)));
  return success();
}

/// Symbolic elements of a binary op on small static operands.
static std::optional<SmallVector<Expr>>
combineElements(Operation *op, function_ref<std::optional<SmallVector<Expr>>(Value)> elements,
                function_ref<std::optional<Expr>(const Expr &, const Expr &)> combine) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (!type.hasStaticShape() || !isa<IntegerType>(type.getElementType()))
    return std::nullopt;
  auto a = elements(op->getOperand(0)), b = elements(op->getOperand(1));
  if (!a || !b)
    return std::nullopt;
  auto shapeOfOperand = [&](unsigned i) {
    return cast<RankedTensorType>(op->getOperand(i).getType()).getShape();
  };
  SmallVector<Expr> result;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    auto value = combine((*a)[broadcastIndex(shapeOfOperand(0), type.getShape(), i)],
                         (*b)[broadcastIndex(shapeOfOperand(1), type.getShape(), i)]);
    if (!value)
      return std::nullopt;
    result.push_back(*value);
  }
  return result;
}

#define KILN_BINARY(OP, COMBINE)                                                                   \
  LogicalResult OP::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,  \
                                     SmallVectorImpl<Type> &types) {                               \
    return inferBinary(loc, adaptor.getA(), adaptor.getB(), nullptr, types);                       \
  }                                                                                                \
  std::optional<SmallVector<Expr>> OP::symbolicValue(                                              \
      function_ref<std::optional<SmallVector<Expr>>(Value)> elements) {                            \
    return combineElements(                                                                        \
        *this, elements,                                                                           \
        [](const Expr &a, const Expr &b) -> std::optional<Expr> { return COMBINE; });              \
  }

KILN_BINARY(AddOp, a + b)
KILN_BINARY(SubOp, a - b)
KILN_BINARY(MulOp, a *b)
// Truncation is flooring only for operands that are not negative.
KILN_BINARY(DivOp, a.isNonNegative() && b.constant().value_or(0) > 0
                       ? std::optional(Expr::floorDiv(a, b))
                       : std::nullopt)

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.cpp.inc"

namespace kiln {
void registerElementwiseBinaryOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerElementwiseBinaryOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.cpp.inc"
      >();
}
