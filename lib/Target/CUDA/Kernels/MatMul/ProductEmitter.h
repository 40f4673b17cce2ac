//===- ProductEmitter.h - Which product computes a kernel -------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_CUDA_KERNELS_MATMUL_PRODUCTEMITTER_H
#define KILN_TARGET_CUDA_KERNELS_MATMUL_PRODUCTEMITTER_H

#include "kiln/Target/CUDA/Schedule.h"
#include "kiln/Target/CUDA/Template.h"
#include <cmath>

namespace kiln {

/// One side of a product: rows of A or columns of B along K.
struct ProductSide {
  TemplateWriter::Prologue prologue;
  /// Which of the operand's matrices a batch of the result reads.
  std::string batch, batchFunctor;
  bool alongK, isShared, isEach;
  int vector;
  /// Of one matrix in memory.
  Expr rows, columns;

  std::string type() const {
    return "kiln::cuda::StridedOperand<" + prologue.element + ", " + (alongK ? "true" : "false") +
           ", " + std::to_string(vector) + ", " + prologue.type + ", " + batch + ">";
  }
  std::string value() const {
    return "{" + prologue.input + ", " + TemplateWriter::sizeText(columns) + ", " +
           TemplateWriter::sizeText(rows) + ", " + prologue.functor + ", " + batchFunctor + "}";
  }
};

inline std::optional<ProductSide> describeSide(TemplateWriter &w, llvm::StringRef name,
                                               mlir::Value operand, bool alongK,
                                               llvm::ArrayRef<Expr> batches) {
  Shape shape = shapeOf(operand);
  llvm::ArrayRef<Expr> own = llvm::ArrayRef(shape).drop_back(2);
  size_t rows = shape.size() - 2, columns = shape.size() - 1;
  // A view may lie in memory with rows and columns exchanged.
  if (auto view = w.viewOf(operand);
      view && !view->strides[columns].isConstant(1) && view->strides[rows].isConstant(1)) {
    std::swap(rows, columns);
    alongK = !alongK;
  }
  ProductSide side;
  auto place = [&](ElementBuilder &e, mlir::Value row, mlir::Value col) {
    llvm::SmallVector<Expr> lines(own);
    lines.push_back(shape[rows]);
    Index at = w.indexOf(e, row, lines);
    at.push_back(col);
    if (columns < rows)
      std::swap(at[rows], at[columns]);
    return at;
  };
  auto prologue =
      w.prologue(("Prologue" + name).str(), operand, place, static_cast<int64_t>(columns));
  if (!prologue)
    return std::nullopt;
  side.prologue = std::move(*prologue);
  side.alongK = alongK;
  side.rows = shape[rows], side.columns = shape[columns];
  auto bytes = static_cast<int>(elementBytes(elementTypeOf(operand)));
  side.vector = std::min(w.vectorOf(side.columns, bytes), side.prologue.vector);
  side.isShared = elementCount(own).isConstant(1);
  side.isEach = elementCount(own) == elementCount(batches);
  if (side.isShared || side.isEach) {
    side.batch = side.isShared ? "kiln::cuda::SharedByBatches" : "kiln::cuda::EachBatch";
    side.batchFunctor = side.batch + "{}";
    return side;
  }
  side.batch = ("Batch" + name).str();
  side.batchFunctor = w.indexFunctor(side.batch, [&](ElementBuilder &e, mlir::Value at) {
    Index full = w.indexOf(e, at, batches), index;
    llvm::SmallVector<mlir::Value> sizes;
    size_t lead = batches.size() - own.size();
    for (auto [i, dim] : llvm::enumerate(own)) {
      // Whether a dim is 1 may be known at run time only.
      mlir::Value last = e.sub(e.size(dim), e.index(1)), here = full[lead + i];
      index.push_back(dim == batches[lead + i] ? here : e.minIndex(here, last));
      sizes.push_back(e.size(dim));
    }
    return e.linearize(index, sizes);
  });
  if (side.batchFunctor.empty())
    return std::nullopt;
  return side;
}

/// A template of products and its launch; `Shape` has been declared as its
/// configuration.
struct ProductForm {
  /// "SimtMatMul", "TensorMatMul", "SkinnyMatMul" or "SkinnyMatMulAlongK".
  std::string name;
  /// Elements that one load of an operand takes.
  int vectorA = 1, vectorB = 1;
  /// Neighbours of a row of results that are stored at once, at most.
  int vectorOfResult = 4;
  int tileM = 1, tileN = 1;
  /// Arguments of `run` behind the extents.
  std::string arguments;
  cuda::LaunchShape shape;
  std::string note;
  double seconds = 0;
};

/// What multiplies elements of this type beside the ordinary units, and its name in
/// C++.
inline std::optional<std::pair<cuda::Unit, llvm::StringRef>> tensorUnit(const TemplateWriter &w,
                                                                        mlir::Type element) {
  if (element.isF16())
    return std::pair(cuda::Unit::f16, llvm::StringRef("__half"));
  if (element.isBF16())
    return std::pair(cuda::Unit::bf16, llvm::StringRef("__nv_bfloat16"));
  if (element.isF32() && w.mayRoundToTf32)
    return std::pair(cuda::Unit::tf32, llvm::StringRef("kiln::Tf32"));
  return std::nullopt;
}

/// The form that is predicted to be the quickest for operands of `element`. `mayBeSkinny`: A runs
/// along K, and the rows are known to be few.
inline std::optional<ProductForm> chooseProduct(TemplateWriter &w, mlir::Type element,
                                                cuda::MatMulDemand demand,
                                                bool mayBeSkinny = false) {
  demand.elementBytes = static_cast<int>(elementBytes(element));
  int perChunk = cuda::vectorBytes / demand.elementBytes;
  auto atMost = [&](int vector) {
    cuda::MatMulDemand limited = demand;
    limited.vectorA = std::min(demand.vectorA, vector);
    limited.vectorB = std::min(demand.vectorB, vector);
    return limited;
  };
  cuda::MatMulDemand chunks = atMost(perChunk), fours = atMost(4);
  std::optional<cuda::Choice<cuda::TensorMatMulConfig>> tensor;
  auto unit = tensorUnit(w, element);
  // Words that do not run along K are transposed for B only.
  if (unit && (demand.alongKA || demand.elementBytes == 2))
    tensor = cuda::chooseTensorMatMul(w.device, unit->first, chunks);
  auto simt = cuda::chooseSimtMatMul(w.device, fours);
  std::optional<cuda::Choice<cuda::SkinnyMatMulConfig>> skinny;
  if (mayBeSkinny)
    skinny = cuda::chooseSkinnyMatMul(w.device, fours);
  auto secondsOf = [](const auto &choice) { return choice ? choice->seconds : HUGE_VAL; };
  double least = std::min({secondsOf(tensor), secondsOf(skinny), secondsOf(simt)});
  ProductForm form;
  auto take = [&](llvm::StringRef name, const auto &choice, const cuda::MatMulDemand &given) {
    form.name = name.str();
    form.vectorA = given.vectorA, form.vectorB = given.vectorB;
    form.shape = {{1, 1, 1}, choice.config.threads(), choice.config.sharedBytes()};
    form.note = choice.prediction.text();
    form.seconds = choice.seconds;
  };
  auto takeTiled = [&](llvm::StringRef name, const auto &choice, const cuda::MatMulDemand &given) {
    take(name, choice, given);
    form.tileM = choice.config.tileM, form.tileN = choice.config.tileN;
    form.arguments = ", " + std::to_string(choice.group);
  };
  if (!std::isfinite(least))
    return std::nullopt;
  if (secondsOf(tensor) == least) {
    const cuda::TensorMatMulConfig &c = tensor->config;
    takeTiled("TensorMatMul", *tensor, chunks);
    w.declareShape("TensorShape", {c.tileM, c.tileN, c.tileK, c.warpM, c.warpN, c.stages},
                   unit->second);
  } else if (secondsOf(skinny) == least) {
    const cuda::SkinnyMatMulConfig &c = skinny->config;
    bool alongK = demand.alongKB;
    take(alongK ? "SkinnyMatMulAlongK" : "SkinnyMatMul", *skinny, fours);
    form.vectorA = alongK ? c.vector : 1, form.vectorB = c.vector;
    form.vectorOfResult = alongK ? 1 : 4;
    form.tileM = c.rows, form.tileN = alongK ? c.warps : c.tileN();
    if (alongK)
      form.shape.sharedBytes = 0;
    w.declareShape("SkinnyShape", {c.rows, c.warps, c.vector});
  } else {
    const cuda::SimtMatMulConfig &c = simt->config;
    takeTiled("SimtMatMul", *simt, fours);
    w.declareShape("SimtShape", {c.tileM, c.tileN, c.tileK, c.threadM, c.threadN});
  }
  return form;
}

} // namespace kiln

#endif // KILN_TARGET_CUDA_KERNELS_MATMUL_PRODUCTEMITTER_H
