//===- ElementwiseUnary.reference.cpp - Ops on one element, reference -----===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ElementwiseUnary/ElementwiseUnary.h"
#include "kiln/Reference/ReferenceTable.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

/// Applies `fn` in double; the result rounds to the element type.
template <typename Fn>
static LogicalResult mapFloat(ArrayRef<TensorData> operands, MutableArrayRef<TensorData> results,
                              Fn fn) {
  for (int64_t i = 0; i < results[0].size(); ++i)
    results[0].setFloat(i, fn(operands[0].getFloat(i)));
  return success();
}

/// Applies `fn` to integers as int64; the result wraps.
template <typename Fn>
static LogicalResult mapInt(ArrayRef<TensorData> operands, MutableArrayRef<TensorData> results,
                            Fn fn) {
  for (int64_t i = 0; i < results[0].size(); ++i)
    results[0].setInt(i, fn(operands[0].getInt(i)));
  return success();
}

using Fn = double (*)(double);

/// An op that is one function of double.
template <Fn fn>
static LogicalResult function(Operation *, ArrayRef<TensorData> operands,
                              MutableArrayRef<TensorData> results) {
  return mapFloat(operands, results, fn);
}

/// An op with a function for floats and one for integers, which is told
/// whether they are signed.
template <Fn onFloats, int64_t (*onInts)(int64_t, bool isSigned)>
static LogicalResult numbers(Operation *, ArrayRef<TensorData> operands,
                             MutableArrayRef<TensorData> results) {
  Type type = operands[0].elementType();
  if (isa<FloatType>(type))
    return mapFloat(operands, results, onFloats);
  bool isSigned = !type.isUnsignedInteger();
  return mapInt(operands, results, [=](int64_t x) { return onInts(x, isSigned); });
}

//===-- Numbers -------------------------------------------------------------===//

static int64_t wrappingNeg(int64_t x, bool) {
  return static_cast<int64_t>(0 - static_cast<uint64_t>(x));
}
static int64_t intAbs(int64_t x, bool isSigned) {
  return isSigned && x < 0 ? wrappingNeg(x, true) : x;
}
static int64_t intRelu(int64_t x, bool isSigned) { return isSigned && x < 0 ? 0 : x; }
static int64_t intSign(int64_t x, bool isSigned) { return isSigned && x < 0 ? -1 : x != 0; }

static double neg(double x) { return -x; }
static double relu(double x) { return x < 0 ? 0.0 : x; }
static double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

static LogicalResult invert(Operation *, ArrayRef<TensorData> operands,
                            MutableArrayRef<TensorData> results) {
  bool isBool = operands[0].elementType().isInteger(1);
  return mapInt(operands, results, [=](int64_t x) { return isBool ? !x : ~x; });
}

static LogicalResult shrink(Operation *op, ArrayRef<TensorData> operands,
                            MutableArrayRef<TensorData> results) {
  auto attributes = cast<ShrinkOp>(op);
  double bias = attributes.getBias().convertToDouble(),
         lambd = attributes.getLambd().convertToDouble();
  for (int64_t i = 0; i < results[0].size(); ++i) {
    double x = operands[0].getFloat(i);
    results[0].setSaturated(i, x < -lambd ? x + bias : x > lambd ? x - bias : 0);
  }
  return success();
}

