//===- View.kernels.cpp - Ops that only rename elements, kernels ----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/View/View.h"
#include "kiln/Codegen/KernelTable.h"
#include "kiln/Codegen/Num.h"

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

/// Few elements: all are resolved, and the wanted one is picked.
static Value resolveShape(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  auto resolve = cast<ResolveShapeOp>(op);
  Type i64 = e.b.getI64Type(), f64 = e.b.getF64Type();
  if (e.isConsecutive(index[0]))
    return e.giveUp(i64);
  Shape from = exprsOf(resolve.getFrom());
  Value asked = resolve.getAsked();
  Num place(e.b, e.loc, e.fromIndex(index[0], i64));
  Num zero = place.integer(0), one = place.integer(1), rest = place.integer(-1);
  // The product also as a float, which does not wrap.
  Num known = one, picked = one, unknowns = zero, estimate = place.with(e.constant(f64, 1));
  Num isBad = one == zero;
  for (int64_t i = 0, rank = *shapeOf(asked)[0].constant(); i < rank; ++i) {
    Num size = place.with(e.convert(e.element(asked, e.index(i)), elementTypeOf(asked), i64));
    if (!resolve.getAllowZero()) {
      if (i < static_cast<int64_t>(from.size()))
        size = (size == zero).select(place.with(e.fromIndex(e.size(from[i]), i64)), size);
      else
        isBad = isBad | (size == zero);
    }
    Num isRest = size == rest, factor = isRest.select(one, size);
    isBad = isBad | (size < rest);
    unknowns = unknowns + isRest.select(one, zero);
    picked = (place == place.integer(i)).select(size, picked);
    known = known * factor;
    estimate = estimate * place.with(e.convert(factor.value, i64, f64));
  }
  Num total = place.with(e.fromIndex(e.size(elementCount(from)), i64)), isZero = known == zero;
  Num divisor = isZero.select(one, known);
  Num left = isZero.select(
      zero, place.with(arith::DivSIOp::create(e.b, e.loc, total.value, divisor.value)));
  isBad = isBad | (unknowns > one) | (estimate > 0x1p62);
  if (resolve.getAllowZero())
    isBad = isBad | (isZero & (unknowns == one));
  return isBad.select(rest, (picked == rest).select(left, picked)).value;
}

namespace kiln {
void registerViewKernels(KernelTable &table);
} // namespace kiln

void kiln::registerViewKernels(KernelTable &table) {
  table.addElement<ReshapeOp>(reshape);
  table.addElement<ResolveShapeOp>(resolveShape);
}
