//===- RoiAlign.cpp - Samples of regions of an image ----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/RoiAlign/RoiAlign.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

LogicalResult RoiAlignOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                           Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Shape x = shapeOf(adaptor.getX()), rois = shapeOf(adaptor.getRois()),
        indices = shapeOf(adaptor.getBatchIndices());
  bool ranks = x.size() == 4 && rois.size() == 2 && indices.size() == 1;
  auto may = [](const Expr &a, const Expr &b) { return !a.constant() || !b.constant() || a == b; };
  if (!ranks || !may(rois[1], 4) || !may(rois[0], indices[0]) ||
      elementTypeOf(adaptor.getX()) != elementTypeOf(adaptor.getRois()))
    return emitOptionalError(loc, "(C1) expected x of rank 4, rois [regions, 4] of its element "
                                  "type and batch_indices [regions]");
  auto height = static_cast<int64_t>(adaptor.getHeight()),
       width = static_cast<int64_t>(adaptor.getWidth());
  if (height < 1 || width < 1)
    return emitOptionalError(loc, "(C2) height and width must be positive");
  types.push_back(tensorType({indices[0], x[1], height, width}, elementTypeOf(adaptor.getX())));
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/RoiAlign/RoiAlign.cpp.inc"

namespace kiln {
void registerRoiAlignOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerRoiAlignOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/RoiAlign/RoiAlign.cpp.inc"
      >();
}
