//===- Col2Im.kernels.cpp - Sums of overlapping blocks, kernels -----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Col2Im/Col2Im.h"
#include "kiln/Codegen/KernelTable.h"
#include <functional>

using namespace mlir;
using namespace kiln;

/// Each pixel adds up what the places of a block that can lie on it hold.
static Value col2Im(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  auto col = ::cast<Col2ImOp>(op);
  Value x = col.getX();
  Type type = elementTypeOf(x);
  if (llvm::any_of(index, [&](Value i) { return e.isConsecutive(i); }))
    return e.giveUp(type);
  OpBuilder &b = e.b;
  Shape block = exprsOf(col.getBlock()), counts = exprsOf(col.getCounts());
  size_t rank = block.size();
  Value channel = e.mul(index[1], e.size(elementCount(block)));
  bool narrow = isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
  Value zero = e.constant(narrow ? Type(b.getF32Type()) : type, 0);
  // `place` and `which` are positions in block and blocks so far, `all` whether
  // every dimension has a block there.
  std::function<Value(size_t, Value, Value, Value, Value)> sum =
      [&](size_t i, Value place, Value which, Value all, Value total) -> Value {
    if (i == rank) {
      Value more = e.branch(
          all, [&] { return e.widen(e.element(x, {index[0], e.add(channel, place), which})); },
          [&] { return zero; });
      return isa<FloatType>(type) ? Value(arith::AddFOp::create(b, e.loc, total, more))
                                  : Value(arith::AddIOp::create(b, e.loc, total, more));
    }
    return e.loop(e.index(0), e.size(block[i]), total,
                  [&](Value at, ValueRange carried) -> SmallVector<Value> {
                    Value offset = e.mul(at, e.index(col.getDilations()[i]));
                    Value from = e.sub(e.add(index[2 + i], e.index(col.getPads()[i])), offset);
                    Value stride = e.index(col.getStrides()[i]);
                    Value block = arith::DivUIOp::create(b, e.loc, from, stride);
                    Value rest = arith::RemUIOp::create(b, e.loc, from, stride);
                    Value fits = arith::AndIOp::create(
                        b, e.loc, e.compare(arith::CmpIPredicate::eq, rest, e.index(0)),
                        e.compare(arith::CmpIPredicate::ult, block, e.size(counts[i])));
                    fits = arith::AndIOp::create(
                        b, e.loc, fits, e.compare(arith::CmpIPredicate::sge, from, e.index(0)));
                    Value next = all ? Value(arith::AndIOp::create(b, e.loc, all, fits)) : fits;
                    return {sum(i + 1, e.add(e.mul(place, e.size(exprsOf(col.getBlock())[i])), at),
                                e.add(e.mul(which, e.size(counts[i])), block), next, carried[0])};
                  })[0];
  };
  return e.narrow(sum(0, e.index(0), e.index(0), Value(), zero), type);
}

namespace kiln {
void registerCol2ImKernels(KernelTable &table);
} // namespace kiln

void kiln::registerCol2ImKernels(KernelTable &table) {
  table.addElement<Col2ImOp>(col2Im, Reads::Often);
}
