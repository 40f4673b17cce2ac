//===- Transpose.cpp - Permutation of axes --------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Transpose/Transpose.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Shape shape = shapeOf(adaptor.getX()), permuted;
  SmallVector<int64_t> sorted(adaptor.getPermutation());
  llvm::sort(sorted);
  for (auto [i, axis] : llvm::enumerate(sorted))
    if (static_cast<int64_t>(i) != axis || sorted.size() != shape.size())
      return emitOptionalError(loc, "(C1) permutation must hold each of the ", shape.size(),
                               " axes once");
  if (sorted.size() != shape.size())
    return emitOptionalError(loc, "(C1) permutation must hold each of the ", shape.size(),
                             " axes once");
  for (int64_t axis : adaptor.getPermutation())
    permuted.push_back(shape[axis]);
  types.push_back(tensorType(permuted, elementTypeOf(adaptor.getX())));
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (llvm::is_sorted(getPermutation()))
    return getX();
  return {};
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Transpose/Transpose.cpp.inc"

namespace kiln {
void registerTransposeOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerTransposeOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Transpose/Transpose.cpp.inc"
      >();
}
