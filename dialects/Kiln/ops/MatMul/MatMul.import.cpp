//===- MatMul.import.cpp - Matrix product, import -------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/MatMul/MatMul.h"
#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "kiln/Import/Einsum.h"
#include "kiln/Import/Quantized.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

/// A product of matrices whose summed dims must be equal at run time.
static Value product(NodeImporter &n, Value a, Value b, bool transA = false, bool transB = false) {
  if (!a || !b)
    return nullptr;
  Shape left = shapeOf(a), right = shapeOf(b);
  if (left.size() >= 2 && right.size() >= 2) {
    const Expr &k = left[left.size() - (transA ? 2 : 1)];
    const Expr &other = right[right.size() - (transB ? 1 : 2)];
    if (k != other && !(k.constant() && other.constant()))
      n.require(k, other,
                n.opType() + " multiplies matrices whose inner sizes agree (" + k.str() + " and " +
                    other.str() + ")");
  }
  return n.create<MatMulOp>({a, b},
                            {n.boolNamed("trans_a", transA), n.boolNamed("trans_b", transB)});
}

/// NumPy's matmul: a vector is a row on the left and a column on the right.
static Value numpyProduct(NodeImporter &n, Value a, Value b) {
  bool rowVector = rankOf(a) == 1, columnVector = rankOf(b) == 1;
  if (rowVector)
    a = n.reshape(a, {Expr(1), shapeOf(a)[0]});
  if (columnVector)
    b = n.reshape(b, {shapeOf(b)[0], Expr(1)});
  Value y = product(n, a, b);
  if (!y || (!rowVector && !columnVector))
    return y;
  Shape shape = shapeOf(y);
  if (columnVector)
    shape.pop_back();
  if (rowVector)
    shape.erase(shape.end() - (columnVector ? 1 : 2));
  return n.reshape(y, shape);
}

static FailureOr<SmallVector<Value>> importMatMul(NodeImporter &n) {
  if (rankOf(n.input(0)) == 0 || rankOf(n.input(1)) == 0)
    return n.invalid("MatMul takes vectors, matrices or stacks of them, not scalars");
  return SmallVector<Value>{numpyProduct(n, n.input(0), n.input(1))};
}

/// `x` times a factor, which for integers must be one.
static FailureOr<Value> scale(NodeImporter &n, Value x, double factor, StringRef name) {
  if (factor == 1 || !x)
    return x;
  Type type = elementTypeOf(x);
  if (!isa<FloatType>(type) && factor != std::floor(factor))
    return n.refuse("Gemm on integers with " + name + " = " + Twine(std::to_string(factor)),
                    "an integral " + name + " or floating point matrices");
  return n.create<MulOp>({x, n.scalar(type, factor)});
}

static FailureOr<SmallVector<Value>> importGemm(NodeImporter &n) {
  for (unsigned i : {0u, 1u})
    if (rankOf(n.input(i)) != 2)
      return n.invalid("input " + Twine(i) + " of Gemm has " + Twine(rankOf(n.input(i))) +
                       " dims: it multiplies matrices of 2");
  Value y =
      product(n, n.input(0), n.input(1), n.intAttr("transA", 0) != 0, n.intAttr("transB", 0) != 0);
  auto scaled = scale(n, y, n.floatAttr("alpha", 1), "alpha");
  if (failed(scaled))
    return failure();
  double beta = n.floatAttr("beta", 1);
  if (!*scaled || !n.hasInput(2) || beta == 0)
    return SmallVector<Value>{*scaled};
  Value c = n.input(2);
  auto broadcast = broadcastShapes(shapeOf(*scaled), shapeOf(c));
  if (rankOf(c) > 2 || failed(broadcast) || shapeOf(*scaled).size() != broadcast->size())
    return n.invalid("input C of Gemm does not broadcast to the product");
  for (auto [dim, wide] : llvm::zip(shapeOf(*scaled), *broadcast))
    if (dim.constant() && wide.constant() && dim != wide)
      return n.invalid("input C of Gemm is larger than the product");
  auto addend = scale(n, c, beta, "beta");
  if (failed(addend))
    return failure();
  return SmallVector<Value>{n.create<AddOp>({*scaled, *addend})};
}

/// The product of matrices of small integers; parameters are one element, a
/// vector over the rows of a (columns of b), or what broadcasts.
static Value integerProduct(NodeImporter &n, Value a, Value zeroA, Value b, Value zeroB) {
  return numpyProduct(n, centered(n, a, alignQuantization(n, zeroA, 1)),
                      centered(n, b, alignQuantization(n, zeroB, 0)));
}

static FailureOr<SmallVector<Value>> importMatMulInteger(NodeImporter &n) {
  auto optional = [&](unsigned i) { return n.hasInput(i) ? n.input(i) : Value(); };
  if (rankOf(n.input(0)) == 0 || rankOf(n.input(1)) == 0)
    return n.invalid("MatMulInteger takes vectors, matrices or stacks of them, not scalars");
  return SmallVector<Value>{integerProduct(n, n.input(0), optional(2), n.input(1), optional(3))};
}

static FailureOr<SmallVector<Value>> importQLinearMatMul(NodeImporter &n) {
  if (rankOf(n.input(0)) == 0 || rankOf(n.input(3)) == 0)
    return n.invalid("QLinearMatMul takes vectors, matrices or stacks of them, not scalars");
  Value sum = integerProduct(n, n.input(0), n.input(2), n.input(3), n.input(5));
  Type real = n.b.getF32Type();
  Value scale = n.create<MulOp>({n.cast(alignQuantization(n, n.input(1), 1), real),
                                 n.cast(alignQuantization(n, n.input(4), 0), real)});
  Value y = requantized(n, sum, scale, alignQuantization(n, n.input(6), 1),
                        alignQuantization(n, n.input(7), 1));
  return SmallVector<Value>{y};
}

static FailureOr<SmallVector<Value>> importEinsum(NodeImporter &n) {
  auto equation = n.stringAttr("equation");
  if (!equation)
    return n.invalid("Einsum has no equation");
  SmallVector<Value> operands;
  for (unsigned i = 0; i < n.numInputs(); ++i)
    operands.push_back(n.input(i));
  auto y = buildEinsum(n, *equation, operands);
  if (failed(y))
    return failure();
  return SmallVector<Value>{*y};
}

namespace kiln {
void registerMatMulImporters(ImportTable &table);
} // namespace kiln

void kiln::registerMatMulImporters(ImportTable &table) {
  table.add("MatMul", 1, importMatMul);
  table.add("MatMulInteger", 10, importMatMulInteger);
  table.add("QLinearMatMul", 10, importQLinearMatMul);
  table.add("Einsum", 12, importEinsum);
  // Version 7 dropped `broadcast`; 11 made C optional.
  table.add("Gemm", 7, importGemm);
}
