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

/// Batches are a dim of the grid.
static constexpr int64_t mostBatches = 65535;

static std::optional<DeviceKernel> emitMatMul(TemplateWriter &w) {
  auto op = cast<MatMulOp>(w.anchor);
  if (!w.yieldsOne() || w.rowsBefore())
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
  DeviceKernel made =
      w.finish("MatMul", form->shape,
               {Expr::ceilDiv(m, form->tileM) * Expr::ceilDiv(n, form->tileN), Expr(1), batches},
               form->note, body);
  made.predictedSeconds = form->seconds;
  return made;
}

namespace kiln {
void registerMatMulTemplate(TemplateTable &table);
} // namespace kiln

void kiln::registerMatMulTemplate(TemplateTable &table) {
  table[MatMulOp::getOperationName()].push_back(emitMatMul);
}
