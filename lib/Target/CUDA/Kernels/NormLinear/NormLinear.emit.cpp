//===- NormLinear.emit.cpp - Instantiates a norm before a product ---------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/MatMul/MatMul.h"
#include "dialects/Kiln/ops/Normalization/Normalization.h"
#include "lib/Target/CUDA/Kernels/MatMul/ProductEmitter.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace kiln;

/// A product of rows that a norm over them makes, with pointwise ops in between: what
/// rules outline as one fusion.
static std::optional<DeviceKernel> emitNormLinear(TemplateWriter &w) {
  auto op = cast<MatMulOp>(w.anchor);
  Operation *norm = w.rowsBefore();
  if (!norm || !isa<StandardizeOp, RmsNormalizeOp>(norm) || !w.yieldsOne() || op.getTransA())
    return std::nullopt;
  bool centred = isa<StandardizeOp>(norm);
  auto epsilon =
      centred ? cast<StandardizeOp>(norm).getEpsilon() : cast<RmsNormalizeOp>(norm).getEpsilon();
  Shape rows = shapeOf(op.getA()), shape = shapeOf(op.getY());
  Expr m = elementCount(ArrayRef(shape).drop_back()), n = shape.back(), k = rows.back();
  auto place = [](const Shape &dims) {
    return [&](ElementBuilder &e, Value row, Value col) {
      Index at = TemplateWriter::indexOf(e, row, ArrayRef(dims).drop_back());
      at.push_back(col);
      return at;
    };
  };
  w.include("NormLinear/NormLinear.cuh");
  auto x = w.prologue("PrologueX", norm->getOperand(0), place(rows));
  auto b = describeSide(w, "B", op.getB(), op.getTransB(), ArrayRef(shape).drop_back(2));
  if (!x || !b || !b->isShared)
    return std::nullopt;
  std::string change =
      w.valueFunctor("Change", [&](ElementBuilder &e, Value value, Value row, Value col) {
        e.setSource(norm->getResult(0), [=](ElementBuilder &, ArrayRef<Value>) { return value; });
        return e.widen(e.element(op.getA(), place(rows)(e, row, col)));
      });
  std::string functor = w.epilogue("Epilogue", place(shape));
  cuda::MatMulDemand demand{{1, w.guess(m), w.guess(n), w.guess(k)}};
  demand.vectorA = std::min({w.vectorOf(k), x->vector, 4});
  demand.vectorB = b->vector = std::min(b->vector, 4);
  demand.alongKB = b->alongK;
  auto choice = cuda::chooseNormLinear(w.device, demand, centred);
  if (change.empty() || functor.empty() || !choice)
    return std::nullopt;
  const cuda::SimtMatMulConfig &c = choice->config.product;
  w.declareShape("NormLinearShape", {c.tileM, c.tileN, c.tileK, c.threadM, c.threadN});
  w.declare("using B = " + b->type() + ";");
  w.declare("using Result = kiln::cuda::RowMajorResult<" + w.resultType() + ", " +
            std::to_string(w.vectorOf(n)) + ", Epilogue>;");
  std::string body;
  llvm::raw_string_ostream(body) << "  const int64_t m = " << w.sizeText(m)
                                 << ", n = " << w.sizeText(n) << ", k = " << w.sizeText(k)
                                 << ";\n  kiln::cuda::NormLinear<Shape, "
                                 << (centred ? "true" : "false") << ", " << demand.vectorA << ", "
                                 << x->type << ", Change, B, Result>::run(\n      " << x->input
                                 << ", " << llvm::format("float(%.17e)", epsilon.convertToDouble())
                                 << ", B" << b->value() << ",\n      Result{out0, m, n, " << functor
                                 << "}, int(m), int(n), int(k), " << choice->group << ", "
                                 << x->functor << ", " << change << ");\n";
  DeviceKernel made =
      w.finish("NormLinear", {{1, 1, 1}, choice->config.threads(), choice->config.sharedBytes()},
               {Expr::ceilDiv(m, c.tileM) * Expr::ceilDiv(n, c.tileN), Expr(1), Expr(1)},
               choice->prediction.text(), body);
  made.predictedSeconds = choice->seconds;
  return made;
}

namespace kiln {
void registerNormLinearTemplate(TemplateTable &table);
} // namespace kiln

void kiln::registerNormLinearTemplate(TemplateTable &table) {
  table[MatMulOp::getOperationName()].push_back(emitNormLinear);
}
