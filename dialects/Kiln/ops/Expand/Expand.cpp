//===- Expand.cpp - Repeated elements -------------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Expand/Expand.h"
#include "dialects/Kiln/IR/Indexing.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kiln;

//===----------------------------------------------------------------------===//
// BroadcastToOp
//===----------------------------------------------------------------------===//

LogicalResult BroadcastToOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                              Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Shape from = shapeOf(adaptor.getX()), to = exprsOf(adaptor.getShape());
  if (to.size() < from.size())
    return emitOptionalError(loc, "(C1) cannot broadcast rank ", from.size(), " to rank ",
                             to.size());
  if (anyNegative(to))
    return emitOptionalError(loc, "(C3) a size of the shape is negative");
  for (auto [i, dim] : llvm::enumerate(from)) {
    auto have = dim.constant(), want = to[to.size() - from.size() + i].constant();
    if (have && want && *have != 1 && *have != *want)
      return emitOptionalError(loc, "(C2) cannot broadcast a dimension of ", *have, " to ", *want);
  }
  types.push_back(tensorType(to, elementTypeOf(adaptor.getX())));
  return success();
}

OpFoldResult BroadcastToOp::fold(FoldAdaptor) {
  if (getX().getType() == getType())
    return getX();
  if (auto inner = getX().getDefiningOp<BroadcastToOp>()) {
    setOperand(inner.getX());
    return getResult();
  }
  return {};
}

SymbolicElements BroadcastToOp::symbolicValue(function_ref<SymbolicElements(Value)> elements) {
  Shape from = shapeOf(getX());
  return moveSymbols(elements(getX()), getX().getType(), getType(), [&](ArrayRef<int64_t> index) {
    IntIndex at(index.take_back(from.size()));
    for (auto [i, dim] : llvm::zip_equal(at, from))
      if (dim.isConstant(1))
        i = 0;
    return at;
  });
}

//===----------------------------------------------------------------------===//
// TileOp
//===----------------------------------------------------------------------===//

LogicalResult TileOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  Shape shape = shapeOf(adaptor.getX()), repeats = exprsOf(adaptor.getRepeats());
  if (repeats.size() != shape.size())
    return emitOptionalError(loc, "(C1) needs repeats for each of ", shape.size(), " axes");
  for (auto [dim, count] : llvm::zip_equal(shape, repeats)) {
    if (count.constant().value_or(0) < 0)
      return emitOptionalError(loc, "(C1) cannot repeat ", count.str(), " times");
    int64_t size = 0;
    if (dim.constant() && count.constant() &&
        llvm::MulOverflow(*dim.constant(), *count.constant(), size))
      return emitOptionalError(loc, "(C1) ", dim.str(), " elements ", count.str(),
                               " times are more than can be counted");
    dim = dim * count;
  }
  types.push_back(tensorType(shape, elementTypeOf(adaptor.getX())));
  return success();
}

OpFoldResult TileOp::fold(FoldAdaptor) {
  auto isOne = [](const Expr &count) { return count.isConstant(1); };
  return llvm::all_of(exprsOf(getRepeats()), isOne) ? getX() : OpFoldResult();
}

SymbolicElements TileOp::symbolicValue(function_ref<SymbolicElements(Value)> elements) {
  auto from = cast<RankedTensorType>(getX().getType()).getShape();
  return moveSymbols(elements(getX()), getX().getType(), getType(), [&](ArrayRef<int64_t> index) {
    IntIndex at(index);
    for (auto [i, size] : llvm::zip_equal(at, from))
      i %= size;
    return at;
  });
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Expand/Expand.cpp.inc"

namespace kiln {
void registerExpandOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerExpandOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Expand/Expand.cpp.inc"
      >();
}
