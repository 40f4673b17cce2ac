//===- VectorTarget.h - Vector registers of a machine -----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CODEGEN_VECTORTARGET_H
#define KILN_CODEGEN_VECTORTARGET_H

#include "dialects/Kiln/IR/TensorTypes.h"

namespace kiln {

/// What an emitter must know of the machine that runs the kernel.
struct VectorTarget {
  /// Bits of the widest vectors that pay.
  unsigned vectorBits = 256;
  unsigned vectorRegisters = 16;
  bool fma = true;
  /// Convolutions may multiply less and add more, with a larger error.
  bool minimalFiltering = true;

  int64_t lanes(mlir::Type elementType) const {
    return static_cast<int64_t>(vectorBits / storageBits(elementType));
  }
};

} // namespace kiln

#endif // KILN_CODEGEN_VECTORTARGET_H
