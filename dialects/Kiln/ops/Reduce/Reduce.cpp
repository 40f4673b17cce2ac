//===- Reduce.cpp - Folding axes ------------------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Reduce/Reduce.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

using Elements = function_ref<std::optional<SmallVector<Expr>>(Value)>;

template <typename Adaptor>
static LogicalResult inferReduce(std::optional<Location> loc, Adaptor adaptor,
                                 SmallVectorImpl<Type> &types) {
  Shape shape = shapeOf(adaptor.getX()), result;
  ArrayRef<int64_t> axes = adaptor.getAxes();
  for (auto [i, axis] : llvm::enumerate(axes))
    if (axis < 0 || axis >= static_cast<int64_t>(shape.size()) || (i && axis <= axes[i - 1]))
      return emitOptionalError(loc, "(C1) axes must be increasing and in [0, ", shape.size(), ")");
  for (auto [i, dim] : llvm::enumerate(shape))
    if (!llvm::is_contained(axes, static_cast<int64_t>(i)))
      result.push_back(dim);
    else if (adaptor.getKeepdims())
      result.push_back(1);
  types.push_back(tensorType(result, elementTypeOf(adaptor.getX())));
  return success();
}

/// Symbolic result of reducing a small static integer tensor.
template <typename OpTy>
static std::optional<SmallVector<Expr>>
reduceElements(OpTy op, Elements elements, function_ref<Expr(const Expr &, const Expr &)> combine,
               std::optional<Expr> identity) {
  auto type = cast<RankedTensorType>(op.getX().getType());
  if (!type.hasStaticShape() || !isa<IntegerType>(type.getElementType()) ||
      type.getElementType().isInteger(1))
    return std::nullopt;
  auto values = elements(op.getX());
  if (!values)
    return std::nullopt;
  // Reduced axes move to stride 0 of the result.
  SmallVector<int64_t> kept(type.getShape());
  for (int64_t axis : op.getAxes())
    kept[axis] = 1;
  int64_t count = 1;
  for (int64_t size : kept)
    count *= size;
  SmallVector<std::optional<Expr>> totals(count, identity);
  for (auto [i, value] : llvm::enumerate(*values)) {
    std::optional<Expr> &total =
        totals[broadcastIndex(kept, type.getShape(), static_cast<int64_t>(i))];
    total = total ? combine(*total, value) : value;
  }
  SmallVector<Expr> result;
  for (const std::optional<Expr> &total : totals) {
    if (!total)
      return std::nullopt;
    result.push_back(*total);
  }
  return result;
}

#define KILN_REDUCE(OP)                                                                            \
  LogicalResult OP::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,  \
                                     SmallVectorImpl<Type> &types) {                               \
    return inferReduce(loc, adaptor, types);                                                       \
  }                                                                                                \
  OpFoldResult OP::fold(FoldAdaptor) { return getAxes().empty() ? getX() : OpFoldResult(); }

#define KILN_SYMBOLIC_REDUCE(OP, COMBINE, IDENTITY)                                                \
  KILN_REDUCE(OP)                                                                                  \
  std::optional<SmallVector<Expr>> OP::symbolicValue(Elements elements) {                          \
    return reduceElements(                                                                         \
        *this, elements, [](const Expr &a, const Expr &b) { return COMBINE; }, IDENTITY);          \
  }

KILN_SYMBOLIC_REDUCE(ReduceSumOp, a + b, Expr(0))
KILN_SYMBOLIC_REDUCE(ReduceProdOp, a *b, Expr(1))
KILN_SYMBOLIC_REDUCE(ReduceMaxOp, Expr::max(a, b), std::nullopt)
KILN_SYMBOLIC_REDUCE(ReduceMinOp, Expr::min(a, b), std::nullopt)
KILN_REDUCE(ReduceMeanOp)

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Reduce/Reduce.cpp.inc"

namespace kiln {
void registerReduceOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerReduceOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Reduce/Reduce.cpp.inc"
      >();
}
