//===- Scatter.cpp - Updates at computed places ---------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Scatter/Scatter.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

static bool isReduction(StringRef name) {
  return llvm::is_contained({"none", "add", "mul", "min", "max"}, name);
}

LogicalResult ScatterElementsOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                  Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Shape x = shapeOf(adaptor.getX()), indices = shapeOf(adaptor.getIndices()),
        updates = shapeOf(adaptor.getUpdates());
  if (failed(checkAxis(loc, adaptor.getAxis(), x.size())))
    return failure();
  if (!isReduction(adaptor.getReduction()))
    return emitOptionalError(loc, "(C1) unknown reduction '", adaptor.getReduction(), "'");
  if (elementTypeOf(adaptor.getX()) != elementTypeOf(adaptor.getUpdates()) ||
      x.size() != updates.size() || indices.size() != updates.size())
    return emitOptionalError(loc, "(C2) cannot update ", adaptor.getX().getType(), " by ",
                             adaptor.getUpdates().getType());
  for (auto [i, have, index, update] : llvm::enumerate(x, indices, updates)) {
    auto size = index.constant();
    if (size && update.constant() && *size != *update.constant())
      return emitOptionalError(loc, "(C2) dimension ", i, " of indices and updates is ",
                               index.str(), " and ", update.str());
    if (i != adaptor.getAxis() && size && have.constant() && *size > *have.constant())
      return emitOptionalError(loc, "(C3) dimension ", i, " of the indices, ", index.str(),
                               ", is larger than x's, ", have.str());
  }
  types.push_back(adaptor.getX().getType());
  return success();
}

LogicalResult TensorScatterOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Shape cache = shapeOf(adaptor.getCache()), update = shapeOf(adaptor.getUpdate());
  uint64_t axis = adaptor.getAxis();
  if (failed(checkAxis(loc, axis, cache.size())))
    return failure();
  if (axis == 0)
    return emitOptionalError(loc, "(C1) axis 0 is the batch");
  bool fits = update.size() == cache.size() &&
              elementTypeOf(adaptor.getCache()) == elementTypeOf(adaptor.getUpdate());
  for (size_t i = 0; fits && i < cache.size(); ++i)
    fits = i == axis || !update[i].constant() || !cache[i].constant() || update[i] == cache[i];
  if (!fits)
    return emitOptionalError(loc, "(C2) cannot update ", adaptor.getCache().getType(), " by ",
                             adaptor.getUpdate().getType());
  if (Value starts = adaptor.getStarts()) {
    Shape shape = shapeOf(starts);
    if (shape.size() != 1 || (shape[0].constant() && cache[0].constant() && shape[0] != cache[0]))
      return emitOptionalError(loc, "(C3) needs ", cache[0].str(), " starts, not ",
                               starts.getType());
  }
  types.push_back(adaptor.getCache().getType());
  return success();
}

LogicalResult ScatterNDOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Shape x = shapeOf(adaptor.getX()), indices = shapeOf(adaptor.getIndices());
  if (!isReduction(adaptor.getReduction()))
    return emitOptionalError(loc, "(C1) unknown reduction '", adaptor.getReduction(), "'");
  auto depth = indices.empty() ? std::nullopt : indices.back().constant();
  if (!depth || *depth < 0 || *depth > static_cast<int64_t>(x.size()))
    return emitOptionalError(loc, "(C2) index tuples must be static and fit rank ", x.size());
  Shape wanted(ArrayRef(indices).drop_back()), updates = shapeOf(adaptor.getUpdates());
  llvm::append_range(wanted, ArrayRef(x).drop_front(static_cast<size_t>(*depth)));
  bool fits = wanted.size() == updates.size() &&
              elementTypeOf(adaptor.getX()) == elementTypeOf(adaptor.getUpdates());
  for (auto [have, want] : llvm::zip(updates, wanted))
    fits &= !have.constant() || !want.constant() || have == want;
  if (!fits)
    return emitOptionalError(loc, "(C3) updates must be of type ",
                             tensorType(wanted, elementTypeOf(adaptor.getX())), ", not ",
                             adaptor.getUpdates().getType());
  types.push_back(adaptor.getX().getType());
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Scatter/Scatter.cpp.inc"

namespace kiln {
void registerScatterOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerScatterOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Scatter/Scatter.cpp.inc"
      >();
}
