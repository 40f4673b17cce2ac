//===- KernelBuilder.h - Builds one kernel ----------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel computes the *units* [begin, end) of a fusion: rows, tiles, planes,
// whatever its emitter chose as the grain of parallel work. An emitter says how
// many units there are and what one costs, loops over its share, pulls elements
// of operands and stores results. Every chunk must be independent of the
// others, and write each of its results exactly once.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CODEGEN_KERNELBUILDER_H
#define KILN_CODEGEN_KERNELBUILDER_H

#include "dialects/Kiln/ops/Fusion/Fusion.h"
#include "kiln/Codegen/ElementBuilder.h"
#include "kiln/Codegen/KernelTable.h"
#include "kiln/Codegen/VectorTarget.h"

namespace kiln {

class KernelBuilder {
public:
  mlir::OpBuilder b;
  mlir::Location loc;
  const KernelTable &table;
  const VectorTarget &target;

  /// The region's ops; operands of the fusion are its block arguments.
  mlir::Block &region() { return *body; }
  /// What the fusion yields, in order.
  mlir::ValueRange results() {
    return aside   ? mlir::ValueRange(aside->value)
           : stage ? mlir::ValueRange(stage)
                   : body->getTerminator()->getOperands();
  }
  /// Memory of input (block argument) i and of result i.
  const Buffer &inputBuffer(unsigned i) const { return inputs[i]; }
  const Buffer &resultBuffer(unsigned i) const { return outputs[i]; }
  /// Memory of a value of the region that is in memory: an input in row-major
  /// order, or what was staged; null when it is not.
  const Buffer *memoryOf(mlir::Value value);
  /// Kernels of two stages leave `value`, of the only result's type, in its
  /// memory first: until `finishStage`, it is what the fusion yields. From then on
  /// it is read there, until results are stored over it.
  void beginStage(mlir::Value value) { stage = value; }
  void finishStage() { staged = std::exchange(stage, nullptr); }
  /// Leaves rows of `value` in memory of their own, [row - firstRow][column]: until
  /// `finishAside`, it is what the fusion yields.
  void beginAside(mlir::Value value, Buffer rows, mlir::Value firstRow) {
    aside = Aside{value, std::move(rows), firstRow};
  }
  void finishAside() { aside.reset(); }
  /// Result memory of a value that the fusion yields; null when it does not.
  const Buffer *resultBufferOf(mlir::Value value);

  /// This call's share of the units, as index values.
  mlir::Value begin, end;
  /// memref<?xi8> of scratch() bytes, private to the running thread.
  mlir::Value scratch;

  //===-- What the launch must know ---------------------------------------===//

  /// One unit takes about `picoseconds` on one core; it decides the number of
  /// chunks, never the result.
  void setUnits(Expr units, Expr picoseconds) {
    unitCount = std::move(units);
    unitCost = std::move(picoseconds);
  }
  /// Reserves scratch bytes; returns the offset as an expression. Call for all
  /// parts before `scratchBuffer`.
  Expr reserveScratch(const Expr &bytes);
  /// A flat buffer of `count` elements in the scratch area at a byte offset.
  mlir::Value scratchBuffer(const Expr &byteOffset, const Expr &count, mlir::Type codeType);

  //===-- Building --------------------------------------------------------===//

  /// Lanes such that no value of the region needs more than one register.
  int64_t commonLanes();
  /// A builder of elements that knows all buffers and symbols.
  ElementBuilder elements(int64_t lanes = 1);
  mlir::Value index(int64_t value);
  mlir::Value size(const Expr &expr);

