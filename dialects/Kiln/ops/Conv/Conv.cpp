//===- Conv.cpp - Convolutions --------------------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Conv/Conv.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

/// (C1) to (C3), and the group's size.
template <typename Adaptor>
static LogicalResult checkOperands(std::optional<Location> loc, Adaptor adaptor) {
  Value x = adaptor.getX(), w = adaptor.getW();
  if (rankOf(x) < 3 || rankOf(x) != rankOf(w))
    return emitOptionalError(loc,
                             "(C1) a convolution takes an input and weights of one rank, 3 "
                             "or more, not ",
                             x.getType(), " and ", w.getType());
  if (elementTypeOf(x) != elementTypeOf(w))
    return emitOptionalError(loc, "(C1) element types differ: ", elementTypeOf(x), " and ",
                             elementTypeOf(w));
  size_t spatial = static_cast<size_t>(rankOf(x)) - 2;
  if (adaptor.getStrides().size() != spatial || adaptor.getDilations().size() != spatial ||
      adaptor.getPads().getExprs().size() != 2 * spatial)
    return emitOptionalError(loc, "(C2) strides, dilations and pads must fit ", spatial,
                             " spatial dims");
  auto isPositive = [](int64_t value) { return value > 0; };
  if (!llvm::all_of(adaptor.getStrides(), isPositive) ||
      !llvm::all_of(adaptor.getDilations(), isPositive) ||
      !isPositive(static_cast<int64_t>(adaptor.getGroup())))
    return emitOptionalError(loc, "(C2) strides, dilations and group must be positive");
  Shape weights = shapeOf(w);
  for (const Expr &dim : ArrayRef(weights).drop_front(2))
    if (!dim.constant())
      return emitOptionalError(loc, "(C3) the kernel's size must be known, not ", w.getType());
  return success();
}

/// (C4) for a number that must be `count` times the group, when both are known.
static bool fits(const Expr &whole, const Expr &count, int64_t group) {
  auto a = whole.constant(), b = count.constant();
  return !a || !b || *a == *b * group;
}

static bool divides(int64_t group, const Expr &whole) {
  return !whole.constant() || *whole.constant() % group == 0;
}

/// Elements that a kernel dim spans.
static Expr extent(const Expr &size, int64_t dilation) {
  return (size - Expr(1)) * Expr(dilation) + Expr(1);
}

LogicalResult ConvOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  if (failed(checkOperands(loc, adaptor)))
    return failure();
  Shape x = shapeOf(adaptor.getX()), w = shapeOf(adaptor.getW()), pads = exprsOf(adaptor.getPads());
  auto group = static_cast<int64_t>(adaptor.getGroup());
  if (!fits(x[1], w[1], group) || !divides(group, w[0]))
    return emitOptionalError(loc, "(C4) ", x[1].str(), " channels and ", w[0].str(),
                             " outputs do not fit weights of ", w[1].str(), " channels in ", group,
                             " groups");
  Shape result = {x[0], w[0]};
  size_t spatial = x.size() - 2;
  for (size_t d = 0; d < spatial; ++d) {
    Expr stride = adaptor.getStrides()[d];
    Expr room =
        x[d + 2] + pads[d] + pads[d + spatial] - extent(w[d + 2], adaptor.getDilations()[d]);
    if (room.constant() && *room.constant() < 0)
      return emitOptionalError(loc,
                               "(C5) the kernel is larger than the padded input in spatial "
                               "dim ",
                               d);
    result.push_back(Expr::floorDiv(room + stride, stride));
  }
  types.push_back(tensorType(result, elementTypeOf(adaptor.getX())));
  return success();
}

LogicalResult ConvTransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                Adaptor adaptor, SmallVectorImpl<Type> &types) {
  if (failed(checkOperands(loc, adaptor)))
    return failure();
  Shape x = shapeOf(adaptor.getX()), w = shapeOf(adaptor.getW()), pads = exprsOf(adaptor.getPads());
  auto group = static_cast<int64_t>(adaptor.getGroup());
  if (!fits(x[1], w[0], 1) || !divides(group, x[1]) || !divides(group, w[0]))
    return emitOptionalError(loc, "(C4) ", x[1].str(), " channels do not fit weights of ",
                             w[0].str(), " channels in ", group, " groups");
  size_t spatial = x.size() - 2;
  if (adaptor.getOutputPadding().size() != spatial)
    return emitOptionalError(loc, "(C2) output_padding must fit ", spatial, " spatial dims");
  Shape result = {x[0], w[1] * Expr(group)};
  for (size_t d = 0; d < spatial; ++d) {
    Expr size = (x[d + 2] - Expr(1)) * Expr(adaptor.getStrides()[d]) +
                extent(w[d + 2], adaptor.getDilations()[d]) + Expr(adaptor.getOutputPadding()[d]) -
                pads[d] - pads[d + spatial];
    if (size.constant() && *size.constant() < 0)
      return emitOptionalError(loc, "(C5) the pads cut off more than there is in spatial dim ", d);
    result.push_back(size);
  }
  types.push_back(tensorType(result, elementTypeOf(adaptor.getX())));
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Conv/Conv.cpp.inc"

namespace kiln {
void registerConvOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerConvOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Conv/Conv.cpp.inc"
      >();
}
