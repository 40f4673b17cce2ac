//===- View.kernels.cpp - Ops that only rename elements, kernels ----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/View/View.h"
#include "kiln/Codegen/KernelTable.h"

using namespace mlir;
using namespace kiln;

static Value reshape(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  Value x = op->getOperand(0);
  SmallVector<Value> from, to;
  for (const Expr &dim : shapeOf(op->getResult(0)))
    to.push_back(e.size(dim));
  for (const Expr &dim : shapeOf(x))
    from.push_back(e.size(dim));
  return e.element(x, e.delinearize(e.linearize(index, to), from));
}

static Value resolveShape(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  auto resolve = cast<ResolveShapeOp>(op);
  Type type = e.b.getI64Type();
  if (e.isConsecutive(index[0]))
    return e.giveUp(type);
  Shape from = exprsOf(resolve.getFrom());
  Value asked = resolve.getAsked(), one = e.intConstant(type, 1);
  auto equals = [&](Value x, int64_t y) -> Value {
    return arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::eq, x, e.intConstant(type, y));
  };
  // Few elements: all are resolved, and the wanted one is picked.
  Value known = one, picked = one;
  Value isInferred = equals(e.intConstant(type, 0), 1);
  int64_t rank = cast<RankedTensorType>(asked.getType()).getNumElements();
  for (int64_t i = 0; i < rank; ++i) {
    Value size = e.element(asked, e.index(i));
    if (!resolve.getAllowZero() && i < static_cast<int64_t>(from.size()))
      size = arith::SelectOp::create(e.b, e.loc, equals(size, 0),
                                     e.fromIndex(e.size(from[i]), type), size);
    Value isRest = equals(size, -1);
    Value here = arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::eq, index[0], e.index(i));
    picked = arith::SelectOp::create(e.b, e.loc, here, size, picked);
    isInferred = arith::SelectOp::create(e.b, e.loc, here, isRest, isInferred);
    known = arith::MulIOp::create(e.b, e.loc, known,
                                  arith::SelectOp::create(e.b, e.loc, isRest, one, size));
  }
  Value total = e.fromIndex(e.size(elementCount(from)), type), isZero = equals(known, 0);
  Value rest = arith::DivSIOp::create(e.b, e.loc, total,
                                      arith::SelectOp::create(e.b, e.loc, isZero, one, known));
  rest = arith::SelectOp::create(e.b, e.loc, isZero, known, rest);
  return arith::SelectOp::create(e.b, e.loc, isInferred, rest, picked);
}

namespace kiln {
void registerViewKernels(KernelTable &table);
} // namespace kiln

void kiln::registerViewKernels(KernelTable &table) {
  table.addElement<ReshapeOp>(reshape);
  table.addElement<ResolveShapeOp>(resolveShape);
}
