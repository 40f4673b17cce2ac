//===- Gather.cpp - Elements at computed places ---------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Gather/Gather.h"
#include "dialects/Kiln/IR/Indexing.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Shape x = shapeOf(adaptor.getX()), shape;
  if (failed(checkAxis(loc, adaptor.getAxis(), x.size())))
    return failure();
  llvm::append_range(shape, ArrayRef(x).take_front(adaptor.getAxis()));
  llvm::append_range(shape, shapeOf(adaptor.getIndices()));
  llvm::append_range(shape, ArrayRef(x).drop_front(adaptor.getAxis() + 1));
  types.push_back(tensorType(shape, elementTypeOf(adaptor.getX())));
  return success();
}

SymbolicElements GatherOp::symbolicValue(function_ref<SymbolicElements(Value)> elements) {
  SymbolicElements indices = elements(getIndices());
  auto indexType = cast<RankedTensorType>(getIndices().getType());
  if (!indices)
    return std::nullopt;
  auto dim = shapeOf(getX())[getAxis()].constant();
  for (Expr &index : *indices) {
    auto known = index.constant();
    if (!known || !dim || *known < -*dim || *known >= *dim)
      return std::nullopt;
    index = *known < 0 ? *known + *dim : *known;
  }
  size_t axis = getAxis(), rank = static_cast<size_t>(indexType.getRank());
  return moveSymbols(elements(getX()), getX().getType(), getType(), [&](ArrayRef<int64_t> index) {
    IntIndex at(index.take_front(axis));
    int64_t place = positionOf(index.slice(axis, rank), indexType.getShape());
    at.push_back(*(*indices)[static_cast<size_t>(place)].constant());
    llvm::append_range(at, index.drop_front(axis + rank));
    return at;
  });
}

LogicalResult GatherElementsOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                 Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Shape x = shapeOf(adaptor.getX()), indices = shapeOf(adaptor.getIndices());
  if (failed(checkAxis(loc, adaptor.getAxis(), x.size())))
    return failure();
  if (x.size() != indices.size())
    return emitOptionalError(loc, "(C2) ranks ", x.size(), " and ", indices.size(), " differ");
  for (auto [i, have, want] : llvm::enumerate(x, indices))
    if (i != adaptor.getAxis() && have.constant() && want.constant() &&
        *want.constant() > *have.constant())
      return emitOptionalError(loc, "(C2) dimension ", i, " of the indices, ", want.str(),
                               ", is larger than x's, ", have.str());
  types.push_back(tensorType(indices, elementTypeOf(adaptor.getX())));
  return success();
}

LogicalResult GatherNDOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                           Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Shape x = shapeOf(adaptor.getX()), indices = shapeOf(adaptor.getIndices());
  size_t batch = adaptor.getBatchDims();
  if (batch >= x.size() || batch >= indices.size())
    return emitOptionalError(loc, "(C1) ", static_cast<int64_t>(batch), " batch dims for ranks ",
                             x.size(), " and ", indices.size());
  auto depth = indices.back().constant();
  if (!depth || *depth < 0 || batch + static_cast<size_t>(*depth) > x.size())
    return emitOptionalError(loc, "(C2) tuples of ", indices.back().str(), " indices for rank ",
                             x.size(), " after ", batch, " batch dims");
  Shape shape(ArrayRef(indices).drop_back());
  llvm::append_range(shape, ArrayRef(x).drop_front(batch + static_cast<size_t>(*depth)));
  types.push_back(tensorType(shape, elementTypeOf(adaptor.getX())));
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Gather/Gather.cpp.inc"

namespace kiln {
void registerGatherOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerGatherOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Gather/Gather.cpp.inc"
      >();
}
