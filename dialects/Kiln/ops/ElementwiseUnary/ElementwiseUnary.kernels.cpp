//===- ElementwiseUnary.kernels.cpp - Ops on one element, kernels ---------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ElementwiseUnary/ElementwiseUnary.h"
#include "kiln/Codegen/KernelTable.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace kiln;

static Value relu(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  Type type = elementTypeOf(op->getOperand(0));
  Value x = e.element(op->getOperand(0), index), zero = e.constant(type, 0);
  Value pair[] = {x, zero};
  e.unify(pair);
  if (isa<FloatType>(type))
    return arith::MaximumFOp::create(e.b, e.loc, pair[0], pair[1]);
  if (isUnsigned(type))
    return x;
  return arith::MaxSIOp::create(e.b, e.loc, pair[0], pair[1]);
}

static Value sigmoid(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  Type type = elementTypeOf(op->getOperand(0));
  Value x = e.widen(e.element(op->getOperand(0), index));
  Value exp = math::ExpOp::create(e.b, e.loc, arith::NegFOp::create(e.b, e.loc, x));
  Value one = e.constant(getElementTypeOrSelf(x), 1);
  Value pair[] = {exp, one};
  e.unify(pair);
  Value denominator = arith::AddFOp::create(e.b, e.loc, pair[0], pair[1]);
  return e.narrow(arith::DivFOp::create(e.b, e.loc, pair[1], denominator), type);
}

namespace kiln {
void registerElementwiseUnaryKernels(KernelTable &table);
} // namespace kiln

void kiln::registerElementwiseUnaryKernels(KernelTable &table) {
  table.addPointwise<ReluOp>(relu);
  table.addPointwise<SigmoidOp>(sigmoid);
}