//===-- Activations ---------------------------------------------------------===//

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
static double softplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }
static double softplusOrNan(double x) { return std::isnan(x) ? x : softplus(x); }
static double mish(double x) { return x * std::tanh(softplusOrNan(x)); }
static double geluErf(double x) { return x / 2 * (1 + std::erf(x * M_SQRT1_2)); }
static double geluTanh(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static LogicalResult gelu(Operation *op, ArrayRef<TensorData> operands,
                          MutableArrayRef<TensorData> results) {
  return mapFloat(operands, results,
                  cast<GeluOp>(op).getApproximate() == "tanh" ? geluTanh : geluErf);
}

static LogicalResult elu(Operation *op, ArrayRef<TensorData> operands,
                         MutableArrayRef<TensorData> results) {
  auto attributes = cast<EluOp>(op);
  double alpha = attributes.getAlpha().convertToDouble(),
         scale = attributes.getScale().convertToDouble(),
         rate = attributes.getRate().convertToDouble();
  return mapFloat(operands, results, [=](double x) {
    return x > 0 ? scale * x : scale * alpha * std::expm1(rate * x);
  });
}

static LogicalResult hardSigmoid(Operation *op, ArrayRef<TensorData> operands,
                                 MutableArrayRef<TensorData> results) {
  auto attributes = cast<HardSigmoidOp>(op);
  double alpha = attributes.getAlpha().convertToDouble(),
         beta = attributes.getBeta().convertToDouble();
  return mapFloat(operands, results, [=](double x) {
    double line = alpha * x + beta;
    return line < 0 ? 0 : line > 1 ? 1 : line;
  });
}

static LogicalResult thresholdedRelu(Operation *op, ArrayRef<TensorData> operands,
                                     MutableArrayRef<TensorData> results) {
  double alpha = cast<ThresholdedReluOp>(op).getAlpha().convertToDouble();
  return mapFloat(operands, results, [=](double x) { return x > alpha ? x : 0; });
}

//===-- Tests ---------------------------------------------------------------===//

static LogicalResult isNan(Operation *, ArrayRef<TensorData> operands,
                           MutableArrayRef<TensorData> results) {
  return mapFloat(operands, results, [](double x) { return double(std::isnan(x)); });
}

static LogicalResult isInf(Operation *op, ArrayRef<TensorData> operands,
                           MutableArrayRef<TensorData> results) {
  bool negative = cast<IsInfOp>(op).getNegative(), positive = cast<IsInfOp>(op).getPositive();
  return mapFloat(operands, results,
                  [=](double x) { return double(std::isinf(x) && (x < 0 ? negative : positive)); });
}

namespace kiln {
void registerElementwiseUnaryReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerElementwiseUnaryReferences(ReferenceTable &table) {
  table.add<AbsOp>(numbers<std::fabs, intAbs>);
  table.add<AcosOp>(function<std::acos>);
  table.add<AcoshOp>(function<std::acosh>);
  table.add<AsinOp>(function<std::asin>);
  table.add<AsinhOp>(function<std::asinh>);
  table.add<AtanOp>(function<std::atan>);
  table.add<AtanhOp>(function<std::atanh>);
  table.add<CeilOp>(function<std::ceil>);
  table.add<CosOp>(function<std::cos>);
  table.add<CoshOp>(function<std::cosh>);
  table.add<EluOp>(elu);
  table.add<ErfOp>(function<std::erf>);
  table.add<ExpOp>(function<std::exp>);
  table.add<FloorOp>(function<std::floor>);
  table.add<GeluOp>(gelu);
  table.add<HardSigmoidOp>(hardSigmoid);
  table.add<IsInfOp>(isInf);
  table.add<IsNanOp>(isNan);
  table.add<LogOp>(function<std::log>);
  table.add<MishOp>(function<mish>);
  table.add<NegOp>(numbers<neg, wrappingNeg>);
  table.add<NotOp>(invert);
  table.add<ReluOp>(numbers<relu, intRelu>);
  // The rounding mode is the default one: halves go to even.
  table.add<RoundOp>(function<std::nearbyint>);
  table.add<ShrinkOp>(shrink);
  table.add<SigmoidOp>(function<sigmoid>);
  table.add<SignOp>(numbers<sign, intSign>);
  table.add<SinOp>(function<std::sin>);
  table.add<SinhOp>(function<std::sinh>);
  table.add<SoftplusOp>(function<softplusOrNan>);
  table.add<SqrtOp>(function<std::sqrt>);
  table.add<TanOp>(function<std::tan>);
  table.add<TanhOp>(function<std::tanh>);
  table.add<ThresholdedReluOp>(thresholdedRelu);
}
