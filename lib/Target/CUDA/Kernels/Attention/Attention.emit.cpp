//===- Attention.emit.cpp - Instantiates attention ------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/CUDA/AttentionTemplate.h"
#include "lib/Target/CUDA/Kernels/MatMul/ProductEmitter.h"
#include "llvm/Support/Format.h"
#include <limits>

using namespace mlir;
using namespace kiln;

static std::string number(double value) {
  if (std::isinf(value))
    return value < 0 ? "-INFINITY" : "INFINITY";
  std::string text;
  llvm::raw_string_ostream(text) << "float(" << llvm::format("%.17e", value) << ")";
  return text;
}

/// The text of an operand [batch][row][head][column] as the template sees it: in
/// memory, or computed element by element.
static std::string tensorOf(TemplateWriter &w, StringRef name, Value operand,
                            const std::optional<TemplateWriter::View> &view) {
  Shape shape = shapeOf(operand);
  if (view) {
    auto stride = [&](size_t dim) { return w.sizeText(view->strides[dim]); };
    return "kiln::cuda::AttentionTensor<const " + view->element + ">{" + w.inputOf(view->input) +
           " + " + w.sizeText(view->offset) + ", " + stride(0) + ", " + stride(2) + ", " +
           stride(1) + "}";
  }
  std::string functor =
      w.elementFunctor(name, operand, [&](ElementBuilder &e, Value row, Value col) {
        Index at = w.indexOf(e, row, {shape[0], shape[2], shape[1]});
        return Index{at[0], at[2], at[1], col};
      });
  if (functor.empty())
    return "";
  return ("kiln::cuda::ComputedAttentionTensor<" + name + ">{" + functor + ", int(" +
          w.sizeText(shape[2]) + "), int(" + w.sizeText(shape[1]) + ")}")
      .str();
}

/// What the mask does to a score; rows count the queries of all heads of all batches.
static std::string scoreOf(TemplateWriter &w, AttentionOp op) {
  Value mask = op.getMask();
  if (!mask)
    return "kiln::cuda::Identity<float>{}";
  Shape queries = shapeOf(op.getQ()),
        scores = {queries[0], queries[2], queries[1], shapeOf(op.getK())[1]};
  double fill =
      op.getFill() ? op.getFill()->convertToDouble() : -std::numeric_limits<double>::infinity();
  return w.valueFunctor("Score", [&](ElementBuilder &e, Value score, Value row, Value key) {
    Index at = w.indexOf(e, row, ArrayRef(scores).drop_back());
    at.push_back(key);
    Value element = e.broadcastElement(mask, at, scores);
    if (elementTypeOf(mask).isInteger(1))
      return e.select(element, score, e.constant(e.b.getF32Type(), fill));
    return Value(arith::AddFOp::create(e.b, e.loc, score, e.widen(element)));
  });
}

static cuda::AttentionExtents extentsOf(AttentionOp op) {
  Shape queries = shapeOf(op.getQ()), keys = shapeOf(op.getK()), values = shapeOf(op.getV());
  auto extent = [](const Expr &size) { return static_cast<int>(TemplateWriter::guess(size)); };
  return {extent(queries[0]), extent(queries[2]), extent(keys[2]),  extent(queries[1]),
          extent(keys[1]),    extent(queries[3]), extent(values[3])};
}

/// Rows of heads are held in registers and in shared memory; heads and batches are dims of the
/// grid.
bool kiln::takesAttention(AttentionOp op, const cuda::DeviceFacts &device) {
  Type type = elementTypeOf(op.getQ());
  Shape queries = shapeOf(op.getQ());
  auto depth = queries[3].constant(), width = shapeOf(op.getV())[3].constant();
  constexpr int64_t mostBlocks = 65535;
  return (type.isF32() || type.isF16() || type.isBF16()) && depth && width && *depth > 0 &&
         *width > 0 && queries[0].constant().value_or(1) <= mostBlocks &&
         queries[2].constant().value_or(1) <= mostBlocks &&
         cuda::chooseSimtAttention(device, extentsOf(op), /*causal=*/false);
}

