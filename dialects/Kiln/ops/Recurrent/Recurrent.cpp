//===- Recurrent.cpp - Recurrent layers over time -------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Recurrent/Recurrent.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace kiln;

std::optional<Activation> kiln::activationOf(StringRef name) {
  return StringSwitch<std::optional<Activation>>(name)
      .CaseLower("relu", Activation::Relu)
      .CaseLower("tanh", Activation::Tanh)
      .CaseLower("sigmoid", Activation::Sigmoid)
      .CaseLower("affine", Activation::Affine)
      .CaseLower("leakyrelu", Activation::LeakyRelu)
      .CaseLower("thresholdedrelu", Activation::ThresholdedRelu)
      .CaseLower("scaledtanh", Activation::ScaledTanh)
      .CaseLower("hardsigmoid", Activation::HardSigmoid)
      .CaseLower("elu", Activation::Elu)
      .CaseLower("softsign", Activation::Softsign)
      .CaseLower("softplus", Activation::Softplus)
      .Default(std::nullopt);
}

RecurrentShape::RecurrentShape(Value x, Value r, StringRef direction, ArrayAttr activations,
                               ArrayRef<double> alpha, ArrayRef<double> beta)
    : reverse(direction == "reverse") {
  Shape input = shapeOf(x);
  time = input[0];
  batch = input[1];
  ArrayRef<int64_t> weights = cast<RankedTensorType>(r.getType()).getShape();
  directions = weights[0];
  panels = weights[1];
  hidden = weights[2];
  columns = weights[3];
  for (auto [name, a, b] : llvm::zip(activations.getAsValueRange<StringAttr>(), alpha, beta))
    functions.push_back({*activationOf(name), a, b});
}

/// `operand`, when there is one, has this shape as far as sizes are known.
static bool hasShape(Value operand, ArrayRef<Expr> shape) {
  if (!operand)
    return true;
  Shape given = shapeOf(operand);
  if (given.size() != shape.size())
    return false;
  for (auto [a, b] : llvm::zip(given, shape))
    if (a.constant() && b.constant() && a != b)
      return false;
  return true;
}

template <typename Adaptor>
static LogicalResult inferRecurrent(std::optional<Location> loc, Adaptor adaptor, int64_t gates,
                                    size_t functions, ArrayRef<Value> states,
                                    SmallVectorImpl<Type> &types) {
  Shape x = shapeOf(adaptor.getX());
  auto weights = cast<RankedTensorType>(adaptor.getR().getType());
  if (x.size() != 3 || weights.getRank() != 4 || !weights.hasStaticShape() ||
      weights.getElementType() != elementTypeOf(adaptor.getX()))
    return emitOptionalError(loc, "(C1) x must have rank 3, and r rank 4, a static shape and x's "
                                  "element type");
  int64_t directions = weights.getDimSize(0), hidden = weights.getDimSize(2),
          columns = weights.getDimSize(3);
  bool both = adaptor.getDirection() == "bidirectional";
  bool known = llvm::all_of(adaptor.getActivations().template getAsValueRange<StringAttr>(),
                            [](StringRef name) { return activationOf(name).has_value(); });
  size_t count = adaptor.getActivations().size();
  if ((!both && adaptor.getDirection() != "forward" && adaptor.getDirection() != "reverse") ||
      !known || count != functions * static_cast<size_t>(directions) ||
      adaptor.getAlpha().size() != count || adaptor.getBeta().size() != count)
    return emitOptionalError(loc, "(C2) unknown direction or activation, or not ", functions,
                             " activations a direction");
  if (columns == 0 || hidden % columns != 0)
    return emitOptionalError(loc, "(C3) panels of ", columns, " columns cross gates of ", hidden);
  Shape state{directions, x[1], hidden};
  bool fits = directions == (both ? 2 : 1) && weights.getDimSize(1) * columns == gates * hidden &&
              hasShape(adaptor.getX(), {x[0], x[1], directions * gates * hidden}) &&
              hasShape(adaptor.getLengths(), {x[1]}) && hasShape(adaptor.getInitialH(), state);
  for (Value initial : states)
    fits &= hasShape(initial, state);
  if (!fits)
    return emitOptionalError(loc, "(C1) sizes of the operands do not fit each other");
  Type element = elementTypeOf(adaptor.getX());
  types.push_back(tensorType({x[0], directions, x[1], hidden}, element));
  types.append(1 + states.size(), tensorType(state, element));
  return success();
}

LogicalResult RnnOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  return inferRecurrent(loc, adaptor, 1, 1, {}, types);
}

LogicalResult GruOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  if (failed(inferRecurrent(loc, adaptor, 3, 2, {}, types)))
    return failure();
  Shape weights = shapeOf(adaptor.getR());
  if (!hasShape(adaptor.getHiddenBias(), {weights[0], weights[2]}))
    return emitOptionalError(loc, "(C1) hidden_bias does not have one number a hidden unit");
  return success();
}

LogicalResult LstmOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  if (failed(inferRecurrent(loc, adaptor, 4, 3, adaptor.getInitialC(), types)))
    return failure();
  Shape weights = shapeOf(adaptor.getR());
  if (!hasShape(adaptor.getPeephole(), {weights[0], weights[2] * Expr(3)}))
    return emitOptionalError(loc, "(C1) peephole does not have three numbers a hidden unit");
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/Recurrent/Recurrent.cpp.inc"

namespace kiln {
void registerRecurrentOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerRecurrentOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/Recurrent/Recurrent.cpp.inc"
      >();
}
