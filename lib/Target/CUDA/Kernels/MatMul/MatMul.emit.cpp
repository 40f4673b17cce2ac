//===- MatMul.emit.cpp - Instantiates the matrix product ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/MatMul/MatMul.h"
#include "kiln/Target/CUDA/Schedule.h"
#include "kiln/Target/CUDA/Template.h"

using namespace mlir;
using namespace kiln;

/// How the batches of an operand are found.
enum class Batches { Each, Shared };

static std::optional<Batches> batchesOf(ArrayRef<Expr> operand, ArrayRef<Expr> result) {
  if (llvm::all_of(operand, [](const Expr &dim) { return dim.isConstant(1); }))
    return Batches::Shared;
  if (operand == result)
    return Batches::Each;
  return std::nullopt;
}

static std::optional<DeviceKernel> emitMatMul(TemplateWriter &w) {
  auto op = cast<MatMulOp>(w.anchor);
  Type f32 = Float32Type::get(op.getContext());
  std::string a = w.inputOf(op.getA()), b = w.inputOf(op.getB());
  if (a.empty() || b.empty() || !w.yieldsOne(f32))
    return std::nullopt;
  Shape shapeA = shapeOf(op.getA()), shapeB = shapeOf(op.getB()), shape = shapeOf(op.getY());
  auto batchA = batchesOf(ArrayRef(shapeA).drop_back(2), ArrayRef(shape).drop_back(2));
  auto batchB = batchesOf(ArrayRef(shapeB).drop_back(2), ArrayRef(shape).drop_back(2));
  if (!batchA || !batchB)
    return std::nullopt;
  bool transA = op.getTransA(), transB = op.getTransB();
  Expr m = shape[shape.size() - 2], n = shape.back(), k = shapeA[shapeA.size() - (transA ? 2 : 1)],
       batches = elementCount(ArrayRef(shape).drop_back(2));
  // Batches that share the right side are rows of one product.
  if (*batchB == Batches::Shared && *batchA == Batches::Each && !transA) {
    m = m * batches;
    batches = Expr(1);
  }
  cuda::MatMulDemand demand;
  demand.extents = {w.guess(batches), w.guess(m), w.guess(n), w.guess(k)};
  demand.alongKA = !transA;
  demand.alongKB = transB;
  demand.vectorA = w.vectorOf(transA ? m : k);
  demand.vectorB = w.vectorOf(transB ? k : n);
  demand.maySplit = false;
  auto choice = cuda::chooseSimtMatMul(w.device, demand);
  if (!choice)
    return std::nullopt;
  const cuda::SimtMatMulConfig &config = choice->config;

  w.include("MatMul/MatMul.cuh");
  std::string functor = w.epilogue("Epilogue", [&](ElementBuilder &e, Value row, Value col) {
    Index index = w.indexOf(e, row, ArrayRef(shape).drop_back());
    index.push_back(col);
    return index;
  });
  if (functor.empty())
    return std::nullopt;
  auto operand = [&](StringRef name, bool alongK, int vector, Batches each) {
    w.declare("using " + name + " = kiln::cuda::StridedOperand<float, " +
              (alongK ? "true" : "false") + ", " + Twine(vector) +
              ", kiln::cuda::Identity<float>, kiln::cuda::" +
              (each == Batches::Each ? "EachBatch" : "SharedByBatches") + ">;");
  };
  w.declareShape("SimtShape",
                 {config.tileM, config.tileN, config.tileK, config.threadM, config.threadN});
  operand("A", !transA, demand.vectorA, *batchA);
  operand("B", transB, demand.vectorB, *batchB);
  w.declare("using Result = kiln::cuda::RowMajorResult<float, " + std::to_string(w.vectorOf(n)) +
            ", Epilogue>;");
  std::string M = w.sizeText(m), N = w.sizeText(n), K = w.sizeText(k);
  std::string body = "  const int64_t m = " + M + ", n = " + N + ", k = " + K + ";\n" +
                     "  kiln::cuda::SimtMatMul<Shape, A, B, Result>::run(A{" + a + ", " +
                     (transA ? "m, k" : "k, m") + "}, B{" + b + ", " + (transB ? "k, n" : "n, k") +
                     "},\n      Result{out0, m, n, " + functor + "}, int(m), int(n), int(k), " +
                     std::to_string(choice->group) + ");\n";
  return w.finish(
      "MatMul", {{1, 1, 1}, config.threads(), config.sharedBytes()},
      {Expr::ceilDiv(m, config.tileM) * Expr::ceilDiv(n, config.tileN), Expr(1), batches},
      choice->prediction.text(), body);
}

namespace kiln {
void registerMatMulTemplate(TemplateTable &table);
} // namespace kiln

void kiln::registerMatMulTemplate(TemplateTable &table) {
  table[MatMulOp::getOperationName()].push_back(emitMatMul);
}
