//===- ElementwiseUnary.kernels.cpp - Ops on one element, kernels ---------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ElementwiseUnary/ElementwiseUnary.h"
#include "kiln/Codegen/KernelTable.h"
#include "kiln/Codegen/Num.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

/// How one element, widened, is computed from x.
using Formula = Num (*)(Num x, Operation *op);

template <Formula formula>
static Value element(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  Value x = e.widen(e.element(op->getOperand(0), index));
  return e.narrow(formula(Num(e.b, e.loc, x), op).value, elementTypeOf(op->getResult(0)));
}

/// An op that is one op of the math dialect.
template <typename MathOp> static Num viaMath(Num x, Operation *) { return x.apply<MathOp>(); }

static bool hasUnsignedElements(Operation *op) {
  return isUnsigned(elementTypeOf(op->getOperand(0)));
}

//===-- Numbers -------------------------------------------------------------===//

static Num abs(Num x, Operation *op) {
  if (x.isFloat())
    return x.abs();
  return hasUnsignedElements(op) ? x : (x < 0.0).select(-x, x);
}

static Num neg(Num x, Operation *) { return -x; }
static Num invert(Num x, Operation *) { return ~x; }

static Num sign(Num x, Operation *op) {
  if (hasUnsignedElements(op))
    return (x != 0.0).select(x.constant(1), x);
  return (x > 0.0).select(x.constant(1), (x < 0.0).select(x.constant(-1), x));
}

static Num relu(Num x, Operation *op) { return hasUnsignedElements(op) ? x : atLeast(x, 0); }

static Value shrink(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  auto attributes = cast<ShrinkOp>(op);
  double bias = attributes.getBias().convertToDouble(),
         lambd = attributes.getLambd().convertToDouble();
  Type type = elementTypeOf(op->getOperand(0));
  Type computed = isa<IntegerType>(type) ? Type(e.b.getF64Type()) : type;
  Num x(e.b, e.loc, e.widen(e.convert(e.element(op->getOperand(0), index), type, computed)));
  Num y = (x < -lambd).select(x + bias, (x > lambd).select(x - bias, x.constant(0)));
  return e.convert(e.narrow(y.value, computed), computed, type);
}

//===-- Activations ---------------------------------------------------------===//

/// Numerator and denominator of the sigmoid, both at most 2: no overflow, and
/// digits stay where the result is small.
static std::pair<Num, Num> sigmoidParts(Num x) {
  Num exp = (-x.abs()).apply<math::ExpOp>();
  return {(x < 0.0).select(exp, exp.constant(1)), exp + 1};
}

static Num sigmoid(Num x, Operation *) {
  auto [numerator, denominator] = sigmoidParts(x);
  return numerator / denominator;
}

static Num softplus(Num x, Operation *) {
  return atLeast(x, 0) + (-x.abs()).apply<math::ExpOp>().apply<math::Log1pOp>();
}

/// With e = exp(x), tanh(log(1 + e)) is n / (n + 2) for n = e * (e + 2). Above
/// 40 the quotient is 1 in any format.
static Num mish(Num x, Operation *) {
  Num exp = atMost(x, 40).apply<math::ExpOp>();
  Num n = exp * (exp + 2);
  return x * (n / (n + 2));
}

/// (1 + tanh u) / 2 is the sigmoid of 2u.
static Num gelu(Num x, Operation *op) {
  if (cast<GeluOp>(op).getApproximate() == "none")
    return (x * 0.5) * ((x * M_SQRT1_2).apply<math::ErfOp>() + 1);
  double scale = 2 * std::sqrt(2 / M_PI);
  auto [numerator, denominator] = sigmoidParts(x * (x * x * (scale * 0.044715) + scale));
  return x * numerator / denominator;
}

static Num elu(Num x, Operation *op) {
  auto attributes = cast<EluOp>(op);
  double alpha = attributes.getAlpha().convertToDouble(),
         scale = attributes.getScale().convertToDouble(),
         rate = attributes.getRate().convertToDouble();
  Num inner = rate == 1 ? x : x * rate;
  Num below = inner.apply<math::ExpM1Op>();
  if (scale * alpha != 1)
    below = below * (scale * alpha);
  return (x > 0.0).select(scale == 1 ? x : x * scale, below);
}

