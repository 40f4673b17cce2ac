//===- DepthwiseEmitter.h - Convolutions of single channels -----*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_CODEGEN_CONTRACTION_DEPTHWISEEMITTER_H
#define KILN_LIB_CODEGEN_CONTRACTION_DEPTHWISEEMITTER_H

#include "Conv.h"

namespace kiln::contraction {

/// Writes the loops of one group at a time: its input is staged, and sums of a few
/// rows go, finished, to where the user of this class wants them.
class DepthwiseEmitter {
public:
  /// Takes the finished value `which` of neighbouring columns of a row: its index in
  /// the tensor, and the row within the block.
  using Store = std::function<void(ElementBuilder &e, size_t which, mlir::Value value,
                                   const Index &index, mlir::Value row)>;

  DepthwiseEmitter(KernelBuilder &k, const ConvSpec &spec, const ConvShape &shape)
      : k(k), spec(spec), shape(shape), math(k.b, k.loc), type(elementTypeOf(spec.x)),
        accumulator(accumulatorType(type)) {}

  /// Rows of a tile when blocks have `rows` rows; blocks but the last must have
  /// multiples of them.
  static int64_t tileRowsOf(const Expr &rows);
  /// False when the weights are not where they are looked for. Blocks have up to
  /// `rowsOfBlock` rows. `values` are what is stored of each sum: the result of the
  /// convolution, or of pointwise ops behind it.
  bool prepare(const Expr &rowsOfBlock, mlir::ValueRange values, Store store);
  void emit(const OutputBlock &block, mlir::Value group);

private:
  /// Sums of `rows` output rows for the lanes at one column.
  llvm::SmallVector<mlir::Value> sums(int64_t rows, int64_t lanes, mlir::Value row,
                                      mlir::Value column);
  llvm::SmallVector<mlir::Value> sumsByLoop(int64_t rows, int64_t lanes, mlir::Value row,
                                            mlir::Value column);
  mlir::Value load(mlir::Value at, int64_t lanes);
  mlir::Value weight(int64_t tap, int64_t lanes) { return weight(k.index(tap), lanes); }
  mlir::Value weight(mlir::Value tap, int64_t lanes);
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value sum);
  void emitRows(int64_t rows, mlir::Value row);
  void emitChannel(mlir::Value channel);
  /// Finishes and stores columns of some rows, all of which are computed first.
  struct Column {
    mlir::Value at;
    int64_t lanes;
    llvm::SmallVector<mlir::Value> sums;
  };
  void storeRows(int64_t rows, mlir::Value row, llvm::ArrayRef<Column> columns);

  KernelBuilder &k;
  const ConvSpec &spec;
  const ConvShape &shape;
  IndexMath math;
  mlir::Type type, accumulator;
  int64_t tileRows = 1;
  std::optional<Staging> staging;
  OutputBlock block;
  mlir::Value channel, weights, weightBase;
  llvm::SmallVector<mlir::Value, 1> values;
  Store store;
};

} // namespace kiln::contraction

#endif // KILN_LIB_CODEGEN_CONTRACTION_DEPTHWISEEMITTER_H
