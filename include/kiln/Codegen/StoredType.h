//===- StoredType.h - Element types in memory -------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CODEGEN_STOREDTYPE_H
#define KILN_CODEGEN_STOREDTYPE_H

#include "dialects/Kiln/IR/TensorTypes.h"

namespace kiln {

/// The element of the memref behind a tensor of this element type.
inline mlir::Type storedType(mlir::Type elementType) {
  if (!elementType.isInteger() && !isSmallFloat(elementType))
    return elementType;
  return mlir::IntegerType::get(elementType.getContext(), storageBits(elementType));
}

} // namespace kiln

#endif // KILN_CODEGEN_STOREDTYPE_H
