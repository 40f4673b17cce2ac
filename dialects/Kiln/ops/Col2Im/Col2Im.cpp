//===- Col2Im.cpp - Sums of overlapping blocks ----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Col2Im/Col2Im.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

LogicalResult Col2ImOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Shape x = shapeOf(adaptor.getX()), image = exprsOf(adaptor.getImage()),
        block = exprsOf(adaptor.getBlock());
  if (x.size() != 3)
    return emitOptionalError(loc, "(C1) needs rank 3, not ", adaptor.getX().getType());
  size_t rank = image.size();
  auto isPositive = [](int64_t number) { return number > 0; };
  if (rank == 0 || block.size() != rank || adaptor.getCounts().getExprs().size() != rank ||
      adaptor.getStrides().size() != rank || adaptor.getDilations().size() != rank ||
      adaptor.getPads().size() != rank || !llvm::all_of(adaptor.getStrides(), isPositive) ||
      !llvm::all_of(adaptor.getDilations(), isPositive))
    return emitOptionalError(loc, "(C2) lists must be of one length, strides and dilations "
                                  "positive");
  // As the importer has it: a block has elements.
  auto isEmpty = [](const Expr &size) { return size.constant().value_or(1) < 1; };
  if (anyNegative(image) || llvm::any_of(block, isEmpty) ||
      anyNegative(exprsOf(adaptor.getCounts())))
    return emitOptionalError(loc, "(C3) sizes of the block must be positive, of image and counts "
                                  "not negative");
  Shape shape{x[0], Expr::floorDiv(x[1], elementCount(block))};
  llvm::append_range(shape, image);
  types.push_back(tensorType(shape, elementTypeOf(adaptor.getX())));
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Col2Im/Col2Im.cpp.inc"

namespace kiln {
void registerCol2ImOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerCol2ImOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Col2Im/Col2Im.cpp.inc"
      >();
}
