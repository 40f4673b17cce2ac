//===- StridedInput.cpp - Inputs seen through views -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile.h"
#include "dialects/Kiln/ops/Transpose/Transpose.h"
#include "dialects/Kiln/ops/View/View.h"

using namespace mlir;
using namespace kiln;
using namespace kiln::contraction;

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

std::optional<StridedInput> contraction::stridedInput(KernelBuilder &k, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned i = argument.getArgNumber();
    if (!k.layouts[i].empty())
      return std::nullopt;
    Shape shape = shapeOf(value), strides(shape.size(), Expr(1));
    for (size_t d = shape.size(); d-- > 1;)
      strides[d - 1] = strides[d] * shape[d];
    return StridedInput{&k.inputBuffer(i), strides};
  }
  if (auto transpose = value.getDefiningOp<TransposeOp>()) {
    auto input = stridedInput(k, transpose.getX());
    if (!input)
      return std::nullopt;
    Shape strides;
    for (int64_t axis : transpose.getPermutation())
      strides.push_back(input->strides[axis]);
    return StridedInput{input->buffer, strides};
  }
  if (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    auto input = stridedInput(k, reshape.getX());
    if (!input)
      return std::nullopt;
    auto strides = reshapeStrides(shapeOf(reshape.getX()), input->strides, shapeOf(value));
    if (!strides)
      return std::nullopt;
    return StridedInput{input->buffer, *strides};
  }
  return std::nullopt;
}
