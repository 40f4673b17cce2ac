//===- Pool.cpp - Windows that slide over spatial axes --------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Pool/Pool.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

template <typename Adaptor>
static LogicalResult inferPool(std::optional<Location> loc, Adaptor adaptor, Type elementType,
                               SmallVectorImpl<Type> &types) {
  Shape shape = shapeOf(adaptor.getX());
  size_t spatial = shape.size() < 2 ? 0 : shape.size() - 2;
  Shape pads = exprsOf(adaptor.getPads()), sizes = exprsOf(adaptor.getSizes());
  if (spatial == 0 || adaptor.getKernel().size() != spatial ||
      adaptor.getStrides().size() != spatial || adaptor.getDilations().size() != spatial ||
      pads.size() != 2 * spatial || sizes.size() != spatial)
    return emitOptionalError(loc, "(C1) each list needs one entry (pads two) for each of the ",
                             spatial, " spatial axes");
  auto positive = [](int64_t value) { return value > 0; };
  if (!llvm::all_of(adaptor.getKernel(), positive) ||
      !llvm::all_of(adaptor.getStrides(), positive) ||
      !llvm::all_of(adaptor.getDilations(), positive) || anyNegative(pads) || anyNegative(sizes))
    return emitOptionalError(loc, "(C2) kernel, strides and dilations must be positive, and pads "
                                  "and sizes not negative");
  shape.truncate(2);
  shape.append(sizes);
  types.push_back(tensorType(shape, elementType ? elementType : elementTypeOf(adaptor.getX())));
  return success();
}

#define KILN_POOL(OP, ELEMENT)                                                                     \
  LogicalResult OP::inferReturnTypes([[maybe_unused]] MLIRContext *context,                        \
                                     std::optional<Location> loc, Adaptor adaptor,                 \
                                     SmallVectorImpl<Type> &types) {                               \
    return inferPool(loc, adaptor, ELEMENT, types);                                                \
  }

KILN_POOL(MaxPoolOp, Type())
KILN_POOL(AvgPoolOp, Type())
KILN_POOL(SumPoolOp, Type())
KILN_POOL(MaxPoolIndicesOp, IntegerType::get(context, 64))

LogicalResult MaxUnpoolOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Shape shape = exprsOf(adaptor.getShape());
  size_t rank = shapeOf(adaptor.getX()).size();
  if (shapeOf(adaptor.getX()) != shapeOf(adaptor.getIndices()))
    return emitOptionalError(loc, "(C1) shapes of ", adaptor.getX().getType(), " and ",
                             adaptor.getIndices().getType(), " differ");
  if (shape.size() != rank || adaptor.getIndexed().getExprs().size() != rank)
    return emitOptionalError(loc, "(C2) indexed and shape must have ", rank, " sizes");
  if (anyNegative(shape) || anyNegative(exprsOf(adaptor.getIndexed())))
    return emitOptionalError(loc, "(C3) a size of indexed or shape is negative");
  types.push_back(tensorType(shape, elementTypeOf(adaptor.getX())));
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Pool/Pool.cpp.inc"

namespace kiln {
void registerPoolOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerPoolOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Pool/Pool.cpp.inc"
      >();
}
