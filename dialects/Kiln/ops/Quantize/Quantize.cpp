//===- Quantize.cpp - Floats as scaled integers ---------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Quantize/Quantize.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

static bool clash(const Expr &a, const Expr &b) {
  auto x = a.constant(), y = b.constant();
  return x && y && *x != *y;
}

/// The shape that scale must broadcast to: x's, or the number of its blocks.
static LogicalResult verifyScale(std::optional<Location> loc, Value x, Value scale, Value zeroPoint,
                                 int64_t axis, int64_t blockSize) {
  Shape shape = shapeOf(x), scales = shapeOf(scale), zeros = shapeOf(zeroPoint);
  if (blockSize < 0)
    return emitOptionalError(loc, "block_size is ", blockSize, ", must not be negative");
  if (blockSize > 0) {
    if (axis < 0 || axis >= static_cast<int64_t>(shape.size()) || scales.size() != shape.size())
      return emitOptionalError(loc, "(C3) blocks along axis ", axis,
                               " need a scale of the rank of ", x.getType(), ", not of ",
                               scale.getType());
    shape[axis] = Expr::ceilDiv(shape[axis], blockSize);
    // Blocks are never broadcast along their axis.
    if (clash(shape[axis], scales[axis]))
      return emitOptionalError(loc, "(C3) scale has ", scales[axis].str(), " blocks, not ",
                               shape[axis].str());
  }
  bool fits = scales.size() <= shape.size();
  for (auto [dim, of] : llvm::zip(llvm::reverse(scales), llvm::reverse(shape)))
    fits &= dim.isConstant(1) || !clash(dim, of);
  if (!fits)
    return emitOptionalError(loc, "(C3) scale of ", scale.getType(), " does not broadcast to ",
                             x.getType());
  bool same = zeros.empty() || zeros.size() == scales.size();
  for (auto [dim, of] : llvm::zip(zeros, scales))
    same &= !clash(dim, of);
  if (!same)
    return emitOptionalError(loc, "(C2) zero_point of ", zeroPoint.getType(),
                             " has not the shape of scale, ", scale.getType());
  return success();
}

LogicalResult QuantizeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                           Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Value x = adaptor.getX(), scale = adaptor.getScale(), zero = adaptor.getZeroPoint();
  if (elementTypeOf(x) != elementTypeOf(scale))
    return emitOptionalError(loc, "(C1) x has elements ", elementTypeOf(x), ", scale ",
                             elementTypeOf(scale));
  if (elementTypeOf(zero).getIntOrFloatBitWidth() > 16)
    return emitOptionalError(loc, "(C2) cannot quantize to ", elementTypeOf(zero));
  types.push_back(tensorType(shapeOf(x), elementTypeOf(zero)));
  return verifyScale(loc, x, scale, zero, adaptor.getAxis(), adaptor.getBlockSize());
}

LogicalResult DequantizeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                             Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Value x = adaptor.getX(), scale = adaptor.getScale(), zero = adaptor.getZeroPoint();
  if (elementTypeOf(x) != elementTypeOf(zero))
    return emitOptionalError(loc, "(C1) x has elements ", elementTypeOf(x), ", zero_point ",
                             elementTypeOf(zero));
  types.push_back(tensorType(shapeOf(x), adaptor.getTo()));
  return verifyScale(loc, x, scale, zero, adaptor.getAxis(), adaptor.getBlockSize());
}

LogicalResult DequantizeOp::verify() {
  if (!isa<FloatType>(getTo()))
    return emitOpError("cannot dequantize to ") << getTo();
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Quantize/Quantize.cpp.inc"

namespace kiln {
void registerQuantizeOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerQuantizeOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Quantize/Quantize.cpp.inc"
      >();
}
