//===- Winograd.h - Minimal filtering for 3 x 3 convolutions ----*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// F(m x m, 3 x 3) of Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks" (2015): an m x m tile of outputs is
//
//   At [ sum over channels of (G g Gt) . (Bt d B) ] A
//
// with d the (m + 2) x (m + 2) inputs under the tile and g the weights; the
// product in the middle is element by element. So the channels are summed in
// (m + 2)^2 matrix products of outputs x channels by channels x tiles, with
// (m + 2)^2 / (9 m^2) of the direct algorithm's multiplications: 1/2.25 for
// m = 2, 1/4 for m = 4.
//
// Error: the transforms multiply by up to 8 and 1/24; for m = 4 the largest
// error grows about 8 times, to some 1e-5 of the largest output in float32
// (measured in docs/math.md).
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_CODEGEN_CONTRACTION_WINOGRAD_H
#define KILN_LIB_CODEGEN_CONTRACTION_WINOGRAD_H

#include "Conv.h"

namespace kiln::contraction {

/// The matrices of F(m x m, 3 x 3), row-major; points() is m + 2.
struct WinogradTransform {
  int64_t outputs;
  llvm::ArrayRef<double> input;  // Bt [points][points]
  llvm::ArrayRef<double> filter; // G [points][3]
  llvm::ArrayRef<double> output; // At [outputs][points]

  int64_t points() const { return outputs + 2; }
  /// For m = 2 or 4.
  static const WinogradTransform &get(int64_t outputs);
};

/// "winograd:<m>:<rows>:<vectors>:<group>:<t or n>": transformed weights of
/// each group's outputs, cut into tiles as splitRows does,
/// [tile][point][channel][row of the tile].
struct WinogradLayout {
  int64_t outputs = 4, rows = 1, vectors = 1, group = 1;
  bool transposed = false;

  static bool isOne(llvm::StringRef text) { return text.starts_with("winograd:"); }
  static WinogradLayout parse(llvm::StringRef text);
  std::string str() const;
};

/// The layout for a convolution that minimal filtering makes faster.
std::optional<WinogradLayout> chooseWinograd(const ConvShape &shape, mlir::Type elementType,
                                             bool transposed, const VectorTarget &target);
llvm::SmallVector<char, 0> packWinograd(const WinogradLayout &layout, mlir::RankedTensorType type,
                                        const char *bytes);
mlir::LogicalResult buildWinogradKernel(KernelBuilder &k, const ConvSpec &spec,
                                        const ConvShape &shape, const WinogradLayout &layout);

} // namespace kiln::contraction

#endif // KILN_LIB_CODEGEN_CONTRACTION_WINOGRAD_H
