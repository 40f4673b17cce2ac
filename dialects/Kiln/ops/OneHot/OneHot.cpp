//===- OneHot.cpp - Indices as vectors of two values ----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/OneHot/OneHot.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

LogicalResult OneHotOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Shape shape = shapeOf(adaptor.getIndices()), depth = exprsOf(adaptor.getDepth());
  if (failed(checkAxis(loc, adaptor.getAxis(), shape.size() + 1)))
    return failure();
  if (depth.size() != 1 || depth[0].constant().value_or(0) < 0)
    return emitOptionalError(loc, "(C2) depth must be one number that is not negative");
  if (shapeOf(adaptor.getValues()) != Shape{2})
    return emitOptionalError(loc, "(C3) values must be [off, on], not ",
                             adaptor.getValues().getType());
  shape.insert(shape.begin() + static_cast<ptrdiff_t>(adaptor.getAxis()), depth[0]);
  types.push_back(tensorType(shape, elementTypeOf(adaptor.getValues())));
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/OneHot/OneHot.cpp.inc"

namespace kiln {
void registerOneHotOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerOneHotOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/OneHot/OneHot.cpp.inc"
      >();
}
