//===- ElementwiseBinary.kernels.cpp - Ops on two elements, kernels -------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "kiln/Codegen/KernelTable.h"
#include "kiln/Codegen/Num.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

/// How one element, widened, is computed from a and b.
using Formula = Num (*)(Num a, Num b, Operation *op);

/// The operands' elements at a result index, as they are, lanes unified.
static std::pair<Num, Num> operandsAt(ElementBuilder &e, Operation *op, ArrayRef<Value> index) {
  Shape shape = shapeOf(op->getResult(0));
  Value pair[] = {e.broadcastElement(op->getOperand(0), index, shape),
                  e.broadcastElement(op->getOperand(1), index, shape)};
  e.unify(pair);
  return {Num(e.b, e.loc, pair[0]), Num(e.b, e.loc, pair[1])};
}

template <Formula formula>
static Value element(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  auto [a, b] = operandsAt(e, op, index);
  Num y = formula(a.with(e.widen(a.value)), b.with(e.widen(b.value)), op);
  return e.narrow(y.value, elementTypeOf(op->getResult(0)));
}

static bool hasUnsignedElements(Operation *op) {
  return isUnsigned(elementTypeOf(op->getOperand(0)));
}

//===-- Arithmetic ----------------------------------------------------------===//

static Num add(Num a, Num b, Operation *) { return a + b; }
static Num sub(Num a, Num b, Operation *) { return a - b; }
static Num mul(Num a, Num b, Operation *) { return a * b; }

/// A divisor that does not trap: 1 in place of 0 and, when signed, of -1,
/// which would overflow with the least integer.
static Num safeDivisor(Num b, bool isSigned) {
  Num unsafe = b == 0.0;
  if (isSigned)
    unsafe = unsafe | (b == -1.0);
  return unsafe.select(b.constant(1), b);
}

static Num div(Num a, Num b, Operation *op) {
  if (a.isFloat())
    return a / b;
  Num zero = a.constant(0);
  if (hasUnsignedElements(op)) {
    Num quotient = a.make<arith::DivUIOp>(a.value, safeDivisor(b, false).value);
    return (b == zero).select(zero, quotient);
  }
  Num quotient = a.make<arith::DivSIOp>(a.value, safeDivisor(b, true).value);
  return (b == zero).select(zero, (b == -1.0).select(-a, quotient));
}

/// The remainder of the quotient rounded toward zero.
static Num truncatingMod(Num a, Num b, bool isSigned) {
  if (a.isFloat())
    return a.make<arith::RemFOp>(a.value, b.value);
  if (isSigned)
    return a.make<arith::RemSIOp>(a.value, safeDivisor(b, true).value);
  return a.make<arith::RemUIOp>(a.value, safeDivisor(b, false).value);
}

static Num mod(Num a, Num b, Operation *op) {
  bool isSigned = !hasUnsignedElements(op);
  Num rest = truncatingMod(a, b, isSigned);
  if (cast<ModOp>(op).getTruncate() || !isSigned)
    return rest;
  if (a.isFloat()) {
    Num zero = rest.constant(0);
    Num mended = ((rest < zero) ^ (b < zero)).select(rest + b, rest);
    return (rest == zero).select(zero.copySign(b), mended);
  }
  Num wrongSign = (rest != 0.0) & ((rest ^ b) < 0.0) & (b != 0.0);
  return wrongSign.select(rest + b, rest);
}

/// One instruction where one side is known not to be NaN.
template <typename FloatOp, typename SignedOp, typename UnsignedOp,
          Num (*withBound)(const Num &, const Num &)>
static Num extremum(Num a, Num b, Operation *op) {
  if (!a.isFloat())
    return hasUnsignedElements(op) ? a.make<UnsignedOp>(a.value, b.value)
                                   : a.make<SignedOp>(a.value, b.value);
  auto isNumber = [&](unsigned i) {
    auto splat = splatOf(op->getOperand(i));
    return splat && !std::isnan(*splat);
  };
  if (isNumber(1))
    return withBound(a, b);
  if (isNumber(0))
    return withBound(b, a);
  return a.make<FloatOp>(a.value, b.value);
}

static Num prelu(Num x, Num slope, Operation *op) {
  return hasUnsignedElements(op) ? x : (x < 0.0).select(slope * x, x);
}

//===-- Powers --------------------------------------------------------------===//

/// Exponents with a shorter way; infinities and zeros as C's pow has them.
static std::optional<Num> constantPow(Num a, double exponent) {
  if (exponent == 0)
    return a.constant(1);
  if (exponent == 1)
    return a;
  if (exponent == 2)
    return a * a;
  if (exponent == 3)
    return a * a * a;
  if (!a.isFloat())
    return std::nullopt;
  if (exponent == -1)
    return 1 / a;
  if (std::fabs(exponent) != 0.5)
    return std::nullopt;
  // pow(-0, 0.5) is 0 and pow(-inf, 0.5) is inf: the sum makes -0 positive.
  Num root = (a == -HUGE_VAL).select(-a, a.apply<math::SqrtOp>()) + 0;
  return exponent > 0 ? root : 1 / root;
}

