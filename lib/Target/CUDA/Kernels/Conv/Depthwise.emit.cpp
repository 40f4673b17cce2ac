//===- Depthwise.emit.cpp - Instantiates convolutions of single channels --===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Conv/Conv.h"
#include "kiln/Target/CUDA/Schedule.h"
#include "lib/Target/CUDA/Kernels/Common/PlaneEmitter.h"

using namespace mlir;
using namespace kiln;

/// One input channel a group, fp32, in NCHW. The window of a block is sized when
/// compiling, so that of the kernel has to be known.
static std::optional<DeviceKernel> emitDepthwise(TemplateWriter &w) {
  auto op = cast<ConvOp>(w.anchor);
  Shape weightDims = shapeOf(op.getW());
  std::string weights = w.inputOf(op.getW());
  if (!weightDims[1].isConstant(1) || weights.empty() || op.getGroup() < 2 ||
      !w.yieldsOne(Float32Type::get(op.getContext())))
    return std::nullopt;
  PlaneWindows<ConvOp> p(op, op.getX(), op.getY(), ArrayRef(weightDims).drop_front(2));
  if (!p.isPlane() || !p.kernel.height.constant() || !p.kernel.width.constant())
    return std::nullopt;
  auto number = [&](const Expr &size) { return static_cast<int>(w.guess(size)); };
  Expr groups = static_cast<int64_t>(op.getGroup()),
       filters = Expr::floorDiv(weightDims[0], groups);
  cuda::ConvGeometry guessed{
      number(p.in[0]),           number(groups),          1,
      number(filters),           number(p.size.height),   number(p.size.width),
      number(p.result.height),   number(p.result.width),  number(p.kernel.height),
      number(p.kernel.width),    number(p.stride.height), number(p.stride.width),
      number(p.dilation.height), number(p.dilation.width)};
  auto choice = cuda::chooseDepthwise(w.device, guessed, 4, 4);
  if (!choice)
    return std::nullopt;
  const cuda::DepthwiseConfig &config = choice->config;

  auto prologue = w.prologue("Prologue", op.getX(), [&](ElementBuilder &e, Value row, Value col) {
    return p.place(w, e, p.in, row, col);
  });
  std::string functor = w.epilogue("Epilogue", [&](ElementBuilder &e, Value row, Value col) {
    return p.place(w, e, p.out, row, col);
  });
  if (!prologue || functor.empty())
    return std::nullopt;
  w.include("Conv/Depthwise.cuh");
  std::string geometry = declareGeometry(w, {{"groups", groups},
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
  w.declareShape("DepthwiseShape", {config.tileHeight, config.tileWidth, config.threads});
  std::string body = "  kiln::cuda::Depthwise<Shape, float, Geometry, " + prologue->type +
                     ", Epilogue>::run(" + prologue->input + ", " + weights + ", out0, " +
                     geometry + ", " + prologue->functor + ", " + functor + ");\n";
  Expr tiles = Expr::ceilDiv(p.result.height, config.tileHeight) *
               Expr::ceilDiv(p.result.width, config.tileWidth);
  DeviceKernel made =
      w.finish("Depthwise", {{1, 1, 1}, config.threads, config.sharedBytes(guessed)},
               {tiles * p.out[0] * p.out[1], Expr(1), Expr(1)}, choice->prediction.text(), body);
  made.predictedSeconds = choice->seconds;
  return made;
}

namespace kiln {
void registerDepthwiseTemplate(TemplateTable &table);
} // namespace kiln

void kiln::registerDepthwiseTemplate(TemplateTable &table) {
  table[ConvOp::getOperationName()].push_back(emitDepthwise);
}
