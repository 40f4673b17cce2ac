//===- ElementwiseUnary.import.cpp - Ops on one element, import -----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ElementwiseUnary/ElementwiseUnary.h"
#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "kiln/Import/ImportTable.h"

using namespace mlir;
using namespace kiln;

using Results = FailureOr<SmallVector<Value>>;

static Results one(Value value) {
  if (!value)
    return failure();
  return SmallVector<Value>{value};
}

/// An operator that is one kiln op, whatever its version.
template <typename OpTy> static Results importUnary(NodeImporter &n) {
  return one(n.create<OpTy>({n.input(0)}));
}

/// One kiln op with float attributes of the same names.
template <typename OpTy>
static Results importWithFloats(NodeImporter &n,
                                ArrayRef<std::pair<StringRef, double>> namesAndDefaults) {
  SmallVector<NamedAttribute> attributes;
  for (auto [name, otherwise] : namesAndDefaults)
    attributes.push_back(n.floatNamed(name, n.floatAttr(name, otherwise)));
  return one(n.create<OpTy>({n.input(0)}, attributes));
}

static Results importNeg(NodeImporter &n) {
  if (elementTypeOf(n.input(0)).isUnsignedInteger())
    return n.invalid("Neg takes signed numbers, not an unsigned tensor");
  return importUnary<NegOp>(n);
}

static Results importReciprocal(NodeImporter &n) {
  Value x = n.input(0);
  return one(n.create<DivOp>({n.scalar(elementTypeOf(x), 1), x}));
}

static Results importSoftsign(NodeImporter &n) {
  Value x = n.input(0);
  Value magnitude = n.create<AbsOp>({x});
  return one(n.create<DivOp>({x, n.create<AddOp>({magnitude, n.scalar(elementTypeOf(x), 1)})}));
}

static Results importHardSwish(NodeImporter &n) {
  Value x = n.input(0);
  Value gate =
      n.create<HardSigmoidOp>({x}, {n.floatNamed("alpha", 1.0 / 6), n.floatNamed("beta", 0.5)});
  return one(n.create<MulOp>({x, gate}));
}

static Results importSwish(NodeImporter &n) {
  Value x = n.input(0), inner = x;
  double alpha = n.floatAttr("alpha", 1);
  if (alpha != 1)
    inner = n.create<MulOp>({x, n.scalar(elementTypeOf(x), alpha)});
  return one(n.create<MulOp>({x, n.create<SigmoidOp>({inner})}));
}

static Results importLeakyRelu(NodeImporter &n) {
  Value x = n.input(0);
  double alpha = n.floatAttr("alpha", static_cast<double>(0.01F));
  return one(n.create<PreluOp>({x, n.scalar(elementTypeOf(x), alpha)}));
}

static Results importElu(NodeImporter &n) { return importWithFloats<EluOp>(n, {{"alpha", 1}}); }

static Results importSelu(NodeImporter &n) {
  double alpha = n.floatAttr("alpha", static_cast<double>(1.67326319217681884765625F));
  double gamma = n.floatAttr("gamma", static_cast<double>(1.05070102214813232421875F));
  return one(
      n.create<EluOp>({n.input(0)}, {n.floatNamed("alpha", alpha), n.floatNamed("scale", gamma)}));
}

static Results importCelu(NodeImporter &n) {
  double alpha = n.floatAttr("alpha", 1);
  if (alpha == 0)
    return n.invalid("Celu divides by its attribute 'alpha', which is 0");
  return one(n.create<EluOp>({n.input(0)},
                             {n.floatNamed("alpha", alpha), n.floatNamed("rate", 1 / alpha)}));
}

static Results importHardSigmoid(NodeImporter &n) {
  return importWithFloats<HardSigmoidOp>(n, {{"alpha", static_cast<double>(0.2F)}, {"beta", 0.5}});
}

static Results importThresholdedRelu(NodeImporter &n) {
  return importWithFloats<ThresholdedReluOp>(n, {{"alpha", 1}});
}

