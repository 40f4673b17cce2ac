//===- Walk.h - Elements of a tensor along an axis --------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_REFERENCE_WALK_H
#define KILN_REFERENCE_WALK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>

namespace kiln {

/// The elements that differ along some neighbouring axes only.
struct Line {
  int64_t start, stride, length;
  int64_t at(int64_t i) const { return start + i * stride; }
};

/// Calls `visit` for every line along `count` axes from `axis` on, in row-major
/// order of the other axes.
inline void forEachLine(llvm::ArrayRef<int64_t> shape, int64_t axis,
                        llvm::function_ref<void(const Line &)> visit, int64_t count = 1) {
  int64_t outer = 1, length = 1, inner = 1;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
    (i < axis ? outer : i < axis + count ? length : inner) *= shape[i];
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t j = 0; j < inner; ++j)
      visit({i * length * inner + j, inner, length});
}

} // namespace kiln

#endif // KILN_REFERENCE_WALK_H
