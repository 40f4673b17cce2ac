//===- Unique.cpp - Different rows of a matrix ----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Unique/Unique.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

LogicalResult UniqueOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Shape shape = shapeOf(adaptor.getX());
  if (shape.size() != 2)
    return emitOptionalError(loc, "(C1) needs a matrix, not ", adaptor.getX().getType());
  Type i64 = IntegerType::get(context, 64);
  types.append(3, tensorType(shape[0], i64));
  types.push_back(RankedTensorType::get({}, i64));
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Unique/Unique.cpp.inc"

namespace kiln {
void registerUniqueOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerUniqueOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Unique/Unique.cpp.inc"
      >();
}
