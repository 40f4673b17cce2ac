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
  /// Thousands of threads of one lane each, as on a GPU: a unit is an element
  /// where that can be, and constants stay row-major.
  bool isDevice = false;

  static VectorTarget device() {
    VectorTarget target;
    target.vectorBits = 0;
    target.minimalFiltering = false;
    target.isDevice = true;
    return target;
  }

  int64_t lanes(mlir::Type elementType) const {
    return std::max<int64_t>(1, static_cast<int64_t>(vectorBits / storageBits(elementType)));
  }
};

} // namespace kiln

#endif // KILN_CODEGEN_VECTORTARGET_H
