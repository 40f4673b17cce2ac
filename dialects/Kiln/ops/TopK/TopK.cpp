//===- TopK.cpp - Largest and smallest elements ---------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/TopK/TopK.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

LogicalResult TopKOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                       Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Shape shape = shapeOf(adaptor.getX()), k = exprsOf(adaptor.getK());
  if (failed(checkAxis(loc, adaptor.getAxis(), shape.size())))
    return failure();
  Expr &dim = shape[adaptor.getAxis()];
  if (k.size() != 1 || k[0].constant().value_or(0) < 0 ||
      (k[0].constant() && dim.constant() && *k[0].constant() > *dim.constant()))
    return emitOptionalError(loc, "(C2) k must be one number from 0 to ", dim.str());
  dim = k[0];
  types.push_back(tensorType(shape, elementTypeOf(adaptor.getX())));
  types.push_back(tensorType(shape, IntegerType::get(context, 64)));
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/TopK/TopK.cpp.inc"

namespace kiln {
void registerTopKOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerTopKOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/TopK/TopK.cpp.inc"
      >();
}
