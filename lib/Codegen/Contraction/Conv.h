//===- Conv.h - Convolutions as loops over staged input ---------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A unit of a convolution computes a block of output rows of one image and
// group. Its input is first *staged*: copied into scratch with the zeros of the
// padding, and with the columns and rows that a stride skips sorted apart, so
// that neighbouring outputs read neighbouring elements whatever the stride.
//
// A transposed convolution is an ordinary one: its input is spread (zeros in
// between), its kernel turned round.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_CODEGEN_CONTRACTION_CONV_H
#define KILN_LIB_CODEGEN_CONTRACTION_CONV_H

#include "Tile.h"

namespace kiln::contraction {

/// One spatial dim of an ordinary convolution over a spread input.
struct Axis {
  Expr in = 1, out = 1, pad = 0;
  int64_t kernel = 1, stride = 1, dilation = 1, spread = 1;

  /// Remainders by the stride at which taps read, and their distance. Those that
  /// only a longer kernel would read count as well.
  int64_t phaseStep() const { return std::gcd(stride, dilation); }
  int64_t phases() const { return kernel == 1 ? 1 : stride / phaseStep(); }
  /// Where a tap reads: its phase, and how many steps of the stride it is ahead.
  int64_t phaseOf(int64_t tap) const { return tap * dilation % stride / phaseStep(); }
  int64_t aheadOf(int64_t tap) const { return tap * dilation / stride; }
};

/// A convolution with three spatial dims (missing ones have size 1).
struct ConvShape {
  explicit ConvShape(const ConvSpec &spec);

  Expr batch;
  int64_t group = 1;
  /// Per group; channels may be known to the run only.
  Expr channels;
  std::optional<int64_t> outputs;
  Axis axes[3]; // planes, rows, columns
  size_t rank = 0;

  int64_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
  /// Index of an element of the input or the result: the spatial dims that
  /// exist.
  Index index(mlir::Value n, mlir::Value channel, llvm::ArrayRef<mlir::Value> spatial) const {
    Index result = {n, channel};
    result.append(spatial.end() - static_cast<ptrdiff_t>(rank), spatial.end());
    return result;
  }
};

/// A factor for the time of work in so many equal units: two cores, or four,
/// share them, and wait for each other at the end. One core does not mind, so
/// the loss counts in part.
inline double sharingLoss(double units) {
  double factor = 1;
  for (double cores : {2.0, 4.0})
    factor *= 1 + 0.25 * (std::ceil(units / cores) * cores / units - 1);
  return factor;
}

/// A part of the output: rows of a plane, all columns or some of a single row.
struct OutputBlock {
  mlir::Value n, plane, row, rows, column, columns;
};

/// Input in scratch: [channel][plane tap][row phase][row][column phase][column].
class Staging {
public:
  /// Room for `channels` channels and blocks of `rows` x `columns` outputs, and
  /// for reading `slack` elements past the end.
  Staging(KernelBuilder &k, const ConvSpec &spec, const ConvShape &shape, const Expr &channels,
          const Expr &rows, const Expr &columns, const Expr &slack);

  /// Call before the loop over units: zeros what every row has beside the input.
  void prepare();
  /// Copies what the block needs of channels [first, first + count).
  void fill(const OutputBlock &block, mlir::Value firstChannel, mlir::Value count);

  mlir::Value memref() const { return buffer.memref; }
  /// Distances between the elements that neighbouring output rows read, and
  /// between channels.
  Expr rowPitch, channelPitch;
  /// Where a tap of channel 0 reads for the block's first output.
  mlir::Value tapOffset(mlir::Value plane, mlir::Value row, mlir::Value column);

private:
  void forPhases(const Axis &axis, llvm::function_ref<void(mlir::Value phase)> body);
  void fillRow(const OutputBlock &block, mlir::Value channel, mlir::Value plane, mlir::Value row,
               mlir::Value at);
  void fillSpreadRow(const OutputBlock &block, mlir::Value channel, mlir::Value plane,
                     mlir::Value row, mlir::Value at);
  void zero(mlir::Value from, mlir::Value to);
  /// Position in the input of a staged position, and whether there is one.
  std::pair<mlir::Value, mlir::Value> source(const Axis &axis, mlir::Value spreadPosition);
  mlir::Value element(ElementBuilder &e, const OutputBlock &block, mlir::Value channel,
                      mlir::Value plane, mlir::Value row, mlir::Value column);

  KernelBuilder &k;
  const ConvSpec &spec;
  const ConvShape &shape;
  IndexMath math;
  mlir::Type type, accumulator;
  /// Blocks have all columns, so zeros beside rows stay where they are.
  bool wholeRows;
  Expr storedRows, storedColumns;
  Buffer buffer;
};

/// Groups of one channel each with few outputs: the taps of a plane, vectors
/// along columns.
mlir::LogicalResult buildDepthwiseKernel(KernelBuilder &k, const ConvSpec &spec,
                                         const ConvShape &shape);
bool isDepthwise(const ConvShape &shape);

} // namespace kiln::contraction

#endif // KILN_LIB_CODEGEN_CONTRACTION_CONV_H
