//===- Contraction.h - Kernels of matrix products and convolutions -*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What op families that multiply and add call: each describes its operands and
// gets a kernel around register tiles. How the tiles work: lib/Codegen/
// Contraction/Tile.h.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CODEGEN_CONTRACTION_H
#define KILN_CODEGEN_CONTRACTION_H

#include "kiln/Codegen/KernelBuilder.h"

namespace kiln {

/// The type that products of elements are summed in.
mlir::Type accumulatorType(mlir::Type elementType);

//===-- Matrix products -----------------------------------------------------===//

/// anchor's result 0 [..., M, N] = a [..., M, K] * b [..., K, N]; a transposed
/// operand has its last two dims swapped.
struct MatMulSpec {
  mlir::Operation *anchor;
  mlir::Value a, b;
  bool transA = false, transB = false;
};

mlir::LogicalResult buildMatMulKernel(KernelBuilder &k, const MatMulSpec &spec);
/// The layout for a constant b: panels of columns.
std::string matMulLayout(const MatMulSpec &spec, const VectorTarget &target);
llvm::SmallVector<char, 0> packMatMul(llvm::StringRef layout, mlir::RankedTensorType type,
                                      const char *bytes);
/// One element of the product by a loop of its own: the fallback.
mlir::Value matMulElement(ElementBuilder &e, const MatMulSpec &spec,
                          llvm::ArrayRef<mlir::Value> index);

} // namespace kiln

#endif // KILN_CODEGEN_CONTRACTION_H
