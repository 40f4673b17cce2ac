//===- Conv.emit.cpp - Instantiates the convolution -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Conv/Conv.h"
#include "lib/Target/CUDA/Kernels/Common/PlaneEmitter.h"
#include "lib/Target/CUDA/Kernels/MatMul/ProductEmitter.h"

using namespace mlir;
using namespace kiln;

/// One or two spatial dims in NCHW; a batch of the product is a group.
static std::optional<DeviceKernel> emitConv(TemplateWriter &w) {
  auto op = cast<ConvOp>(w.anchor);
  Shape weightDims = shapeOf(op.getW());
  PlaneWindows<ConvOp> p(op, op.getX(), op.getY(), ArrayRef(weightDims).drop_front(2));
  if (!w.yieldsOne() || !p.isPlane())
    return std::nullopt;
  w.include("Conv/Conv.cuh");
  auto x = w.prologue("PrologueX", op.getX(), [&](ElementBuilder &e, Value row, Value col) {
    return p.place(w, e, p.in, row, col);
  });
  // A row is a filter, a column one of its taps of a channel.
  auto weights = w.prologue("PrologueW", op.getW(), [&](ElementBuilder &e, Value row, Value col) {
    Index index = {row};
    llvm::append_range(index, w.indexOf(e, col, ArrayRef(weightDims).drop_front()));
    return index;
  });
  std::string functor = w.epilogue("Epilogue", [&](ElementBuilder &e, Value row, Value col) {
    return p.place(w, e, p.out, row, col);
  });
  if (!x || !weights || functor.empty())
    return std::nullopt;
  Expr groups = static_cast<int64_t>(op.getGroup()), channels = weightDims[1],
       filters = Expr::floorDiv(weightDims[0], groups), pixels = p.result.height * p.result.width,
       k = channels * p.kernel.height * p.kernel.width, n = p.in[0] * pixels;

  bool isPointwise = p.kernel.height.isConstant(1) && p.kernel.width.isConstant(1) &&
                     p.stride.height.isConstant(1) && p.stride.width.isConstant(1) &&
                     p.before.height.isConstant(0) && p.before.width.isConstant(0) &&
                     p.size.height == p.result.height && p.size.width == p.result.width;
  int planeVector = w.vectorOf(pixels),
      bytes = static_cast<int>(elementBytes(elementTypeOf(op.getX())));
  cuda::MatMulDemand demand;
  demand.extents = {w.guess(groups), w.guess(filters), w.guess(n), w.guess(k)};
  demand.vectorA = std::min(w.vectorOf(k, bytes), weights->vector);
  demand.vectorB = isPointwise ? std::min(planeVector, x->vector) : 1;
  demand.alongKA = true;
  demand.alongKB = false;
  demand.maySplit = false;
  auto form = chooseProduct(w, elementTypeOf(op.getX()), demand);
  if (!form)
    return std::nullopt;
  std::string geometry = declareGeometry(w, {{"images", p.in[0]},
                                             {"groups", groups},
                                             {"channels", channels},
                                             {"filters", filters},
                                             {"height", p.size.height},
                                             {"width", p.size.width},
                                             {"outHeight", p.result.height},
                                             {"outWidth", p.result.width},
                                             {"kernelHeight", p.kernel.height},
                                             {"kernelWidth", p.kernel.width},
                                             {"strideHeight", p.stride.height},
                                             {"strideWidth", p.stride.width},
                                             {"dilationHeight", p.dilation.height},
                                             {"dilationWidth", p.dilation.width},
                                             {"padTop", p.before.height},
                                             {"padLeft", p.before.width}});
  w.declare("using Weights = kiln::cuda::ConvWeights<" + weights->element + ", " +
            std::to_string(form->vectorA) + ", " + weights->type + ">;");
  w.declare("using Input = kiln::cuda::Im2colNchw<" + x->element + ", Geometry, " +
            std::to_string(form->vectorB) + ", " + x->type + ">;");
  w.declare("using Result = kiln::cuda::NchwResult<" + w.resultType() + ", Geometry, " +
            std::to_string(planeVector) + ", Epilogue>;");
  std::string body = "  const Geometry g = " + geometry + ";\n" +
                     "  kiln::cuda::NchwConv<kiln::cuda::" + form->name +
                     ", Shape, Weights, Input, Result>::run(" + weights->input + ", " +
                     weights->functor + ",\n      Input{" + x->input + ", g, " + x->functor +
                     "}, Result{out0, g, " + functor + "}, g" + form->arguments + ");\n";
  DeviceKernel made = w.finish(
      "Conv", form->shape,
      {Expr::ceilDiv(filters, form->tileM) * Expr::ceilDiv(n, form->tileN), Expr(1), groups},
      form->note, body);
  made.predictedSeconds = form->seconds;
  return made;
}

namespace kiln {
void registerConvTemplate(TemplateTable &table);
} // namespace kiln

void kiln::registerConvTemplate(TemplateTable &table) {
  table[ConvOp::getOperationName()].push_back(emitConv);
}
