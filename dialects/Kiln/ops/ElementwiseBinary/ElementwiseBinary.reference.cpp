//===- ElementwiseBinary.reference.cpp - Ops on two elements, reference ---===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "kiln/Reference/ReferenceTable.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

/// Calls `visit(i, ia, ib)` with the positions of the operands' elements that
/// make element i of the result.
template <typename Visit>
static LogicalResult zip(ArrayRef<TensorData> operands, TensorData &y, Visit visit) {
  for (int64_t i = 0; i < y.size(); ++i)
    visit(i, broadcastIndex(operands[0].shape(), y.shape(), i),
          broadcastIndex(operands[1].shape(), y.shape(), i));
  return success();
}

/// Elements as two's complement, and whether they are signed.
struct Ints {
  int64_t a, b;
  bool isSigned;
  unsigned width;
  uint64_t ua() const { return static_cast<uint64_t>(a); }
  uint64_t ub() const { return static_cast<uint64_t>(b); }
};

using FloatFn = double (*)(double, double);
using IntFn = int64_t (*)(Ints);

/// Floats in double, else integers as int64; results wrap into their width.
static LogicalResult compute(ArrayRef<TensorData> operands, TensorData &y, FloatFn onFloats,
                             IntFn onInts) {
  const TensorData &a = operands[0], &b = operands[1];
  Type type = a.elementType();
  bool isFloat = isa<FloatType>(type), isSigned = !type.isUnsignedInteger();
  return zip(operands, y, [&](int64_t i, int64_t ia, int64_t ib) {
    if (isFloat)
      y.setFloat(i, onFloats(a.getFloat(ia), b.getFloat(ib)));
    else
      y.setInt(i, onInts({a.getInt(ia), b.getInt(ib), isSigned, type.getIntOrFloatBitWidth()}));
  });
}

/// How far an operand's elements lie apart along the last `axes` axes of the
/// result: 1 when they are all there, 0 when there is one for all of them.
static std::optional<int64_t> strideAlong(ArrayRef<int64_t> operand, ArrayRef<int64_t> result,
                                          size_t axes) {
  ArrayRef<int64_t> own = operand.take_back(axes), full = result.take_back(axes);
  if (own == full)
    return 1;
  return llvm::all_of(own, [](int64_t dim) { return dim == 1; }) ? std::optional<int64_t>(0)
                                                                 : std::nullopt;
}

/// The same as compute() for f32, in rows: weights of millions of elements are
/// folded, where an index for each would take seconds.
template <FloatFn fn> static void computeRows(ArrayRef<TensorData> operands, TensorData &y) {
  const TensorData &a = operands[0], &b = operands[1];
  size_t axes = y.shape().size();
  while (!strideAlong(a.shape(), y.shape(), axes) || !strideAlong(b.shape(), y.shape(), axes))
    --axes;
  int64_t row = 1, strideA = *strideAlong(a.shape(), y.shape(), axes),
          strideB = *strideAlong(b.shape(), y.shape(), axes);
  for (int64_t dim : y.shape().take_back(axes))
    row *= dim;
  auto at = [](const char *bytes, int64_t i) {
    float value; // maybe unaligned
    std::memcpy(&value, bytes + i * static_cast<int64_t>(sizeof(float)), sizeof(float));
    return static_cast<double>(value);
  };
  for (int64_t start = 0; start < y.size(); start += row) {
    int64_t ia = broadcastIndex(a.shape(), y.shape(), start);
    int64_t ib = broadcastIndex(b.shape(), y.shape(), start);
    for (int64_t i = 0; i < row; ++i) {
      auto value =
          static_cast<float>(fn(at(a.bytes(), ia + i * strideA), at(b.bytes(), ib + i * strideB)));
      std::memcpy(y.mutableBytes() + (start + i) * static_cast<int64_t>(sizeof(float)), &value,
                  sizeof(float));
    }
  }
}

template <FloatFn onFloats, IntFn onInts>
static LogicalResult binary(Operation *, ArrayRef<TensorData> operands,
                            MutableArrayRef<TensorData> results) {
  if (operands[0].elementType().isF32() && results[0].elementType().isF32()) {
    computeRows<onFloats>(operands, results[0]);
    return success();
  }
  return compute(operands, results[0], onFloats, onInts);
}

/// Bool and integers only.
template <IntFn onInts>
static LogicalResult bitwise(Operation *, ArrayRef<TensorData> operands,
                             MutableArrayRef<TensorData> results) {
  return compute(operands, results[0], nullptr, onInts);
}

//===-- Arithmetic ----------------------------------------------------------===//

static double addFloat(double a, double b) { return a + b; }
static double subFloat(double a, double b) { return a - b; }
static double mulFloat(double a, double b) { return a * b; }
static double divFloat(double a, double b) { return a / b; }
static double minFloat(double a, double b) { return std::isnan(a) || a < b ? a : b; }
static double maxFloat(double a, double b) { return std::isnan(a) || a > b ? a : b; }

static int64_t addInt(Ints x) { return static_cast<int64_t>(x.ua() + x.ub()); }
static int64_t subInt(Ints x) { return static_cast<int64_t>(x.ua() - x.ub()); }
static int64_t mulInt(Ints x) { return static_cast<int64_t>(x.ua() * x.ub()); }
static bool lessInt(Ints x) { return x.isSigned ? x.a < x.b : x.ua() < x.ub(); }
static int64_t minInt(Ints x) { return lessInt(x) ? x.a : x.b; }
static int64_t maxInt(Ints x) { return lessInt(x) ? x.b : x.a; }

