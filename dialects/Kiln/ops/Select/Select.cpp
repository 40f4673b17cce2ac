//===- Select.cpp - Choice between two tensors ----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Select/Select.h"
#include "dialects/Kiln/IR/Indexing.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

LogicalResult SelectOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Value a = adaptor.getA(), b = adaptor.getB();
  if (elementTypeOf(a) != elementTypeOf(b))
    return emitOptionalError(loc, "(C1) element types differ: ", elementTypeOf(a), " and ",
                             elementTypeOf(b));
  auto shape = broadcastShapes(shapeOf(a), shapeOf(b));
  if (succeeded(shape))
    shape = broadcastShapes(*shape, shapeOf(adaptor.getCondition()));
  if (failed(shape))
    return emitOptionalError(loc, "(C2) shapes of ", adaptor.getCondition().getType(), ", ",
                             a.getType(), " and ", b.getType(), " do not broadcast");
  types.push_back(tensorType(*shape, elementTypeOf(a)));
  return success();
}

OpFoldResult SelectOp::fold(FoldAdaptor) {
  return getA() == getB() && getA().getType() == getType() ? getA() : OpFoldResult();
}

SymbolicElements SelectOp::symbolicValue(function_ref<SymbolicElements(Value)> elements) {
  auto type = cast<RankedTensorType>(getType());
  if (!type.hasStaticShape() || !isa<IntegerType>(type.getElementType()))
    return std::nullopt;
  SymbolicElements parts[3];
  for (auto [part, operand] : llvm::zip_equal(parts, getOperands()))
    if (!(part = elements(operand)))
      return std::nullopt;
  SmallVector<Expr> values;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    auto at = [&](unsigned operand) {
      auto from = cast<RankedTensorType>(getOperand(operand).getType()).getShape();
      return (*parts[operand])[static_cast<size_t>(broadcastIndex(from, type.getShape(), i))];
    };
    auto condition = at(0).constant();
    if (!condition && at(1) != at(2))
      return std::nullopt;
    values.push_back(condition.value_or(1) ? at(1) : at(2));
  }
  return values;
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Select/Select.cpp.inc"

namespace kiln {
void registerSelectOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerSelectOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Select/Select.cpp.inc"
      >();
}
