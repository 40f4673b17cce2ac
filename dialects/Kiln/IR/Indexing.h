//===- Indexing.h - Walking the elements of static shapes -------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What ops that move elements share: symbolic values and references alike say
// which element of an operand an element of the result is.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_DIALECTS_KILN_IR_INDEXING_H
#define KILN_DIALECTS_KILN_IR_INDEXING_H

#include "dialects/Kiln/IR/TensorTypes.h"

namespace kiln {

using IntIndex = llvm::SmallVector<int64_t, 6>;
using SymbolicElements = std::optional<llvm::SmallVector<Expr>>;

/// Calls visit(index, position) for every index of a shape, row-major.
template <typename Fn> void forEachIndex(llvm::ArrayRef<int64_t> shape, Fn visit) {
  for (int64_t size : shape)
    if (size == 0)
      return;
  IntIndex index(shape.size(), 0);
  for (int64_t position = 0;; ++position) {
    visit(llvm::ArrayRef<int64_t>(index), position);
    size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1])
      index[--axis] = 0;
    if (axis == 0)
      return;
  }
}

/// Row-major position of an index.
inline int64_t positionOf(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> shape) {
  int64_t position = 0;
  for (auto [at, size] : llvm::zip_equal(index, shape))
    position = position * size + at;
  return position;
}

/// The numbers that an attribute holds; nothing when one is symbolic.
inline std::optional<IntIndex> constantsOf(ExprsAttr attr) {
  IntIndex values;
  for (const Expr &expr : exprsOf(attr)) {
    if (!expr.constant())
      return std::nullopt;
    values.push_back(*expr.constant());
  }
  return values;
}

/// Symbolic elements of a result whose element at an index is element
/// source(index) of x; nothing when a shape is not static or not small.
template <typename Fn>
SymbolicElements moveSymbols(const SymbolicElements &x, mlir::Type xType, mlir::Type yType,
                             Fn source) {
  auto from = llvm::cast<mlir::RankedTensorType>(xType),
       to = llvm::cast<mlir::RankedTensorType>(yType);
  constexpr int64_t manyElements = 64;
  if (!x || !from.hasStaticShape() || !to.hasStaticShape() || to.getNumElements() > manyElements)
    return std::nullopt;
  llvm::SmallVector<Expr> result;
  forEachIndex(to.getShape(), [&](llvm::ArrayRef<int64_t> index, int64_t) {
    result.push_back((*x)[static_cast<size_t>(positionOf(source(index), from.getShape()))]);
  });
  return result;
}

} // namespace kiln

#endif // KILN_DIALECTS_KILN_IR_INDEXING_H
