//===- NonZero.cpp - Places of elements other than zero -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/NonZero/NonZero.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

LogicalResult CountNonZeroOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                                               Adaptor, SmallVectorImpl<Type> &types) {
  types.push_back(RankedTensorType::get({}, IntegerType::get(context, 64)));
  return success();
}

LogicalResult NonZeroOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                          Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Shape count = exprsOf(adaptor.getCount());
  if (count.size() != 1 || count[0].constant().value_or(0) < 0)
    return emitOptionalError(loc, "(C1) count must be one number that is not negative");
  types.push_back(tensorType({rankOf(adaptor.getX()), count[0]}, IntegerType::get(context, 64)));
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/NonZero/NonZero.cpp.inc"

namespace kiln {
void registerNonZeroOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerNonZeroOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/NonZero/NonZero.cpp.inc"
      >();
}
