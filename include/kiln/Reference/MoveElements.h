//===- MoveElements.h - Copying single elements -----------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_REFERENCE_MOVEELEMENTS_H
#define KILN_REFERENCE_MOVEELEMENTS_H

#include "dialects/Kiln/IR/Indexing.h"
#include "kiln/Reference/TensorData.h"

namespace kiln {

/// to[i] = from[j], bit for bit; both have one element type.
inline void copyElement(TensorData &to, int64_t i, const TensorData &from, int64_t j) {
  auto width = static_cast<size_t>(elementBytes(to.elementType()));
  std::memcpy(to.mutableBytes() + static_cast<size_t>(i) * width,
              from.bytes() + static_cast<size_t>(j) * width, width);
}

/// y[index] = x[source(index)] for every index of y.
template <typename Fn> void moveElements(const TensorData &x, TensorData &y, Fn source) {
  forEachIndex(y.shape(), [&](llvm::ArrayRef<int64_t> index, int64_t position) {
    copyElement(y, position, x, positionOf(source(index), x.shape()));
  });
}

} // namespace kiln

#endif // KILN_REFERENCE_MOVEELEMENTS_H