/// Repeated squaring with one step a bit of the exponent, so that lanes do
/// not part.
static Num intPow(Num base, Num exponent, bool isSignedExponent) {
  OpBuilder &b = base.builder();
  Location loc = base.location();
  unsigned width = exponent.element().getIntOrFloatBitWidth();
  Num negative = isSignedExponent ? exponent < 0.0 : exponent.below(exponent);
  auto index = [&](int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); };
  auto loop = scf::ForOp::create(b, loc, index(0), index(width), index(1),
                                 ValueRange{base.constant(1).value, base.value, exponent.value},
                                 [&](OpBuilder &inner, Location, Value, ValueRange carried) {
                                   Num result(inner, loc, carried[0]),
                                       factor(inner, loc, carried[1]), rest(inner, loc, carried[2]);
                                   Num odd = (rest & rest.integer(1)) != rest.integer(0);
                                   scf::YieldOp::create(
                                       inner, loc,
                                       ValueRange{odd.select(result * factor, result).value,
                                                  (factor * factor).value, rest.srl(1).value});
                                 });
  Num power = base.with(loop.getResult(0));
  Num odd = (exponent & exponent.integer(1)) != exponent.integer(0);
  Num zero = base.constant(0), one = base.constant(1);
  Num inverse = (base == one).select(one, (base == -1.0).select(odd.select(base, one), zero));
  return negative.select(inverse, power);
}

static Value pow(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  Type baseType = elementTypeOf(op->getOperand(0)), exponentType = elementTypeOf(op->getOperand(1));
  auto [a, b] = operandsAt(e, op, index);
  if (auto exponent = splatOf(op->getOperand(1)))
    if (auto power = constantPow(a.with(e.widen(a.value)), *exponent))
      return e.narrow(power->value, baseType);
  if (!isa<FloatType>(baseType) && !isa<FloatType>(exponentType))
    return intPow(a, b, !isUnsigned(exponentType)).value;
  // A format that holds both: f32 does for floats but f64 and for short
  // integers, and for whatever a constant holds exactly.
  auto isNarrow = [](Type type) {
    unsigned width = type.getIntOrFloatBitWidth();
    return isa<FloatType>(type) ? width <= 32 : width <= 16;
  };
  auto splat = splatOf(op->getOperand(1));
  bool isExact = splat && static_cast<double>(static_cast<float>(*splat)) == *splat;
  Type computed = isNarrow(baseType) && (isNarrow(exponentType) || isExact) ? Type(e.b.getF32Type())
                                                                            : e.b.getF64Type();
  Value x = e.convert(a.value, baseType, computed), y = e.convert(b.value, exponentType, computed);
  return e.convert(math::PowFOp::create(e.b, e.loc, x, y), computed, baseType);
}

//===-- Comparisons and bits ------------------------------------------------===//

static Num equal(Num a, Num b, Operation *) { return a == b; }

static Num less(Num a, Num b, Operation *op) {
  return a.isFloat() || !hasUnsignedElements(op) ? a < b : a.below(b);
}

static Num lessEqual(Num a, Num b, Operation *op) {
  return a.isFloat() || !hasUnsignedElements(op) ? a <= b : ~b.below(a);
}

static Num bitAnd(Num a, Num b, Operation *) { return a & b; }
static Num bitOr(Num a, Num b, Operation *) { return a | b; }
static Num bitXor(Num a, Num b, Operation *) { return a ^ b; }

static Num shift(Num a, Num b, Operation *op) {
  int64_t width = a.element().getIntOrFloatBitWidth();
  Num inside = b.below(b.integer(width));
  // A shift by the width or more is poison.
  Num bits = inside.select(b, b.integer(0));
  if (cast<ShiftOp>(op).getLeft())
    return inside.select(a.make<arith::ShLIOp>(a.value, bits.value), a.integer(0));
  if (hasUnsignedElements(op))
    return inside.select(a.make<arith::ShRUIOp>(a.value, bits.value), a.integer(0));
  Num most = inside.select(b, b.integer(width - 1));
  return a.make<arith::ShRSIOp>(a.value, most.value);
}

namespace kiln {
void registerElementwiseBinaryKernels(KernelTable &table);
} // namespace kiln

void kiln::registerElementwiseBinaryKernels(KernelTable &table) {
  table.addPointwise<AddOp>(element<add>);
  table.addPointwise<AndOp>(element<bitAnd>);
  table.addPointwise<DivOp>(element<div>);
  table.addPointwise<EqualOp>(element<equal>);
  table.addPointwise<LessEqualOp>(element<lessEqual>);
  table.addPointwise<LessOp>(element<less>);
  table.addPointwise<MaxOp>(
      element<extremum<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp, atLeast>>);
  table.addPointwise<MinOp>(
      element<extremum<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp, atMost>>);
  table.addPointwise<ModOp>(element<mod>);
  table.addPointwise<MulOp>(element<mul>);
  table.addPointwise<OrOp>(element<bitOr>);
  table.addPointwise<PowOp>(pow);
  table.addPointwise<PreluOp>(element<prelu>);
  table.addPointwise<ShiftOp>(element<shift>);
  table.addPointwise<SubOp>(element<sub>);
  table.addPointwise<XorOp>(element<bitXor>);
}