static Num hardSigmoid(Num x, Operation *op) {
  auto attributes = cast<HardSigmoidOp>(op);
  Num line = x * attributes.getAlpha().convertToDouble() + attributes.getBeta().convertToDouble();
  return atMost(atLeast(line, 0), 1);
}

static Num thresholdedRelu(Num x, Operation *op) {
  double alpha = cast<ThresholdedReluOp>(op).getAlpha().convertToDouble();
  return (x > alpha).select(x, x.constant(0));
}

//===-- Tests ---------------------------------------------------------------===//

static Num isNan(Num x, Operation *) { return x.isNan(); }

static Num isInf(Num x, Operation *op) {
  auto attributes = cast<IsInfOp>(op);
  bool negative = attributes.getNegative(), positive = attributes.getPositive();
  if (negative && positive)
    return x.abs() == HUGE_VAL;
  if (!negative && !positive)
    return x < x;
  return x == (negative ? -HUGE_VAL : HUGE_VAL);
}

namespace kiln {
void registerElementwiseUnaryKernels(KernelTable &table);
} // namespace kiln

void kiln::registerElementwiseUnaryKernels(KernelTable &table) {
  table.addPointwise<AbsOp>(element<abs>);
  table.addPointwise<AcosOp>(element<viaMath<math::AcosOp>>);
  table.addPointwise<AcoshOp>(element<viaMath<math::AcoshOp>>);
  table.addPointwise<AsinOp>(element<viaMath<math::AsinOp>>);
  table.addPointwise<AsinhOp>(element<viaMath<math::AsinhOp>>);
  table.addPointwise<AtanOp>(element<viaMath<math::AtanOp>>);
  table.addPointwise<AtanhOp>(element<viaMath<math::AtanhOp>>);
  table.addPointwise<CeilOp>(element<viaMath<math::CeilOp>>);
  table.addPointwise<CosOp>(element<viaMath<math::CosOp>>);
  table.addPointwise<CoshOp>(element<viaMath<math::CoshOp>>);
  table.addPointwise<EluOp>(element<elu>);
  table.addPointwise<ErfOp>(element<viaMath<math::ErfOp>>);
  table.addPointwise<ExpOp>(element<viaMath<math::ExpOp>>);
  table.addPointwise<FloorOp>(element<viaMath<math::FloorOp>>);
  table.addPointwise<GeluOp>(element<gelu>);
  table.addPointwise<HardSigmoidOp>(element<hardSigmoid>);
  table.addPointwise<IsInfOp>(element<isInf>);
  table.addPointwise<IsNanOp>(element<isNan>);
  table.addPointwise<LogOp>(element<viaMath<math::LogOp>>);
  table.addPointwise<MishOp>(element<mish>);
  table.addPointwise<NegOp>(element<neg>);
  table.addPointwise<NotOp>(element<invert>);
  table.addPointwise<ReluOp>(element<relu>);
  table.addPointwise<RoundOp>(element<viaMath<math::RoundEvenOp>>);
  table.addPointwise<ShrinkOp>(shrink);
  table.addPointwise<SigmoidOp>(element<sigmoid>);
  table.addPointwise<SignOp>(element<sign>);
  table.addPointwise<SinOp>(element<viaMath<math::SinOp>>);
  table.addPointwise<SinhOp>(element<viaMath<math::SinhOp>>);
  table.addPointwise<SoftplusOp>(element<softplus>);
  table.addPointwise<SqrtOp>(element<viaMath<math::SqrtOp>>);
  table.addPointwise<TanOp>(element<viaMath<math::TanOp>>);
  table.addPointwise<TanhOp>(element<viaMath<math::TanhOp>>);
  table.addPointwise<ThresholdedReluOp>(element<thresholdedRelu>);
}
