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

/// How many inner dims of the result can be walked as one: every tensor has all
/// of them or none, and no op looks at indices.
static size_t collapsibleDims(KernelBuilder &k, ArrayRef<Expr> shape) {
  SmallVector<Value> tensors(k.region().getArguments());
  for (Operation &op : k.region().without_terminator()) {
    const OpKernels *kernels = k.table.find(&op);
    if (!op.hasTrait<OpTrait::ConstantLike>() && !(kernels && kernels->pointwise))
      return 1;
    tensors.append(op.result_begin(), op.result_end());
  }
  auto covers = [&](Value tensor, size_t count) {
    Shape dims = shapeOf(tensor);
    ArrayRef<Expr> inner = ArrayRef(dims).take_back(count);
    return inner == shape.take_back(count) ||
           llvm::all_of(inner, [](const Expr &dim) { return dim.isConstant(1); });
  };
  size_t count = 1;
  while (count < shape.size() &&
         llvm::all_of(tensors, [&](Value tensor) { return covers(tensor, count + 1); }))
    ++count;
  return count;
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
  // Walk the inner dims that are one in all tensors by their last index.
  size_t collapsed = collapsibleDims(k, shape), rows = shape.size() - collapsed;
  if (k.target.isDevice) {
    k.setUnits(elementCount(shape), picosecondsPerElement(k));
    SmallVector<Value> sizes = k.sizes(ArrayRef(shape).take_front(rows));
    sizes.push_back(k.size(elementCount(ArrayRef(shape).take_back(collapsed))));
    k.loop(k.begin, k.end, 1, [&](Value element) {
      ElementBuilder e = k.elements();
      Index walked = e.delinearize(element, sizes), at(shape.size(), k.index(0));
      std::copy(walked.begin(), walked.end() - 1, at.begin());
      at.back() = walked.back();
      k.storeResults(e, at);
    });
    return success();
  }
  Expr inner = elementCount(ArrayRef(shape).take_back(collapsed));
  Index index(shape.size(), k.index(0));
  auto storeAt = [&](ElementBuilder &e, Value iv) {
    Index at(index);
    at.back() = iv;
    k.storeResults(e, at);
  };
  if (rows == 0) {
    k.setUnits(Expr::ceilDiv(inner, flatUnit), Expr(flatUnit) * picosecondsPerElement(k));
    Value unit = k.index(flatUnit);
    Value from = arith::MulIOp::create(k.b, k.loc, k.begin, unit);
    Value to = arith::MinSIOp::create(k.b, k.loc, arith::MulIOp::create(k.b, k.loc, k.end, unit),
                                      k.size(inner));
    k.vectorLoop(from, to, lanes, storeAt);
    return success();
  }
  Shape outer(ArrayRef(shape).take_front(rows));
  k.setUnits(elementCount(outer), inner * picosecondsPerElement(k));
  SmallVector<Value> outerSizes;
  for (const Expr &dim : outer)
    outerSizes.push_back(k.size(dim));
  Value from = k.index(0), to = k.size(inner);
  k.loop(k.begin, k.end, 1, [&](Value row) {
    llvm::copy(k.elements().delinearize(row, outerSizes), index.begin());
    k.vectorLoop(from, to, lanes, storeAt);
  });
  return success();
}
