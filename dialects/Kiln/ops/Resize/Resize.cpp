//===- Resize.cpp - Interpolation between elements ------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Resize/Resize.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

LogicalResult ResizeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Shape shape = shapeOf(adaptor.getX()), sizes = exprsOf(adaptor.getSizes());
  ArrayRef<int64_t> axes = adaptor.getAxes();
  if (sizes.size() != axes.size() || adaptor.getScales().size() != axes.size())
    return emitOptionalError(loc, "(C1) needs a size and a scale for each of ", axes.size(),
                             " axes");
  SmallVector<bool> seen(shape.size(), false);
  for (auto [axis, size] : llvm::zip_equal(axes, sizes)) {
    if (axis < 0 || axis >= static_cast<int64_t>(shape.size()) || seen[axis])
      return emitOptionalError(loc, "(C1) axis ", axis, " is out of range or given twice");
    if (size.constant().value_or(0) < 0)
      return emitOptionalError(loc, "(C1) the size ", size.str(), " is negative");
    seen[axis] = true;
    shape[axis] = size;
  }
  auto isOneOf = [](StringRef name, ArrayRef<StringRef> names) {
    return llvm::is_contained(names, name);
  };
  if (!isOneOf(adaptor.getMode(), {"nearest", "linear", "cubic"}) ||
      !isOneOf(adaptor.getCoordinates(),
               {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"}) ||
      !isOneOf(adaptor.getRounding(),
               {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) ||
      !isOneOf(adaptor.getPolicy(), {"stretch", "not_larger", "not_smaller"}))
    return emitOptionalError(loc, "(C2) unknown mode '", adaptor.getMode(), "', '",
                             adaptor.getCoordinates(), "', '", adaptor.getRounding(), "' or '",
                             adaptor.getPolicy(), "'");
  size_t needed = adaptor.getCoordinates() == "tf_crop_and_resize" ? 1 : 0,
         given = adaptor.getGeometry().size();
  if (given < needed || given > needed + 1)
    return emitOptionalError(loc, "(C3) geometry of ", given, " operands for coordinates ",
                             adaptor.getCoordinates());
  types.push_back(tensorType(shape, elementTypeOf(adaptor.getX())));
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Resize/Resize.cpp.inc"

namespace kiln {
void registerResizeOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerResizeOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Resize/Resize.cpp.inc"
      >();
}
