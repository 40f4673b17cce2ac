//===- Rows.h - Kernels that work row by row --------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A *row* is the set of elements of a tensor that differ along some axes only:
// what a reduction folds, a softmax normalises, a running sum walks. Where the
// innermost axis lies in the row, a row is worked on with lanes along it; where
// it does not, as many rows as there are lanes go side by side. Kernels are
// written once for both: they reduce over a row, and visit it to store.
//
// Neighbouring axes of one kind are walked as one axis where the operand (or
// the result) lies in memory as it is, so that 7x7 pixels are 49 elements.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CODEGEN_ROWS_H
#define KILN_CODEGEN_ROWS_H

#include "kiln/Codegen/KernelBuilder.h"

namespace kiln {

using Values = llvm::SmallVector<mlir::Value>;

class Row;

class Rows {
public:
  /// Rows of operand 0 of `anchor` along the axes that `along` marks. Result 0
  /// either has the operand's shape or lacks the row's axes (or has size 1
  /// there).
  Rows(KernelBuilder &k, mlir::Operation *anchor, llvm::ArrayRef<bool> along);

  /// Elements of one row.
  const Expr &length() const { return rowLength; }
  /// The operand is memory: reading it again costs a load.
  bool operandInMemory() const { return operandDirect; }

  /// Asks for a place where a pass leaves an element (of a type in code) for
  /// later ones: the result where it fits there, else scratch memory.
  void addStage(mlir::Type codeType) { stageType = codeType; }

  /// Sets the units, and emits `body` for the rows of this call's share: more
  /// than once, for several numbers of lanes. Where rows go side by side,
  /// `unroll` vectors of them are worked on at once.
  void forEach(int64_t picosecondsPerElement, int64_t unroll, llvm::function_ref<void(Row &)> body);

private:
  friend class Row;
  /// Neighbouring axes that are walked as one.
  struct Group {
    Expr size;
    bool along;
  };
  struct Groups {
    llvm::SmallVector<Group> list;
    llvm::SmallVector<mlir::Value> sizes, alongSizes;
    Shape alongShape;
    /// Of the groups in the row: those whose size may differ from 1.
    llvm::SmallVector<unsigned> looped;
    Buffer operand, result;
  };
  Groups groupAxes(bool mergeRow, bool mergeOthers) const;
  void placeStage(int64_t lanes);

  KernelBuilder &k;
  mlir::Operation *anchor;
  Shape shape;
  llvm::SmallVector<bool> along;
  bool operandDirect, resultDirect, resultHasRows, sideBySide = false;
  Expr rowLength = 1;
  /// How the operand is read, and how the result is written. Both agree on the
  /// axes that are not in the row.
  Groups reading, storing;
  int64_t nativeLanes;
  mlir::Type stageType;
  bool stageInResult = false;
  Buffer stageBuffer;
};

/// The row, or the rows side by side, that code is being emitted for.
class Row {
public:
  /// A position in a row: coordinates along its axes, grouped for reading or
  /// for storing.
  struct At {
    Index coordinates;
    bool storing;
  };
  using Step = llvm::function_ref<Values(ElementBuilder &e, const At &at, mlir::ValueRange)>;
  using Combine = llvm::function_ref<Values(mlir::ValueRange a, mlir::ValueRange b)>;
  using Visit = llvm::function_ref<void(ElementBuilder &e, const At &at)>;

  /// Folds the row into as many values as `identity` has: scalars, or vectors
  /// of one lane a row when rows go side by side. `step` adds the element at a
  /// position (or its lanes) to partial results, `combine` joins two partial
  /// results. The order is fixed.
  Values reduce(mlir::ValueRange identity, Step step, Combine combine);
  /// Calls `visit` for every position of the row.
  void each(Visit visit);
  /// Walks the row's elements one after the other, `backward` from its end,
  /// carrying values.
  void scan(bool backward, mlir::ValueRange init, Step step);

  /// A builder for code on values that belong to whole rows.
  ElementBuilder builder();
  /// The operand's element, as it is and widened for computing.
  mlir::Value operand(ElementBuilder &e, const At &at);
  mlir::Value wideOperand(ElementBuilder &e, const At &at) { return e.widen(operand(e, at)); }
  void stage(ElementBuilder &e, const At &at, mlir::Value value);
  mlir::Value staged(ElementBuilder &e, const At &at);
  /// Number of the position in its row, counted from 0.
  mlir::Value number(ElementBuilder &e, const At &at);
  /// Stores the anchor's result, and what the fusion computes from it, at a
  /// position of `each` or `scan`.
  void store(ElementBuilder &e, const At &at, mlir::Value value);
  /// Stores the row's one element of a result without the row's axes.
  void storeReduced(mlir::Value value);

private:
  friend class Rows;
  Row(Rows &rows, Index others, int64_t lanes, mlir::Value laneCoordinate)
      : k(rows.k), rows(rows), others(std::move(others)), lanes(lanes),
        laneCoordinate(laneCoordinate) {}

  using Inner = llvm::function_ref<Values(At &at, mlir::ValueRange carried)>;
  ElementBuilder builder(int64_t lanes, mlir::Value consecutive);
  At start(bool storing);
  Values nest(llvm::ArrayRef<unsigned> looped, At &at, mlir::ValueRange carried, Inner inner);
  Values reduceAlong(unsigned group, At &at, mlir::ValueRange identity, mlir::ValueRange totals,
                     Step step, Combine combine);
  const Rows::Groups &groups(const At &at) const {
    return at.storing ? rows.storing : rows.reading;
  }
  Index indexOf(const At &at) const;
  void storeResult(ElementBuilder &e, mlir::Value value, llvm::ArrayRef<mlir::Value> index,
                   const Buffer &direct);

  KernelBuilder &k;
  Rows &rows;
  /// Coordinates of the groups that are not in the row.
  Index others;
  /// Rows at once, and the coordinate that has their lanes.
  int64_t lanes;
  mlir::Value laneCoordinate;
  bool gaveUp = false;
};

/// Joins the lanes of vectors by halves until `lanes` are left (1: scalars).
Values foldLanes(KernelBuilder &k, mlir::ValueRange vectors, int64_t lanes, Row::Combine combine);

} // namespace kiln

#endif // KILN_CODEGEN_ROWS_H
