//===- LoopKernel.cpp - The kernel of last resort -------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Codegen/KernelBuilder.h"

using namespace mlir;
using namespace kiln;

/// Elements of a one-dimensional result that make a unit.
static constexpr int64_t flatUnit = 1024;

/// A guess from the number of ops; only the number of chunks hangs on it.
static Expr picosecondsPerElement(KernelBuilder &k) {
  return Expr(150 +
              100 * static_cast<int64_t>(std::distance(k.region().begin(), k.region().end())));
}

LogicalResult kiln::buildLoopKernel(KernelBuilder &k) {
  Shape shape = shapeOf(k.results()[0]);
  for (Value result : k.results())
    if (shapeOf(result) != shape)
      return failure();
  int64_t lanes = k.commonLanes();
  if (shape.empty()) {
    k.setUnits(1, picosecondsPerElement(k));
    k.loop(k.begin, k.end, 1, [&](Value) {
      ElementBuilder e = k.elements();
      k.storeResults(e, {});
    });
    return success();
  }
  Value inner = k.size(shape.back());
  if (shape.size() == 1) {
    k.setUnits(Expr::ceilDiv(shape[0], flatUnit), Expr(flatUnit) * picosecondsPerElement(k));
    Value unit = k.index(flatUnit);
    Value from = arith::MulIOp::create(k.b, k.loc, k.begin, unit);
    Value to =
        arith::MinSIOp::create(k.b, k.loc, arith::MulIOp::create(k.b, k.loc, k.end, unit), inner);
    k.vectorLoop(from, to, lanes, [&](ElementBuilder &e, Value iv) { k.storeResults(e, iv); });
    return success();
  }
  Shape outer(ArrayRef(shape).drop_back());
  k.setUnits(elementCount(outer), shape.back() * picosecondsPerElement(k));
  SmallVector<Value> outerSizes;
  for (const Expr &dim : outer)
    outerSizes.push_back(k.size(dim));
  k.loop(k.begin, k.end, 1, [&](Value row) {
    Index index = k.elements().delinearize(row, outerSizes);
    k.vectorLoop(k.index(0), inner, lanes, [&](ElementBuilder &e, Value iv) {
      Index at(index);
      at.push_back(iv);
      k.storeResults(e, at);
    });
  });
  return success();
}
