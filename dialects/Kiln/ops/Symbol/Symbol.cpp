//===- Symbol.cpp - Ops that make and use symbols -------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Symbol/Symbol.h"
#include "dialects/Kiln/IR/Relation.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

LogicalResult ShapeOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                        Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto start = static_cast<int64_t>(adaptor.getStart()),
       end = static_cast<int64_t>(adaptor.getEnd());
  if (start < 0 || end < start || end > rankOf(adaptor.getX()))
    return emitOptionalError(loc, "(C1) dims [", start, ", ", end, ") of rank ",
                             rankOf(adaptor.getX()));
  types.push_back(RankedTensorType::get({end - start}, IntegerType::get(context, 64)));
  return success();
}

std::optional<SmallVector<Expr>>
ShapeOp::symbolicValue(function_ref<std::optional<SmallVector<Expr>>(Value)>) {
  SmallVector<Expr> dims;
  Shape shape = shapeOf(getX());
  for (uint64_t i = getStart(); i < getEnd(); ++i)
    dims.push_back(shape[i]);
  return dims;
}

LogicalResult ExprsOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                        Adaptor adaptor, SmallVectorImpl<Type> &types) {
  int64_t count = static_cast<int64_t>(adaptor.getValues().getExprs().size());
  types.push_back(RankedTensorType::get({count}, IntegerType::get(context, 64)));
  return success();
}

std::optional<SmallVector<Expr>>
ExprsOp::symbolicValue(function_ref<std::optional<SmallVector<Expr>>(Value)>) {
  Shape values = exprsOf(getValues());
  return SmallVector<Expr>(values.begin(), values.end());
}

LogicalResult BindOp::verify() {
  auto type = cast<RankedTensorType>(getTensor().getType());
  if (!type.hasStaticShape() || type.getNumElements() != static_cast<int64_t>(getSymbols().size()))
    return emitOpError("(C1) needs one symbol for each element of a static tensor");
  return success();
}

LogicalResult FarthestOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                           Adaptor adaptor, SmallVectorImpl<Type> &types) {
  if (adaptor.getLow().getExprs().size() != 1)
    return emitOptionalError(loc, "(C1) low must be one number, not ",
                             adaptor.getLow().getExprs().size());
  types.push_back(RankedTensorType::get({}, IntegerType::get(context, 64)));
  return success();
}

LogicalResult RequireOp::verify() {
  if (getPair().getExprs().size() != 2)
    return emitOpError("(C1) compares two expressions, got ") << getPair().getExprs().size();
  if (!relationNamed(getRelation()))
    return emitOpError("unknown relation '") << getRelation() << "'";
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Symbol/Symbol.cpp.inc"

namespace kiln {
void registerSymbolOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerSymbolOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Symbol/Symbol.cpp.inc"
      >();
}