static int64_t divInt(Ints x) {
  if (x.b == 0)
    return 0;
  if (!x.isSigned)
    return static_cast<int64_t>(x.ua() / x.ub());
  return x.b == -1 ? static_cast<int64_t>(0 - x.ua()) : x.a / x.b;
}

static int64_t truncatingModInt(Ints x) {
  if (x.b == 0)
    return 0;
  if (!x.isSigned)
    return static_cast<int64_t>(x.ua() % x.ub());
  return x.b == -1 ? 0 : x.a % x.b;
}

static int64_t floorModInt(Ints x) {
  int64_t rest = truncatingModInt(x);
  return x.isSigned && rest != 0 && (rest < 0) != (x.b < 0) ? rest + x.b : rest;
}

static double floorModFloat(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest == 0)
    return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

static LogicalResult mod(Operation *op, ArrayRef<TensorData> operands,
                         MutableArrayRef<TensorData> results) {
  return cast<ModOp>(op).getTruncate() ? compute(operands, results[0], std::fmod, truncatingModInt)
                                       : compute(operands, results[0], floorModFloat, floorModInt);
}

/// Wraps; a negative exponent gives the truncated inverse, 0 for a base of 0.
static int64_t powInt(int64_t base, int64_t exponent, bool isSignedExponent) {
  if (isSignedExponent && exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (auto rest = static_cast<uint64_t>(exponent); rest; rest >>= 1, factor *= factor)
    if (rest & 1)
      result *= factor;
  return static_cast<int64_t>(result);
}

static LogicalResult pow(Operation *, ArrayRef<TensorData> operands,
                         MutableArrayRef<TensorData> results) {
  const TensorData &a = operands[0], &b = operands[1];
  TensorData &y = results[0];
  bool isSignedExponent = !b.elementType().isUnsignedInteger();
  return zip(operands, y, [&](int64_t i, int64_t ia, int64_t ib) {
    if (isa<FloatType>(a.elementType()))
      y.setFloat(i, std::pow(a.getFloat(ia), b.getFloat(ib)));
    else if (isa<FloatType>(b.elementType()))
      y.setSaturated(i, std::pow(a.getFloat(ia), b.getFloat(ib)));
    else
      y.setInt(i, powInt(a.getInt(ia), b.getInt(ib), isSignedExponent));
  });
}

static double preluFloat(double x, double slope) { return x < 0 ? slope * x : x; }
static int64_t preluInt(Ints x) { return x.isSigned && x.a < 0 ? mulInt(x) : x.a; }

//===-- Comparisons and bits ------------------------------------------------===//

static double equalFloat(double a, double b) { return a == b; }
static double lessFloat(double a, double b) { return a < b; }
static double lessEqualFloat(double a, double b) { return a <= b; }
static int64_t equalInt(Ints x) { return x.a == x.b; }
static int64_t lessIntResult(Ints x) { return lessInt(x); }
static int64_t lessEqualInt(Ints x) { return lessInt(x) || x.a == x.b; }

static int64_t andInt(Ints x) { return x.a & x.b; }
static int64_t orInt(Ints x) { return x.a | x.b; }
static int64_t xorInt(Ints x) { return x.a ^ x.b; }

static int64_t shiftLeft(Ints x) {
  return x.ub() < x.width ? static_cast<int64_t>(x.ua() << x.b) : 0;
}
static int64_t shiftRight(Ints x) {
  if (x.ub() >= x.width)
    return x.isSigned && x.a < 0 ? -1 : 0;
  return x.isSigned ? x.a >> x.b : static_cast<int64_t>(x.ua() >> x.b);
}

static LogicalResult shift(Operation *op, ArrayRef<TensorData> operands,
                           MutableArrayRef<TensorData> results) {
  return compute(operands, results[0], nullptr,
                 cast<ShiftOp>(op).getLeft() ? shiftLeft : shiftRight);
}

namespace kiln {
void registerElementwiseBinaryReferences(ReferenceTable &table);
} // namespace kiln

void kiln::registerElementwiseBinaryReferences(ReferenceTable &table) {
  table.add<AddOp>(binary<addFloat, addInt>);
  table.add<AndOp>(bitwise<andInt>);
  table.add<DivOp>(binary<divFloat, divInt>);
  table.add<EqualOp>(binary<equalFloat, equalInt>);
  table.add<LessEqualOp>(binary<lessEqualFloat, lessEqualInt>);
  table.add<LessOp>(binary<lessFloat, lessIntResult>);
  table.add<MaxOp>(binary<maxFloat, maxInt>);
  table.add<MinOp>(binary<minFloat, minInt>);
  table.add<ModOp>(mod);
  table.add<MulOp>(binary<mulFloat, mulInt>);
  table.add<OrOp>(bitwise<orInt>);
  table.add<PowOp>(pow);
  table.add<PreluOp>(binary<preluFloat, preluInt>);
  table.add<ShiftOp>(shift);
  table.add<SubOp>(binary<subFloat, subInt>);
  table.add<XorOp>(bitwise<xorInt>);
}
