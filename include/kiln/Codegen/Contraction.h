//===- Contraction.h - Kernels of products, attention, convolutions -*- C++ -*-===//
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

//===-- Attention -----------------------------------------------------------===//

/// What becomes of weights that are NaN, as kiln.attention says.
enum class UndefinedWeights { NaN, Zero, MaskedZero };

/// anchor's result 0 [batch, n, heads, e] from q [batch, n, heads, d], k [batch,
/// m, groups, d] and v [batch, m, groups, e]; the mask may be null.
struct AttentionSpec {
  mlir::Operation *anchor;
  mlir::Value q, k, v, mask;
  double scale = 1, fill = 0;
  UndefinedWeights undefined = UndefinedWeights::NaN;
};

mlir::LogicalResult buildAttentionKernel(KernelBuilder &k, const AttentionSpec &spec);

//===-- Convolutions --------------------------------------------------------===//

/// anchor's result 0 [N, K, spatial...] is x [N, C, spatial...] convolved with w
/// [K, C / group, kernel...], or x scattered through w [C, K / group,
/// kernel...] when transposed (then pads are cut off the result). One entry a
/// spatial dim; pads are those before it.
struct ConvSpec {
  mlir::Operation *anchor;
  mlir::Value x, w;
  llvm::SmallVector<int64_t, 3> strides, dilations;
  Shape pads;
  int64_t group = 1;
  bool transposed = false;
  /// The convolution that makes `x` within the kernel, with pointwise ops behind
  /// it; null when `x` lies in memory or is pulled.
  const ConvSpec *producer = nullptr;
};

mlir::LogicalResult buildConvKernel(KernelBuilder &k, const ConvSpec &spec);
/// The layout for constant weights: panels of outputs.
std::string convLayout(const ConvSpec &spec, const VectorTarget &target);
llvm::SmallVector<char, 0> packConv(llvm::StringRef layout, mlir::RankedTensorType type,
                                    const char *bytes);
/// Whether a kernel of `spec` can make its input block by block as `producer` does.
bool joinsProducer(const ConvSpec &spec, const ConvSpec &producer);
mlir::Value convElement(ElementBuilder &e, const ConvSpec &spec, llvm::ArrayRef<mlir::Value> index);

} // namespace kiln

#endif // KILN_CODEGEN_CONTRACTION_H
