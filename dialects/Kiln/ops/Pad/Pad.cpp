//===- Pad.cpp - Elements around a tensor ---------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Pad/Pad.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

LogicalResult PadOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  Shape shape = shapeOf(adaptor.getX()), before = exprsOf(adaptor.getBefore()),
        after = exprsOf(adaptor.getAfter());
  Type type = elementTypeOf(adaptor.getX());
  if (before.size() != shape.size() || after.size() != shape.size())
    return emitOptionalError(loc, "(C1) needs two numbers for each of ", shape.size(), " axes");
  bool isConstant = adaptor.getMode() == "constant";
  if (!isConstant && !llvm::is_contained({"edge", "reflect", "wrap"}, adaptor.getMode()))
    return emitOptionalError(loc, "(C2) unknown mode '", adaptor.getMode(), "'");
  Value value = adaptor.getValue();
  if (isConstant != static_cast<bool>(value) ||
      (value && value.getType() != RankedTensorType::get({}, type)))
    return emitOptionalError(loc, "(C2) mode constant, and no other, needs a value of type ",
                             RankedTensorType::get({}, type));
  for (auto [i, dim] : llvm::enumerate(shape)) {
    if (!isConstant &&
        (before[i].constant().value_or(0) < 0 || after[i].constant().value_or(0) < 0))
      return emitOptionalError(loc, "(C2) mode ", adaptor.getMode(), " drops nothing");
    constexpr int64_t mostPadding = INT64_C(1) << 61;
    for (const Expr &pad : {before[i], after[i]})
      if (pad.constant() && std::abs(*pad.constant() / 2) >= mostPadding / 2)
        return emitOptionalError(loc, "(C3) dimension ", i, " is padded by ", pad.str());
    dim = dim + before[i] + after[i];
    if (dim.constant().value_or(0) < 0)
      return emitOptionalError(loc, "(C3) dimension ", i, " becomes ", dim.str());
  }
  types.push_back(tensorType(shape, type));
  return success();
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  auto isZero = [](const Expr &number) { return number.isConstant(0); };
  return llvm::all_of(exprsOf(getBefore()), isZero) && llvm::all_of(exprsOf(getAfter()), isZero)
             ? getX()
             : OpFoldResult();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Pad/Pad.cpp.inc"

namespace kiln {
void registerPadOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerPadOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Pad/Pad.cpp.inc"
      >();
}
