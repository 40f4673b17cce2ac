//===- OldAxis.h - Softmax and its kin, by opset ----------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_IMPORT_OLDAXIS_H
#define KILN_IMPORT_OLDAXIS_H

#include "kiln/Import/ImportTable.h"

namespace kiln {

/// Softmax, LogSoftmax and Hardmax work along `axis` since opset 13. Before,
/// `axis` was where the shape was split to make a matrix of it, and rows of
/// that matrix were meant; its default was 1.
template <typename OpTy>
mlir::FailureOr<llvm::SmallVector<mlir::Value>> importAlongAxis(NodeImporter &n) {
  mlir::Value x = n.input(0);
  Shape shape = shapeOf(x);
  auto rank = static_cast<int64_t>(shape.size());
  bool split = n.sinceVersion() < 13;
  int64_t axis = n.intAttr("axis", split ? 1 : -1);
  // A split may come after the last axis, as Flatten's may.
  auto at = split && axis == rank ? axis : normalizeAxis(axis, rank);
  if (!at)
    return n.invalid("axis " + llvm::Twine(axis) + " is out of range for rank " +
                     llvm::Twine(rank));
  auto along = [&](mlir::Value value, int64_t where) {
    return n.create<OpTy>({value}, {n.attr("axis", where)});
  };
  if (!split || *at == rank - 1)
    return llvm::SmallVector<mlir::Value>{along(x, *at)};
  auto rows = elementCount(llvm::ArrayRef(shape).take_front(*at));
  auto columns = elementCount(llvm::ArrayRef(shape).drop_front(*at));
  return llvm::SmallVector<mlir::Value>{n.reshape(along(n.reshape(x, {rows, columns}), 1), shape)};
}

} // namespace kiln

#endif // KILN_IMPORT_OLDAXIS_H
