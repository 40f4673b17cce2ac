//===- Range.cpp - Evenly spaced numbers ----------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Range/Range.h"
#include "dialects/Kiln/IR/Indexing.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace kiln;

static LogicalResult verifyScalars(std::optional<Location> loc, ValueRange values) {
  for (Value value : values)
    if (rankOf(value) != 0 || value.getType() != values.front().getType())
      return emitOptionalError(loc, "(C1) needs scalars of one type, not ", value.getType());
  return success();
}

LogicalResult RangeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  Shape count = exprsOf(adaptor.getCount());
  if (failed(verifyScalars(loc, adaptor.getOperands())))
    return failure();
  if (count.size() != 1 || count[0].constant().value_or(0) < 0)
    return emitOptionalError(loc, "(C2) count must be one number that is not negative");
  types.push_back(tensorType(count, elementTypeOf(adaptor.getStart())));
  return success();
}

SymbolicElements RangeOp::symbolicValue(function_ref<SymbolicElements(Value)> elements) {
  if (!isa<IntegerType>(elementTypeOf(getY())))
    return std::nullopt;
  SymbolicElements start = elements(getStart()), delta = elements(getDelta());
  auto count = exprsOf(getCount())[0].constant();
  if (!start || !delta || !count)
    return std::nullopt;
  SmallVector<Expr> values;
  for (int64_t i = 0; i < *count; ++i)
    values.push_back(start->front() + Expr(i) * delta->front());
  return values;
}

LogicalResult RangeCountOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                             Adaptor adaptor, SmallVectorImpl<Type> &types) {
  types.push_back(RankedTensorType::get({}, IntegerType::get(context, 64)));
  return verifyScalars(loc, adaptor.getOperands());
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Range/Range.cpp.inc"

namespace kiln {
void registerRangeOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerRangeOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Range/Range.cpp.inc"
      >();
}
