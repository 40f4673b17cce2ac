//===- Fold.h - Combining elements into one ---------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CODEGEN_FOLD_H
#define KILN_CODEGEN_FOLD_H

#include "kiln/Codegen/KernelBuilder.h"

namespace kiln {

enum class FoldKind { Sum, Prod, Max, Min };

/// Sums, products and extremes of elements of one tensor element type: floats
/// as ElementBuilder::widen gives them, integers in their own width.
class Fold {
public:
  Fold(KernelBuilder &k, FoldKind kind, mlir::Type elementType)
      : k(k), kind(kind), elementType(elementType) {}

  /// The result of folding nothing, a scalar.
  mlir::Value identity();
  /// Scalars or vectors, both alike.
  mlir::Value join(mlir::Value a, mlir::Value b);
  /// `element` may be a scalar where `total` has lanes, and the reverse.
  mlir::Value add(ElementBuilder &e, mlir::Value total, mlir::Value element) {
    mlir::Value pair[] = {total, element};
    e.unify(pair);
    return join(pair[0], pair[1]);
  }

private:
  KernelBuilder &k;
  FoldKind kind;
  mlir::Type elementType;
};

} // namespace kiln

#endif // KILN_CODEGEN_FOLD_H
