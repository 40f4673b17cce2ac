//===- ArgReduce.cpp - Where the extreme element is -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ArgReduce/ArgReduce.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

template <typename Adaptor>
static LogicalResult inferArg(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                              SmallVectorImpl<Type> &types) {
  if (failed(checkAxis(loc, adaptor.getAxis(), shapeOf(adaptor.getX()).size())))
    return failure();
  Shape shape = shapeOf(adaptor.getX());
  if (adaptor.getKeepdims())
    shape[adaptor.getAxis()] = 1;
  else
    shape.erase(shape.begin() + static_cast<int64_t>(adaptor.getAxis()));
  types.push_back(tensorType(shape, IntegerType::get(context, 64)));
  return success();
}

LogicalResult ArgMaxOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferArg(context, loc, adaptor, types);
}

LogicalResult ArgMinOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferArg(context, loc, adaptor, types);
}

LogicalResult HardmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getX().getType());
  return checkAxis(loc, adaptor.getAxis(), shapeOf(adaptor.getX()).size());
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/ArgReduce/ArgReduce.cpp.inc"

namespace kiln {
void registerArgReduceOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerArgReduceOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/ArgReduce/ArgReduce.cpp.inc"
      >();
}
