//===- Heap.h - Selecting and sorting inside a kernel -----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CODEGEN_HEAP_H
#define KILN_CODEGEN_HEAP_H

#include "kiln/Codegen/KernelBuilder.h"

namespace kiln {

/// A heap of items in scratch memory, the last one of the order at the root.
/// An item is one or more values; the order is total, so that results do not
/// depend on how they are found.
class Heap {
public:
  using Item = llvm::SmallVector<mlir::Value, 2>;

  Heap(KernelBuilder &k) : k(k) {}
  virtual ~Heap() = default;

  virtual Item load(mlir::Value at) = 0;
  virtual void store(const Item &item, mlir::Value at) = 0;
  /// Whether x stands before y in the order.
  virtual mlir::Value isBefore(const Item &x, const Item &y) = 0;

  /// Makes a heap of `count` items in any order.
  void order(mlir::Value count);
  /// Puts an item in place of the root of `count` items.
  void replaceRoot(const Item &item, mlir::Value count);
  /// Sorts a heap of `count` items, at least 1, in place.
  void sort(mlir::Value count);

protected:
  KernelBuilder &k;

private:
  void siftDown(const Item &item, mlir::Value start, mlir::Value count);
};

} // namespace kiln

#endif // KILN_CODEGEN_HEAP_H
