//===- ArgReduce.emit.cpp - Instantiates arg-reductions -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ArgReduce/ArgReduce.h"
#include "kiln/Target/CUDA/Schedule.h"
#include "kiln/Target/CUDA/Template.h"

using namespace mlir;
using namespace kiln;

/// [outer][length][columns]; a warp a row where nothing is behind the axis, else a
/// thread a column. Nothing follows: places are no floats.
template <typename OpTy>
static std::optional<DeviceKernel> emitArgReduce(TemplateWriter &w, bool smallest) {
  auto op = cast<OpTy>(w.anchor);
  auto results = w.kernel.getBody().front().getTerminator()->getOperands();
  if (results.size() != 1 || results[0] != op.getY() || !elementTypeOf(op.getX()).isF32())
    return std::nullopt;
  Shape shape = shapeOf(op.getX());
  auto axis = static_cast<size_t>(op.getAxis());
  Expr outer = elementCount(ArrayRef(shape).take_front(axis)), length = shape[axis],
       columns = elementCount(ArrayRef(shape).drop_front(axis + 1));
  bool alongRows = columns.isConstant(1);
  auto prologue = w.prologue("Prologue", op.getX(), [&](ElementBuilder &e, Value row, Value col) {
    // As in Reduction.emit.cpp: rows count the axis, too, where it is not the last.
    size_t split = alongRows ? axis : axis + 1;
    Index at = w.indexOf(e, row, ArrayRef(shape).take_front(split));
    llvm::append_range(at, w.indexOf(e, col, ArrayRef(shape).drop_front(split)));
    return at;
  });
  if (!prologue)
    return std::nullopt;
  cuda::FlatDemand demand;
  int64_t places = w.guess(outer * columns), most = w.guess(length);
  double trips = static_cast<double>(alongRows ? cuda::ceilDiv(most, cuda::warpLanes) : most);
  demand.threads = places * (alongRows ? cuda::warpLanes : 1);
  demand.instructionsPerThread = 30 + trips * 12 + (alongRows ? 40 : 0);
  demand.traffic = {places * most * 4, places * 8, places * most * 4, places * 8};
  demand.memoryWaits = std::max(1.0, trips / 4);
  auto choice = cuda::chooseFlat(w.device, demand);
  if (!choice)
    return std::nullopt;
  w.include("Reduction/Reduction.cuh");
  int threads = choice->config.threads;
  std::string body = std::string("  kiln::cuda::ArgReduce<") + (smallest ? "true" : "false") +
                     ", " + (op.getSelectLast() ? "true" : "false") + ", " + prologue->type +
                     (alongRows ? ">::rows(" : ">::columns(") + prologue->input + ", out0, " +
                     w.sizeText(outer) + ", int(" + w.sizeText(length) + "), " +
                     (alongRows ? "" : w.sizeText(columns) + ", ") + prologue->functor + ");\n";
  Expr all = outer * columns * (alongRows ? cuda::warpLanes : 1);
  DeviceKernel made =
      w.finish("ArgReduce", {{1, 1, 1}, threads, 0},
               {Expr::ceilDiv(all, threads), Expr(1), Expr(1)}, choice->prediction.text(), body);
  made.predictedSeconds = choice->seconds;
  return made;
}

namespace kiln {
void registerArgReduceTemplate(TemplateTable &table);
} // namespace kiln

void kiln::registerArgReduceTemplate(TemplateTable &table) {
  table[ArgMaxOp::getOperationName()].push_back(
      [](TemplateWriter &w) { return emitArgReduce<ArgMaxOp>(w, false); });
  table[ArgMinOp::getOperationName()].push_back(
      [](TemplateWriter &w) { return emitArgReduce<ArgMinOp>(w, true); });
}
