//===- StridedView.cpp - Where the elements of views are ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/IR/StridedView.h"
#include "dialects/Kiln/ops/Slice/Slice.h"
#include "dialects/Kiln/ops/Transpose/Transpose.h"
#include "dialects/Kiln/ops/View/View.h"

using namespace mlir;
using namespace kiln;

/// Strides of `to`, a reshape of a strided `from`; nothing when a dim of `to`
/// would need several.
static std::optional<Shape> reshapeStrides(ArrayRef<Expr> from, ArrayRef<Expr> strides,
                                           ArrayRef<Expr> to) {
  Shape result(to.size(), Expr(0));
  size_t next = from.size();
  // What is left of the source dim at hand, and its stride.
  Expr size = 1, stride = 1;
  auto takeOuter = [&] {
    --next;
    size = from[next], stride = strides[next];
  };
  for (size_t i = to.size(); i-- > 0;) {
    if (to[i].isConstant(1))
      continue;
    while (size.isConstant(1) && next > 0)
      takeOuter();
    result[i] = stride;
    Expr wanted = to[i];
    for (;;) {
      if (auto rest = Expr::divideExactly(size, wanted)) {
        stride = stride * wanted, size = *rest;
        break;
      }
      // `wanted` spans several source dims: they must lie one in the other.
      auto rest = Expr::divideExactly(wanted, size);
      if (!rest || next == 0 || strides[next - 1] != stride * size)
        return std::nullopt;
      wanted = *rest;
      takeOuter();
    }
  }
  return result;
}

StridedView kiln::stridedView(Value value) {
  // The views between the value and the base, the outermost first.
  SmallVector<Operation *> views;
  Value base = value;
  while (Operation *op = base.getDefiningOp()) {
    if (!isa<TransposeOp, SliceOp, ReshapeOp>(op))
      break;
    views.push_back(op);
    base = op->getOperand(0);
  }
  auto startAt = [](Value base) {
    Shape shape = shapeOf(base), strides(shape.size(), Expr(1));
    for (size_t d = shape.size(); d-- > 1;)
      strides[d - 1] = strides[d] * shape[d];
    return StridedView{base, strides};
  };
  StridedView view = startAt(base);
  for (Operation *op : llvm::reverse(views)) {
    if (auto transpose = dyn_cast<TransposeOp>(op)) {
      Shape strides;
      for (int64_t axis : transpose.getPermutation())
        strides.push_back(view.strides[axis]);
      view.strides = std::move(strides);
    } else if (auto slice = dyn_cast<SliceOp>(op)) {
      Shape starts = exprsOf(slice.getStarts()), steps = exprsOf(slice.getSteps());
      for (auto [stride, start, step] : llvm::zip(view.strides, starts, steps)) {
        view.offset = view.offset + start * stride;
        stride = stride * step;
      }
    } else if (auto strides = reshapeStrides(shapeOf(op->getOperand(0)), view.strides,
                                             shapeOf(op->getResult(0)))) {
      view.strides = std::move(*strides);
    } else {
      view = startAt(op->getResult(0));
    }
  }
  return view;
}