static std::optional<DeviceKernel> emitAttention(TemplateWriter &w) {
  auto op = cast<AttentionOp>(w.anchor);
  Shape queries = shapeOf(op.getQ()), keys = shapeOf(op.getK()), values = shapeOf(op.getV()),
        result = shapeOf(op.getY());
  if (!w.yieldsOne() || !takesAttention(op, w.device))
    return std::nullopt;
  cuda::AttentionExtents extents = extentsOf(op);
  // Products of halves on tensor cores, in rows of whole chunks; else fp32 on the ordinary units.
  constexpr int chunk = cuda::vectorBytes / 2;
  auto unit = tensorUnit(w, elementTypeOf(op.getQ()));
  std::optional<cuda::Choice<cuda::TensorAttentionConfig>> tensor;
  if (unit && unit->first != cuda::Unit::tf32 && extents.headSize % chunk == 0 &&
      extents.valueSize % chunk == 0)
    tensor = cuda::chooseTensorAttention(w.device, unit->first, extents, /*causal=*/false);
  auto simt = cuda::chooseSimtAttention(w.device, extents, /*causal=*/false);
  bool onTensorCores = tensor && tensor->seconds <= simt->seconds;

  w.include("Attention/Attention.cuh");
  int vector = cuda::vectorBytes / 4;
  std::string tensors;
  for (auto [name, operand] : {std::pair("Query", op.getQ()), std::pair("Key", op.getK()),
                               std::pair("Value", op.getV())}) {
    auto view = w.viewOf(operand);
    // Columns lie side by side, and tensor cores' in whole chunks.
    if (view && (!view->strides[3].isConstant(1) || (onTensorCores && view->vector < chunk)))
      view.reset();
    vector = std::min(vector, view ? view->vector : w.vectorOf(shapeOf(operand)[3]));
    std::string text = tensorOf(w, name, operand, view);
    if (text.empty())
      return std::nullopt;
    tensors += text + ",\n      ";
  }
  std::string score = scoreOf(w, op);
  std::string functor = w.epilogue("Epilogue", [&](ElementBuilder &e, Value row, Value col) {
    Index at = w.indexOf(e, row, {result[0], result[2], result[1]});
    return Index{at[0], at[2], at[1], col};
  });
  if (score.empty() || functor.empty())
    return std::nullopt;
  cuda::LaunchShape shape;
  std::string name, note;
  int tileQ = 1;
  double seconds = 0;
  auto take = [&](const auto &choice) {
    shape = {{1, 1, 1}, choice.config.threads(), choice.config.sharedBytes()};
    tileQ = choice.config.tileQ;
    note = choice.prediction.text();
    seconds = choice.seconds;
  };
  if (onTensorCores) {
    const cuda::TensorAttentionConfig &c = tensor->config;
    take(*tensor);
    name = "TensorAttention<Shape, false";
    w.declareShape("TensorAttentionShape", {c.tileK, c.headSize, c.warps, c.stages}, unit->second);
  } else {
    const cuda::SimtAttentionConfig &c = simt->config;
    take(*simt);
    name = "SimtAttention<Shape, false, " + std::to_string(vector);
    w.declareShape("SimtAttentionShape", {c.tileQ, c.tileK, c.headSize, c.warps});
  }
  std::string undefined = op.getUndefined() == "nan"    ? "nan"
                          : op.getUndefined() == "zero" ? "zero"
                                                        : "maskedZero";
  std::string sizes;
  for (const Expr &size :
       {queries[0], queries[2], keys[2], queries[1], keys[1], queries[3], values[3]})
    sizes += (sizes.empty() ? "int(" : ", int(") + w.sizeText(size) + ")";
  std::string type = w.resultType(), row = w.sizeText(result[2] * result[3]);
  std::string body = "  kiln::cuda::" + name + ", " + score.substr(0, score.find('{')) +
                     ", Epilogue, kiln::cuda::Undefined::" + undefined + ">::run(\n      " +
                     tensors + "kiln::cuda::AttentionTensor<" + type + ">{out0, " +
                     w.sizeText(result[1] * result[2] * result[3]) + ", " + w.sizeText(result[3]) +
                     ", " + row + "},\n      {" + sizes + "},\n      " +
                     number(op.getScale().convertToDouble()) + ", " + score + ", " + functor +
                     ");\n";
  DeviceKernel made = w.finish(
      "Attention", shape, {Expr::ceilDiv(queries[1], tileQ), queries[2], queries[0]}, note, body);
  made.predictedSeconds = seconds;
  return made;
}

namespace kiln {
void registerAttentionTemplate(TemplateTable &table);
} // namespace kiln

void kiln::registerAttentionTemplate(TemplateTable &table) {
  table[AttentionOp::getOperationName()].push_back(emitAttention);
}
