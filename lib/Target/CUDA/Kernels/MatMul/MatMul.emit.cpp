//===- MatMul.emit.cpp - Instantiates the matrix product ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/MatMul/MatMul.h"
#include "lib/Target/CUDA/Kernels/MatMul/ProductEmitter.h"

using namespace mlir;
using namespace kiln;

namespace {
/// One side of a product: rows of A or columns of B along K.
struct Side {
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
} // namespace

static std::optional<Side> describeSide(TemplateWriter &w, StringRef name, Value operand,
                                        bool alongK, ArrayRef<Expr> batches) {
  Shape shape = shapeOf(operand);
  ArrayRef<Expr> own = ArrayRef(shape).drop_back(2);
  size_t rows = shape.size() - 2, columns = shape.size() - 1;
  // A view may lie in memory with rows and columns exchanged.
  if (auto view = w.viewOf(operand);
      view && !view->strides[columns].isConstant(1) && view->strides[rows].isConstant(1)) {
    std::swap(rows, columns);
    alongK = !alongK;
  }
  Side side;
  auto place = [&](ElementBuilder &e, Value row, Value col) {
    SmallVector<Expr> lines(own);
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
  side.batchFunctor = w.indexFunctor(side.batch, [&](ElementBuilder &e, Value at) {
    Index full = w.indexOf(e, at, batches), index;
    SmallVector<Value> sizes;
    size_t lead = batches.size() - own.size();
    for (auto [i, dim] : llvm::enumerate(own)) {
      // Whether a dim is 1 may be known at run time only.
      Value last = e.sub(e.size(dim), e.index(1)), here = full[lead + i];
      index.push_back(dim == batches[lead + i] ? here : e.minIndex(here, last));
      sizes.push_back(e.size(dim));
    }
    return e.linearize(index, sizes);
  });
  if (side.batchFunctor.empty())
    return std::nullopt;
  return side;
}

/// Batches are a dim of the grid.
static constexpr int64_t mostBatches = 65535;

static std::optional<DeviceKernel> emitMatMul(TemplateWriter &w) {
  auto op = cast<MatMulOp>(w.anchor);
  if (!w.yieldsOne())
    return std::nullopt;
  Shape shape = shapeOf(op.getY());
  ArrayRef<Expr> outer = ArrayRef(shape).drop_back(2);
  w.include("MatMul/MatMul.cuh");
  auto a = describeSide(w, "A", op.getA(), !op.getTransA(), outer);
  auto b = describeSide(w, "B", op.getB(), op.getTransB(), outer);
  if (!a || !b)
    return std::nullopt;
  Expr m = shape[shape.size() - 2], n = shape.back(), k = a->alongK ? a->columns : a->rows,
       batches = elementCount(outer);
  // Batches that share the right side are rows of one product.
  if (b->isShared && a->isEach && a->alongK) {
    m = m * batches;
    batches = Expr(1);
  }
  if (batches.constant().value_or(1) > mostBatches)
    return std::nullopt;
  cuda::MatMulDemand demand;
  demand.extents = {w.guess(batches), w.guess(m), w.guess(n), w.guess(k)};
  demand.alongKA = a->alongK;
  demand.alongKB = b->alongK;
  demand.vectorA = a->vector;
  demand.vectorB = b->vector;
  demand.maySplit = false;
  bool isSkinny = a->alongK && m.constant() && *m.constant() >= 1 &&
                  *m.constant() <= cuda::SkinnyMatMulConfig::mostRows;
  auto form = chooseProduct(w, elementTypeOf(op.getA()), demand, isSkinny);
  if (!form)
    return std::nullopt;
  a->vector = form->vectorA, b->vector = form->vectorB;
  std::string functor = w.epilogue("Epilogue", [&](ElementBuilder &e, Value row, Value col) {
    Index index = w.indexOf(e, row, ArrayRef(shape).drop_back());
    index.push_back(col);
    return index;
  });
  if (functor.empty())
    return std::nullopt;
  w.declare("using A = " + a->type() + ";");
  w.declare("using B = " + b->type() + ";");
  w.declare("using Result = kiln::cuda::RowMajorResult<" + w.resultType() + ", " +
            std::to_string(std::min(w.vectorOf(n), form->vectorOfResult)) + ", Epilogue>;");
  std::string body = "  const int64_t m = " + w.sizeText(m) + ", n = " + w.sizeText(n) +
                     ", k = " + w.sizeText(k) + ";\n" + "  kiln::cuda::" + form->name +
                     "<Shape, A, B, Result>::run(\n      A" + a->value() + ",\n      B" +
                     b->value() + ",\n      Result{out0, m, n, " + functor +
                     "}, int(m), int(n), int(k)" + form->arguments + ");\n";
  return w.finish("MatMul", form->shape,
                  {Expr::ceilDiv(m, form->tileM) * Expr::ceilDiv(n, form->tileN), Expr(1), batches},
                  form->note, body);
}

namespace kiln {
void registerMatMulTemplate(TemplateTable &table);
} // namespace kiln

void kiln::registerMatMulTemplate(TemplateTable &table) {
  table[MatMulOp::getOperationName()] = emitMatMul;
}
