//===- Concat.cpp - Joined tensors ----------------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Concat/Concat.h"
#include "dialects/Kiln/IR/Indexing.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  if (adaptor.getXs().empty())
    return emitOptionalError(loc, "(C1) needs an operand");
  Value first = adaptor.getXs().front();
  Shape shape = shapeOf(first);
  auto rank = static_cast<int64_t>(shape.size());
  auto axis = static_cast<int64_t>(adaptor.getAxis());
  if (failed(checkAxis(loc, adaptor.getAxis(), shape.size())))
    return failure();
  for (Value x : adaptor.getXs().drop_front()) {
    if (rankOf(x) != rank || elementTypeOf(x) != elementTypeOf(first))
      return emitOptionalError(loc, "(C1) cannot join ", first.getType(), " and ", x.getType());
    for (auto [i, dim] : llvm::enumerate(shapeOf(x))) {
      if (static_cast<int64_t>(i) == axis) {
        shape[i] = shape[i] + dim;
        continue;
      }
      if (dim.constant() && shape[i].constant() && dim != shape[i])
        return emitOptionalError(loc, "(C2) dimension ", i, " is ", shape[i].str(), " and ",
                                 dim.str());
      if (dim.constant())
        shape[i] = dim;
    }
  }
  types.push_back(tensorType(shape, elementTypeOf(first)));
  return success();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  // Empty operands add nothing, but the last one must stay.
  SmallVector<Value> kept;
  for (Value x : getXs())
    if (!shapeOf(x)[getAxis()].isConstant(0))
      kept.push_back(x);
  if (kept.empty())
    kept.push_back(getXs().front());
  if (kept.size() == 1 && kept[0].getType() == getType())
    return kept[0];
  if (kept.size() == getXs().size() || kept.size() == 1)
    return {};
  // An empty operand may be the only one that knows the other dims.
  SmallVector<Value> all(getXs());
  getXsMutable().assign(kept);
  SmallVector<Type> types;
  if (succeeded(inferReturnTypes(getContext(), std::nullopt, getOperands(),
                                 getOperation()->getAttrDictionary(),
                                 getOperation()->getPropertiesStorage(), {}, types)) &&
      types.front() == getType())
    return getResult();
  getXsMutable().assign(all);
  return {};
}

SymbolicElements ConcatOp::symbolicValue(function_ref<SymbolicElements(Value)> elements) {
  if (getAxis() != 0)
    return std::nullopt;
  SmallVector<Expr> all;
  for (Value x : getXs()) {
    SymbolicElements part = elements(x);
    if (!part)
      return std::nullopt;
    all.append(part->begin(), part->end());
  }
  return all;
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Concat/Concat.cpp.inc"

namespace kiln {
void registerConcatOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerConcatOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Concat/Concat.cpp.inc"
      >();
}
