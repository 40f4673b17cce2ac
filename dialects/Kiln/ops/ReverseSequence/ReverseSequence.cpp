//===- ReverseSequence.cpp - Reversed beginnings --------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ReverseSequence/ReverseSequence.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

LogicalResult ReverseSequenceOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                  Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Shape shape = shapeOf(adaptor.getX()), lengths = shapeOf(adaptor.getLengths());
  uint64_t batch = adaptor.getBatchAxis(), time = adaptor.getTimeAxis();
  if (batch >= shape.size() || time >= shape.size() || batch == time)
    return emitOptionalError(loc, "(C1) batch axis ", static_cast<int64_t>(batch),
                             " and time axis ", static_cast<int64_t>(time), " for rank ",
                             shape.size());
  if (lengths.size() != 1 ||
      (lengths[0].constant() && shape[batch].constant() && lengths[0] != shape[batch]))
    return emitOptionalError(loc, "(C2) needs ", shape[batch].str(), " lengths, not ",
                             adaptor.getLengths().getType());
  types.push_back(adaptor.getX().getType());
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/ReverseSequence/ReverseSequence.cpp.inc"

namespace kiln {
void registerReverseSequenceOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerReverseSequenceOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/ReverseSequence/ReverseSequence.cpp.inc"
      >();
}
