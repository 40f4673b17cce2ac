//===- ElementwiseUnary.cpp - Ops on one element --------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ElementwiseUnary/ElementwiseUnary.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

LogicalResult GeluOp::verify() {
  if (getApproximate() != "none" && getApproximate() != "tanh")
    return emitOpError("(C1) approximate is '")
           << getApproximate() << "', must be 'none' or 'tanh'";
  return success();
}

std::optional<SmallVector<Expr>>
NegOp::symbolicValue(function_ref<std::optional<SmallVector<Expr>>(Value)> elements) {
  auto values = isa<IntegerType>(elementTypeOf(getX())) ? elements(getX()) : std::nullopt;
  if (values)
    for (Expr &value : *values)
      value = Expr(0) - value;
  return values;
}

/// Of bools; they are 0 and 1.
std::optional<SmallVector<Expr>>
NotOp::symbolicValue(function_ref<std::optional<SmallVector<Expr>>(Value)> elements) {
  auto values = elementTypeOf(getX()).isInteger(1) ? elements(getX()) : std::nullopt;
  if (values)
    for (Expr &value : *values)
      value = Expr(1) - value;
  return values;
}

/// A bool an element.
static LogicalResult inferTest(Value x, SmallVectorImpl<Type> &types) {
  types.push_back(tensorType(shapeOf(x), IntegerType::get(x.getContext(), 1)));
  return success();
}

LogicalResult IsNanOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  return inferTest(adaptor.getX(), types);
}

LogicalResult IsInfOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  return inferTest(adaptor.getX(), types);
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/ElementwiseUnary/ElementwiseUnary.cpp.inc"

namespace kiln {
void registerElementwiseUnaryOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerElementwiseUnaryOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/ElementwiseUnary/ElementwiseUnary.cpp.inc"
      >();
}
