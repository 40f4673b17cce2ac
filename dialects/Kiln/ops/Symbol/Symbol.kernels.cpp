//===- Symbol.kernels.cpp - Ops that make and use symbols, kernels --------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Symbol/Symbol.h"
#include "kiln/Codegen/KernelTable.h"
#include "kiln/Codegen/Rows.h"

using namespace mlir;
using namespace kiln;

/// Shape elements are sizes: a chain of selects over a few constants.
static Value pick(ElementBuilder &e, ArrayRef<Expr> values, Type type, Value index) {
  // No element is ever asked for.
  if (values.empty())
    return e.intConstant(type, 0);
  Value result = e.fromIndex(e.size(values.front()), type);
  for (size_t i = 1; i < values.size(); ++i) {
    Value here = e.compare(arith::CmpIPredicate::eq, index, e.index(static_cast<int64_t>(i)));
    result = e.select(here, e.fromIndex(e.size(values[i]), type), result);
  }
  return result;
}

static Value shape(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  auto shape = ::cast<ShapeOp>(op);
  Shape dims = shapeOf(shape.getX());
  ArrayRef<Expr> range = ArrayRef(dims).slice(shape.getStart(), shape.getEnd() - shape.getStart());
  return pick(e, range, e.b.getI64Type(), index[0]);
}

static Value exprs(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  return pick(e, exprsOf(::cast<ExprsOp>(op).getValues()), e.b.getI64Type(), index[0]);
}

static LogicalResult farthest(KernelBuilder &k, Operation *anchor) {
  auto op = ::cast<FarthestOp>(anchor);
  Type type = elementTypeOf(op.getX()), i64 = k.b.getI64Type();
  Rows rows(k, anchor, SmallVector<bool>(static_cast<size_t>(rankOf(op.getX())), true),
            Rows::Result::Reduced);
  Value low = arith::IndexCastOp::create(k.b, k.loc, i64, k.size(exprsOf(op.getLow())[0]));
  Value zero = arith::ConstantOp::create(k.b, k.loc, k.b.getI64IntegerAttr(0));
  auto larger = [&](Value a, Value b) -> Value { return arith::MaxUIOp::create(k.b, k.loc, a, b); };
  rows.forEach(/*picosecondsPerElement=*/200, /*unroll=*/1, [&](Row &row) {
    Value distance = row.reduce(
        zero,
        [&](ElementBuilder &e, const Row::At &at, ValueRange carried) {
          Value all[] = {carried[0], e.convert(row.operand(e, at), type, i64), low};
          e.unify(all);
          return Values{larger(all[0], arith::SubIOp::create(k.b, k.loc, all[1], all[2]))};
        },
        [&](ValueRange a, ValueRange b) { return Values{larger(a[0], b[0])}; })[0];
    row.storeReduced(arith::AddIOp::create(k.b, k.loc, distance, low));
  });
  return success();
}

namespace kiln {
void registerSymbolKernels(KernelTable &table);
} // namespace kiln

void kiln::registerSymbolKernels(KernelTable &table) {
  table.addElement<ShapeOp>(shape);
  table.addElement<ExprsOp>(exprs);
  table.addAnchor<FarthestOp>("farthest", farthest, /*pullsOperands=*/true,
                              /*takesEpilogue=*/false);
}
