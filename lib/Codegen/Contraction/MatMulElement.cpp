//===- MatMulElement.cpp - One element of a matrix product ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Codegen/Contraction.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace kiln;

Value kiln::matMulElement(ElementBuilder &e, const MatMulSpec &spec, ArrayRef<Value> index) {
  Value y = spec.anchor->getResult(0);
  Type type = elementTypeOf(y), accumulator = accumulatorType(type);
  if (e.lanes > 1)
    return e.giveUp(type);
  Shape shape = shapeOf(y), a = shapeOf(spec.a);
  auto operand = [&](ElementBuilder &e, Value tensor, Value row, Value column, bool transposed) {
    Shape dims = shapeOf(tensor);
    size_t lead = shape.size() - dims.size();
    Index at;
    for (size_t d = 0; d + 2 < dims.size(); ++d) {
      Value here = index[lead + d];
      if (dims[d] != shape[lead + d])
        here = arith::SelectOp::create(
            e.b, e.loc, e.compare(arith::CmpIPredicate::eq, e.size(dims[d]), e.index(1)),
            e.index(0), here);
      at.push_back(here);
    }
    at.push_back(transposed ? column : row);
    at.push_back(transposed ? row : column);
    return e.convert(e.element(tensor, at), type, accumulator);
  };
  Value zero = e.constant(accumulator, 0);
  auto loop = scf::ForOp::create(
      e.b, e.loc, e.index(0), e.size(a[a.size() - (spec.transA ? 2 : 1)]), e.index(1), zero,
      [&](OpBuilder &inner, Location, Value at, ValueRange carried) {
        OpBuilder::InsertionGuard guard(e.b);
        e.b.setInsertionPointToEnd(inner.getInsertionBlock());
        Value left = operand(e, spec.a, index[index.size() - 2], at, spec.transA);
        Value right = operand(e, spec.b, at, index.back(), spec.transB);
        Value sum;
        if (isa<FloatType>(accumulator))
          sum = arith::AddFOp::create(e.b, e.loc, carried[0],
                                      arith::MulFOp::create(e.b, e.loc, left, right));
        else
          sum = arith::AddIOp::create(e.b, e.loc, carried[0],
                                      arith::MulIOp::create(e.b, e.loc, left, right));
        scf::YieldOp::create(e.b, e.loc, sum);
      });
  e.forgetElements();
  return e.convert(loop.getResult(0), accumulator, type);
}
