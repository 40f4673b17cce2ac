//===- Slice.cpp - Parts of tensors ---------------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Slice/Slice.h"
#include "dialects/Kiln/IR/Indexing.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kiln;

LogicalResult SliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  Shape shape = shapeOf(adaptor.getX()), starts = exprsOf(adaptor.getStarts()),
        sizes = exprsOf(adaptor.getSizes()), steps = exprsOf(adaptor.getSteps());
  if (starts.size() != shape.size() || sizes.size() != shape.size() || steps.size() != shape.size())
    return emitOptionalError(loc, "(C1) needs a start, a size and a step for each of ",
                             shape.size(), " axes");
  for (auto [axis, step] : llvm::enumerate(steps)) {
    if (step.isConstant(0))
      return emitOptionalError(loc, "(C2) the step of axis ", axis, " is 0");
    auto start = starts[axis].constant(), size = sizes[axis].constant(),
         dim = shape[axis].constant();
    if (size && *size < 0)
      return emitOptionalError(loc, "(C3) the size of axis ", axis, " is negative: ", *size);
    if (!start || !size || !dim || !step.constant() || *size == 0)
      continue;
    int64_t last = 0;
    if (llvm::MulOverflow(*size - 1, *step.constant(), last) ||
        llvm::AddOverflow(*start, last, last) || std::min(*start, last) < 0 ||
        std::max(*start, last) >= *dim)
      return emitOptionalError(loc, "(C3) the slice of axis ", axis, " reads ", *size,
                               " elements from ", *start, " in steps of ", *step.constant(), " of ",
                               *dim);
  }
  types.push_back(tensorType(sizes, elementTypeOf(adaptor.getX())));
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  Shape starts = exprsOf(getStarts()), steps = exprsOf(getSteps());
  auto is = [](int64_t number) {
    return [number](const Expr &expr) { return expr.isConstant(number); };
  };
  if (getX().getType() == getType() && llvm::all_of(steps, is(1)) && llvm::all_of(starts, is(0)))
    return getX();
  auto inner = getX().getDefiningOp<SliceOp>();
  if (!inner)
    return {};
  Shape innerStarts = exprsOf(inner.getStarts()), innerSteps = exprsOf(inner.getSteps());
  for (size_t i = 0; i < starts.size(); ++i) {
    starts[i] = innerStarts[i] + starts[i] * innerSteps[i];
    steps[i] = innerSteps[i] * steps[i];
  }
  setStartsAttr(exprsAttr(getContext(), starts));
  setStepsAttr(exprsAttr(getContext(), steps));
  setOperand(inner.getX());
  return getResult();
}

LogicalResult SliceBoundsOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                              Adaptor adaptor, SmallVectorImpl<Type> &types) {
  for (Value operand : adaptor.getOperands())
    if (operand.getType() != adaptor.getStarts().getType() || !shapeOf(operand)[0].constant())
      return emitOptionalError(loc, "(C1) needs operands of one static length");
  auto rank = static_cast<int64_t>(adaptor.getDims().getExprs().size());
  types.push_back(RankedTensorType::get({3, rank}, IntegerType::get(context, 64)));
  return success();
}

SymbolicElements SliceOp::symbolicValue(function_ref<SymbolicElements(Value)> elements) {
  auto starts = constantsOf(getStarts()), steps = constantsOf(getSteps());
  if (!starts || !steps)
    return std::nullopt;
  return moveSymbols(elements(getX()), getX().getType(), getType(), [&](ArrayRef<int64_t> index) {
    IntIndex at(index);
    for (auto [i, start, step] : llvm::zip_equal(at, *starts, *steps))
      i = start + i * step;
    return at;
  });
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Slice/Slice.cpp.inc"

namespace kiln {
void registerSliceOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerSliceOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Slice/Slice.cpp.inc"
      >();
}
