//===- Softmax.emit.cpp - Instantiates softmax and its logarithm ----------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Softmax/Softmax.h"
#include "lib/Target/CUDA/Kernels/Common/RowEmitter.h"

using namespace mlir;
using namespace kiln;

/// Along an axis with others behind it: a thread takes one of their places.
static std::optional<DeviceKernel> emitColumns(TemplateWriter &w, Value x, size_t axis,
                                               bool isLog) {
  Shape shape = shapeOf(x);
  Expr outer = elementCount(ArrayRef(shape).take_front(axis)), length = shape[axis],
       columns = elementCount(ArrayRef(shape).drop_front(axis + 1));
  auto place = [&](ElementBuilder &e, Value row, Value col) {
    Index at = w.indexOf(e, row, ArrayRef(shape).take_front(axis + 1));
    llvm::append_range(at, w.indexOf(e, col, ArrayRef(shape).drop_front(axis + 1)));
    return at;
  };
  auto prologue = w.prologue("Prologue", x, place);
  std::string functor = w.epilogue("Epilogue", place);
  if (!prologue || functor.empty())
    return std::nullopt;
  cuda::FlatDemand demand;
  int64_t count = w.guess(length), bytes = w.guess(outer * columns) * count * 4;
  demand.threads = w.guess(outer * columns);
  // Read twice; about thirty instructions an element each time, exponentials among them.
  demand.instructionsPerThread = 30 + 60 * static_cast<double>(count);
  demand.traffic = {2 * bytes, bytes, bytes, bytes};
  demand.coalescing = std::min(1.0, static_cast<double>(w.guess(columns)) / cuda::warpLanes);
  demand.memoryWaits = std::max(1.0, static_cast<double>(count) / 4);
  demand.cacheWaits = demand.memoryWaits;
  auto choice = cuda::chooseFlat(w.device, demand);
  if (!choice)
    return std::nullopt;
  w.include("Softmax/Softmax.cuh");
  int threads = choice->config.threads;
  DeviceKernel made = w.finish(
      "Softmax", {{1, 1, 1}, threads, 0},
      {Expr::ceilDiv(outer * columns, threads), Expr(1), Expr(1)}, choice->prediction.text(),
      std::string("  kiln::cuda::SoftmaxColumns<") + (isLog ? "true" : "false") + ", " +
          prologue->type + ", Epilogue>::run(" + prologue->input + ", out0, " + w.sizeText(outer) +
          ", int(" + w.sizeText(length) + "), " + w.sizeText(columns) + ", " + prologue->functor +
          ", " + functor + ");\n");
  made.predictedSeconds = choice->seconds;
  return made;
}

template <typename OpTy> static std::optional<DeviceKernel> emitSoftmax(TemplateWriter &w) {
  auto op = cast<OpTy>(w.anchor);
  Shape shape = shapeOf(op.getX());
  auto axis = static_cast<size_t>(op.getAxis());
  if (!w.yieldsOne())
    return std::nullopt;
  if (axis + 1 != shape.size())
    return emitColumns(w, op.getX(), axis, std::is_same_v<OpTy, LogSoftmaxOp>);
  RowEmitter rows(w, op.getX(), axis);
  w.include("Softmax/Softmax.cuh");
  if (!rows.declare())
    return std::nullopt;
  return rows.finish("Softmax", std::is_same_v<OpTy, LogSoftmaxOp>, "");
}

namespace kiln {
void registerSoftmaxTemplate(TemplateTable &table);
} // namespace kiln

void kiln::registerSoftmaxTemplate(TemplateTable &table) {
  table[SoftmaxOp::getOperationName()].push_back(emitSoftmax<SoftmaxOp>);
  table[LogSoftmaxOp::getOperationName()].push_back(emitSoftmax<LogSoftmaxOp>);
}
