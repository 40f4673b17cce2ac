//===- GridSample.cpp - Samples at computed places ------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/GridSample/GridSample.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

LogicalResult GridSampleOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                             Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Shape x = shapeOf(adaptor.getX()), grid = shapeOf(adaptor.getGrid());
  if (x.size() < 3 || grid.size() != x.size())
    return emitOptionalError(loc, "(C1) cannot sample ", adaptor.getX().getType(), " by a grid ",
                             adaptor.getGrid().getType());
  auto spatial = static_cast<int64_t>(x.size()) - 2;
  if (grid.back() != Expr(spatial))
    return emitOptionalError(loc, "(C2) the grid has ", grid.back().str(), " coordinates for ",
                             spatial, " dimensions");
  if (!llvm::is_contained({"nearest", "linear", "cubic"}, adaptor.getMode()) ||
      !llvm::is_contained({"zeros", "border", "reflection"}, adaptor.getPadding()))
    return emitOptionalError(loc, "(C3) unknown mode '", adaptor.getMode(), "' or padding '",
                             adaptor.getPadding(), "'");
  Shape shape{x[0], x[1]};
  llvm::append_range(shape, ArrayRef(grid).drop_front().drop_back());
  types.push_back(tensorType(shape, elementTypeOf(adaptor.getX())));
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/GridSample/GridSample.cpp.inc"

namespace kiln {
void registerGridSampleOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerGridSampleOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/GridSample/GridSample.cpp.inc"
      >();
}
