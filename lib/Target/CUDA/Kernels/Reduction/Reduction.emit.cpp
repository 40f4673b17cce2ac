//===- Reduction.emit.cpp - Instantiates reductions -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Reduce/Reduce.h"
#include "lib/Target/CUDA/Kernels/Common/RowEmitter.h"
#include "lib/Target/CUDA/Kernels/Reduction/Reduction.config.h"

using namespace mlir;
using namespace kiln;

/// A stretch of neighbouring axes: [outer][length][columns], rows of a matrix when
/// nothing is behind them.
template <typename OpTy>
static std::optional<DeviceKernel> emitReduction(TemplateWriter &w, StringRef combine,
                                                 bool isMean) {
  auto op = cast<OpTy>(w.anchor);
  Type f32 = Float32Type::get(op.getContext());
  ArrayRef<int64_t> axes = op.getAxes();
  Shape shape = shapeOf(op.getX());
  if (axes.empty() || elementTypeOf(op.getX()) != f32 || !w.yieldsOne(f32))
    return std::nullopt;
  auto first = static_cast<size_t>(axes.front()), last = static_cast<size_t>(axes.back()) + 1;
  if (last - first != axes.size())
    return std::nullopt;
  Expr outer = elementCount(ArrayRef(shape).take_front(first)),
       length = elementCount(ArrayRef(shape).slice(first, last - first)),
       columns = elementCount(ArrayRef(shape).drop_front(last));
  bool alongRows = columns.isConstant(1);

  auto prologue = w.prologue("Prologue", op.getX(), [&](ElementBuilder &e, Value row, Value col) {
    // Rows count outer and, in columns, the places along the axes.
    size_t split = alongRows ? first : last;
    Index at = w.indexOf(e, row, ArrayRef(shape).take_front(split));
    llvm::append_range(at, w.indexOf(e, col, ArrayRef(shape).drop_front(split)));
    return at;
  });
  if (!prologue)
    return std::nullopt;
  std::string functor = w.epilogue("Epilogue", [&](ElementBuilder &e, Value row, Value col) {
    Index at = w.indexOf(e, row, ArrayRef(shape).take_front(first));
    if (op.getKeepdims())
      at.append(last - first, e.index(0));
    if (last < shape.size())
      llvm::append_range(at, w.indexOf(e, col, ArrayRef(shape).drop_front(last)));
    return at;
  });
  if (functor.empty())
    return std::nullopt;
  w.include("Reduction/Reduction.cuh");
  std::string type = "Epilogue", L = w.sizeText(length);
  if (isMean) {
    w.declare(
        "struct Mean {\n  float count;\n  Epilogue then;\n"
        "  __device__ __forceinline__ float operator()(float value, long row, long col) const {\n"
        "    return then(value / count, row, col);\n  }\n};");
    type = "Mean";
    functor = "Mean{float(" + L + "), " + functor + "}";
  }
  std::string combiner = ("kiln::cuda::" + combine).str();
  std::string functors = combiner + "{}, " + prologue->functor + ", " + functor + ");\n";
  if (!alongRows) {
    auto choice =
        cuda::chooseColumns(w.device, w.guess(outer), w.guess(length), w.guess(columns), 4, 4);
    if (!choice)
      return std::nullopt;
    const cuda::ColumnConfig &c = choice->config;
    DeviceKernel made = w.finish(
        "Reduction", {{1, 1, 1}, c.threads(), 0},
        {Expr::ceilDiv(columns, cuda::warpLanes), Expr(1), outer}, choice->prediction.text(),
        "  kiln::cuda::ReduceColumns<" + std::to_string(c.warps) + ", float, " + combiner + ", " +
            prologue->type + ", " + type + ">::run(" + prologue->input + ", out0, int(" + L +
            "), " + w.sizeText(columns) + ", " + functors);
    made.predictedSeconds = choice->seconds;
    return made;
  }
  auto choice = cuda::chooseRows(w.device, w.guess(outer), w.guess(length),
                                 std::min(w.vectorOf(length), prologue->vector), 4, 4);
  if (!choice)
    return std::nullopt;
  const cuda::RowConfig &c = choice->config;
  declareRowShape(w, c);
  DeviceKernel made =
      w.finish("Reduction", {{1, 1, 1}, c.threads(), 0},
               {Expr::ceilDiv(outer, c.rowsPerBlock), Expr(1), Expr(1)}, choice->prediction.text(),
               "  kiln::cuda::ReduceRows<Shape, float, " + combiner + ", " + prologue->type + ", " +
                   type + ">::run(" + prologue->input + ", out0, " + w.sizeText(outer) + ", int(" +
                   L + "), int(" + L + "), " + functors);
  made.predictedSeconds = choice->seconds;
  return made;
}

namespace kiln {
void registerReductionTemplate(TemplateTable &table);
} // namespace kiln

void kiln::registerReductionTemplate(TemplateTable &table) {
  table[ReduceSumOp::getOperationName()].push_back(
      [](TemplateWriter &w) { return emitReduction<ReduceSumOp>(w, "Sum", false); });
  table[ReduceMeanOp::getOperationName()].push_back(
      [](TemplateWriter &w) { return emitReduction<ReduceMeanOp>(w, "Sum", true); });
  table[ReduceProdOp::getOperationName()].push_back(
      [](TemplateWriter &w) { return emitReduction<ReduceProdOp>(w, "Product", false); });
  table[ReduceMaxOp::getOperationName()].push_back(
      [](TemplateWriter &w) { return emitReduction<ReduceMaxOp>(w, "Max", false); });
  table[ReduceMinOp::getOperationName()].push_back(
      [](TemplateWriter &w) { return emitReduction<ReduceMinOp>(w, "Min", false); });
}
