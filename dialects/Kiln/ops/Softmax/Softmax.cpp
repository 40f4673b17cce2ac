//===- Softmax.cpp - Softmax and its logarithm ----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Softmax/Softmax.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

static LogicalResult inferAlong(std::optional<Location> loc, Value x, uint64_t axis,
                                SmallVectorImpl<Type> &types) {
  if (failed(checkAxis(loc, axis, shapeOf(x).size())))
    return failure();
  types.push_back(x.getType());
  return success();
}

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferAlong(loc, adaptor.getX(), adaptor.getAxis(), types);
}

LogicalResult LogSoftmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                             Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferAlong(loc, adaptor.getX(), adaptor.getAxis(), types);
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Softmax/Softmax.cpp.inc"

namespace kiln {
void registerSoftmaxOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerSoftmaxOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Softmax/Softmax.cpp.inc"
      >();
}