  using LoopBody = llvm::function_ref<void(mlir::Value iv)>;
  void loop(mlir::Value lower, mlir::Value upper, int64_t step, LoopBody body);
  /// A loop with carried values; returns their last ones.
  mlir::SmallVector<mlir::Value>
  loop(mlir::Value lower, mlir::Value upper, int64_t step, mlir::ValueRange init,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value iv, mlir::ValueRange carried)>
           body);
  /// Emits `then` where the condition holds at run time, else `otherwise`.
  void branch(mlir::Value condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise = nullptr);
  void ifThen(mlir::Value condition, llvm::function_ref<void()> then) { branch(condition, then); }
  /// End of the part of [lower, upper) that whole vectors cover; upper itself
  /// when the range is empty.
  mlir::Value endOfVectors(mlir::Value lower, mlir::Value upper, int64_t lanes);
  /// Calls `body` for [lower, upper): first in steps of `lanes` with a builder
  /// of that many lanes and a consecutive iv, then one by one for the rest. When
  /// an op gives up on lanes, one by one throughout. `body` must not keep state.
  void vectorLoop(mlir::Value lower, mlir::Value upper, int64_t lanes,
                  llvm::function_ref<void(ElementBuilder &e, mlir::Value iv)> body);
  /// Calls `body` for every index that starts with `prefix` and goes on over
  /// `sizes`, row-major; the last of them in steps of `lanes`, as vectorLoop.
  void nest(llvm::ArrayRef<mlir::Value> prefix, llvm::ArrayRef<mlir::Value> sizes, int64_t lanes,
            llvm::function_ref<void(ElementBuilder &e, llvm::ArrayRef<mlir::Value> index)> body);
  /// The dims as index values.
  llvm::SmallVector<mlir::Value> sizes(llvm::ArrayRef<Expr> shape);
  /// For reductions: like vectorLoop with carried vectors of `lanes` partial
  /// results. `step` combines one piece into the carried values, which are
  /// vectors or, in the rest and when lanes are given up, scalars; `merge`
  /// folds a vector of partial results into a scalar. `init` holds identities
  /// of `combine`. Returns scalars.
  mlir::SmallVector<mlir::Value>
  vectorReduce(mlir::Value lower, mlir::Value upper, int64_t lanes, mlir::ValueRange init,
               llvm::function_ref<llvm::SmallVector<mlir::Value>(ElementBuilder &e, mlir::Value iv,
                                                                 mlir::ValueRange carried)>
                   step,
               llvm::function_ref<mlir::Value(unsigned i, mlir::Value vector)> merge,
               llvm::function_ref<mlir::Value(unsigned i, mlir::Value a, mlir::Value b)> combine);

  /// Stores every result of the fusion at `index`, given how the anchor's
  /// results are obtained there (see ElementBuilder::setSource).
  void storeResults(ElementBuilder &e, llvm::ArrayRef<mlir::Value> index);

  //===-- Made by the target ----------------------------------------------===//

  KernelBuilder(mlir::OpBuilder b, mlir::Location loc, const KernelTable &table,
                const VectorTarget &target, mlir::Block *body)
      : b(b), loc(loc), table(table), target(target), body(body) {}
  mlir::SmallVector<Buffer> inputs, outputs;
  /// How each input lies in memory: "" is row-major, else a name that the
  /// anchor's family gave it (OpKernels::layout); its buffer is then bytes.
  llvm::SmallVector<std::string> layouts;
  llvm::StringMap<mlir::Value> symbols;
  Expr unitCount = 1;
  Expr unitCost = 0;
  Expr scratchBytes = 0;
  /// Some loop had to do without lanes: LLVM's vectoriser may do better.
  bool gaveUpLanes = false;

private:
  mlir::Block *body;
  /// What is being left in the result's memory, and what has been.
  mlir::Value stage, staged;
  struct Aside {
    mlir::Value value;
    Buffer rows;
    mlir::Value firstRow;
  };
  std::optional<Aside> aside;
};

/// The kernel of last resort: loops over each result's elements and pulls.
mlir::LogicalResult buildLoopKernel(KernelBuilder &k);

} // namespace kiln

#endif // KILN_CODEGEN_KERNELBUILDER_H