static Results importShrink(NodeImporter &n) {
  return importWithFloats<ShrinkOp>(n, {{"bias", 0}, {"lambd", 0.5}});
}

static Results importGelu(NodeImporter &n) {
  StringRef approximate = n.stringAttr("approximate").value_or("none");
  if (approximate != "none" && approximate != "tanh")
    return n.invalid("Gelu's attribute 'approximate' is '" + approximate +
                     "', must be 'none' or 'tanh'");
  return one(n.create<GeluOp>({n.input(0)}, {n.stringNamed("approximate", approximate)}));
}

/// Versions 9 to 12 also take integers; the result is truncated.
static Results importErf(NodeImporter &n) {
  Type type = elementTypeOf(n.input(0));
  Type computed = isa<FloatType>(type) ? type : n.b.getF32Type();
  return one(n.cast(n.create<ErfOp>({n.cast(n.input(0), computed)}), type));
}

static Results importIsInf(NodeImporter &n) {
  return one(n.create<IsInfOp>({n.input(0)},
                               {n.boolNamed("negative", n.intAttr("detect_negative", 1) != 0),
                                n.boolNamed("positive", n.intAttr("detect_positive", 1) != 0)}));
}

namespace kiln {
void registerElementwiseUnaryImporters(ImportTable &table);
} // namespace kiln

void kiln::registerElementwiseUnaryImporters(ImportTable &table) {
  table.add("Abs", 6, importUnary<AbsOp>);
  table.add("Acos", 7, importUnary<AcosOp>);
  table.add("Acosh", 9, importUnary<AcoshOp>);
  table.add("Asin", 7, importUnary<AsinOp>);
  table.add("Asinh", 9, importUnary<AsinhOp>);
  table.add("Atan", 7, importUnary<AtanOp>);
  table.add("Atanh", 9, importUnary<AtanhOp>);
  table.add("BitwiseNot", 18, importUnary<NotOp>);
  table.add("Ceil", 6, importUnary<CeilOp>);
  table.add("Celu", 12, importCelu);
  table.add("Cos", 7, importUnary<CosOp>);
  table.add("Cosh", 9, importUnary<CoshOp>);
  table.add("Elu", 6, importElu);
  table.add("Erf", 9, importErf);
  table.add("Exp", 6, importUnary<ExpOp>);
  table.add("Floor", 6, importUnary<FloorOp>);
  table.add("Gelu", 20, importGelu);
  table.add("HardSigmoid", 6, importHardSigmoid);
  table.add("HardSwish", 14, importHardSwish);
  table.add("IsInf", 10, importIsInf);
  table.add("IsNaN", 9, importUnary<IsNanOp>);
  table.add("LeakyRelu", 6, importLeakyRelu);
  table.add("Log", 6, importUnary<LogOp>);
  table.add("Mish", 18, importUnary<MishOp>);
  table.add("Neg", 6, importNeg);
  table.add("Not", 1, importUnary<NotOp>);
  table.add("Reciprocal", 6, importReciprocal);
  table.add("Relu", 6, importUnary<ReluOp>);
  table.add("Round", 11, importUnary<RoundOp>);
  table.add("Selu", 6, importSelu);
  table.add("Shrink", 9, importShrink);
  table.add("Sigmoid", 6, importUnary<SigmoidOp>);
  table.add("Sign", 9, importUnary<SignOp>);
  table.add("Sin", 7, importUnary<SinOp>);
  table.add("Sinh", 9, importUnary<SinhOp>);
  table.add("Softplus", 1, importUnary<SoftplusOp>);
  table.add("Softsign", 1, importSoftsign);
  table.add("Sqrt", 6, importUnary<SqrtOp>);
  table.add("Swish", 24, importSwish);
  table.add("Tan", 7, importUnary<TanOp>);
  table.add("Tanh", 6, importUnary<TanhOp>);
  table.add("ThresholdedRelu", 10, importThresholdedRelu);
}
