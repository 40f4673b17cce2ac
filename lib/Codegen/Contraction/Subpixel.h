//===- Subpixel.h - Transposed convolutions by phases -----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Output o of a transposed convolution with stride s reads input i through tap
// t = o + pad - i * s. Outputs of one remainder by s, a phase, read the same
// taps of neighbouring inputs: each phase is an ordinary convolution of stride
// 1 with its own part of the kernel. So all phases are one convolution with s
// times as many outputs a dim, whose results are put together when they are
// stored. Spreading the input with zeros instead would multiply by them.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_CODEGEN_CONTRACTION_SUBPIXEL_H
#define KILN_LIB_CODEGEN_CONTRACTION_SUBPIXEL_H

#include "Conv.h"

namespace kiln::contraction {

/// "subpixel:<rows>:<vectors>:<three strides>:<three pads>": as RowLayout, of
/// the convolution of all phases; the phase of the last dim counts fastest.
struct SubpixelLayout {
  int64_t rows = 1, vectors = 1;
  int64_t strides[3] = {1, 1, 1}, pads[3] = {0, 0, 0};

  static bool isOne(llvm::StringRef text) { return text.starts_with("subpixel:"); }
  static SubpixelLayout parse(llvm::StringRef text);
  std::string str() const;

  int64_t phases() const { return strides[0] * strides[1] * strides[2]; }
  /// The first and last input, counted from output / stride, that some phase
  /// reads through a kernel of this size.
  std::pair<int64_t, int64_t> reach(size_t dim, int64_t kernel) const;
  /// The shape of the convolution of all phases, given the spread one.
  ConvShape shapeOf(const ConvShape &spread) const;
};

/// The layout for a transposed convolution whose phases all have one size.
std::optional<SubpixelLayout> chooseSubpixel(const ConvSpec &spec, const ConvShape &shape,
                                             const VectorTarget &target);
llvm::SmallVector<char, 0> packSubpixel(const SubpixelLayout &layout, mlir::RankedTensorType type,
                                        const char *bytes);

} // namespace kiln::contraction

#endif // KILN_LIB_CODEGEN_CONTRACTION_SUBPIXEL_H
