//===- ConvEmitter.h - Convolutions as matrix products ----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_CODEGEN_CONTRACTION_CONVEMITTER_H
#define KILN_LIB_CODEGEN_CONTRACTION_CONVEMITTER_H

#include "DepthwiseEmitter.h"
#include "Subpixel.h"

namespace kiln::contraction {

class ConvEmitter {
public:
  /// `shape` is that of the convolution of all phases when there are some.
  ConvEmitter(KernelBuilder &k, const ConvSpec &spec, const ConvShape &shape,
              std::optional<SubpixelLayout> phases);
  mlir::LogicalResult emit();

private:
  /// How outputs are cut into units.
  struct Blocking {
    Expr rows = 1, columns = 1;
    Expr rowBlocks = 1, columnBlocks = 1;
    int64_t outputBlocks = 1;
  };
  Blocking chooseBlocking() const;
  double cost(int64_t rows, int64_t columns, int64_t outputBlocks) const;
  int64_t vectorsOf(int64_t pixels) const { return llvm::divideCeil(pixels, tile.lanes); }
  llvm::SmallVector<int64_t> tailVectors() const;
  bool readsInPlace() const;

  // ConvJoin.cpp
  double joinedCost(int64_t rows) const;
  Blocking chooseJoinedBlocking() const;
  bool prepareProducer();
  void makeInput(const OutputBlock &block);

  void emitUnits();
  void emitPanels(const OutputBlock &block, mlir::Value group, mlir::Value from, mlir::Value to);
  void emitTiles(int64_t vectors, const OutputBlock &block, mlir::Value group, mlir::Value from,
                 mlir::Value to, mlir::Value pixel, mlir::Value valid);
  void packStaged(const OutputBlock &block, mlir::Value pixel, mlir::Value pixels);
  void packInPlace(const OutputBlock &block, mlir::Value group, mlir::Value pixel,
                   mlir::Value valid);
  void copyPanel(mlir::Value memref, mlir::Value first, mlir::Value pitch);
  mlir::Value loadAcrossRows(mlir::Value first, mlir::Value columnInRow, mlir::Value columns);
  /// Number of the block's first pixel within its image and channel.
  mlir::Value firstPixel(const OutputBlock &block) {
    mlir::Value row = math.add(math.mul(block.plane, k.size(shape.axes[1].out)), block.row);
    return math.add(math.mul(row, k.size(shape.axes[2].out)), block.column);
  }
  Index resultIndex(ElementBuilder &e, mlir::Value row, mlir::Value column);
  void storeTile(const TileShape &tile, llvm::ArrayRef<mlir::Value> sums, Epilogue::Place place);
  void emitTile(const TileShape &tile, mlir::Value row, const OutputBlock &block, mlir::Value group,
                mlir::Value pixel, mlir::Value validPixels);

  KernelBuilder &k;
  const ConvSpec &spec;
  /// The spatial dims as they are, and as they are walked: as one row when the
  /// input is read in place.
  const ConvShape &given;
  ConvShape shape;
  IndexMath math;
  mlir::Type type, accumulator;
  mlir::VectorType vectorType;
  TileShape tile;
  RowSplit split;
  int64_t outputs = 0;
  Expr depth;
  std::optional<SubpixelLayout> phases;
  bool weightsGiven = false;
  bool flatPixels = false;
  Blocking blocking;
  std::optional<Staging> staging;
  std::optional<Epilogue> epilogue;
  /// Makes the input of a block: [channel][pixel] in `made`.
  std::optional<ConvShape> producerShape;
  std::optional<DepthwiseEmitter> producer;
  Buffer made;
  Expr madePitch;
  mlir::Value panel, weights;
  /// Of the unit at hand; the place only with phases, whose units are in one row.
  mlir::Value image, planeAt, rowAt;
};

} // namespace kiln::contraction

#endif // KILN_LIB_CODEGEN_CONTRACTION_CONVEMITTER_H
