//===- Trilu.cpp - Triangles of matrices ----------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Trilu/Trilu.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

LogicalResult TriluOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  if (rankOf(adaptor.getX()) < 2)
    return emitOptionalError(loc, "(C1) needs matrices, not ", adaptor.getX().getType());
  if (adaptor.getK().getExprs().size() != 1)
    return emitOptionalError(loc, "(C2) k must be one number");
  types.push_back(adaptor.getX().getType());
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Trilu/Trilu.cpp.inc"

namespace kiln {
void registerTriluOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerTriluOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Trilu/Trilu.cpp.inc"
      >();
}
