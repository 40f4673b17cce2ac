//===- Conv.emit.cpp - Instantiates the convolution -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Conv/Conv.h"
#include "lib/Target/CUDA/Kernels/Conv/Conv.config.h"
#include "lib/Target/CUDA/Kernels/MatMul/ProductEmitter.h"

using namespace mlir;
using namespace kiln;

/// One or two spatial dims, fp32, in NCHW; a batch of the product is a group.
static std::optional<DeviceKernel> emitConv(TemplateWriter &w) {
  auto op = cast<ConvOp>(w.anchor);
  Shape in = shapeOf(op.getX()), kernel = shapeOf(op.getW()), out = shapeOf(op.getY());
  size_t spatial = in.size() - 2;
  if (!w.yieldsOne() || spatial > 2)
    return std::nullopt;
  // Rows are images and channels; filters and the channels of a group.
  auto planes = [&](const Shape &shape) {
    return [&](ElementBuilder &e, Value row, Value col) {
      Index index = w.indexOf(e, row, ArrayRef(shape).take_front(2));
      llvm::append_range(index, w.indexOf(e, col, ArrayRef(shape).drop_front(2)));
      return index;
    };
  };
  w.include("Conv/Conv.cuh");
  auto x = w.prologue("PrologueX", op.getX(), planes(in));
  auto weights = w.prologue("PrologueW", op.getW(), [&](ElementBuilder &e, Value row, Value col) {
    Index index = {row};
    llvm::append_range(index, w.indexOf(e, col, ArrayRef(kernel).drop_front()));
    return index;
  });
  if (!x || !weights)
    return std::nullopt;
  Shape pads = exprsOf(op.getPads());
  int64_t groups = static_cast<int64_t>(op.getGroup());
  // One dimension is a height of 1.
  auto inner = [&](ArrayRef<Expr> dims, const Expr &height) {
    return spatial == 2 ? std::pair(dims[0], dims[1]) : std::pair(height, dims[0]);
  };
  auto [height, width] = inner(ArrayRef(in).drop_front(2), 1);
  auto [outHeight, outWidth] = inner(ArrayRef(out).drop_front(2), 1);
  auto [kernelHeight, kernelWidth] = inner(ArrayRef(kernel).drop_front(2), 1);
  auto [padTop, padLeft] = inner(ArrayRef(pads).take_front(spatial), 0);
  auto [strideY, strideX] = spatial == 2 ? std::pair(op.getStrides()[0], op.getStrides()[1])
                                         : std::pair(int64_t(1), op.getStrides()[0]);
  auto [dilationY, dilationX] = spatial == 2 ? std::pair(op.getDilations()[0], op.getDilations()[1])
                                             : std::pair(int64_t(1), op.getDilations()[0]);
  Expr channels = kernel[1], filters = Expr::floorDiv(kernel[0], groups),
       pixels = outHeight * outWidth, k = channels * kernelHeight * kernelWidth, n = in[0] * pixels;

  bool isPointwise = kernelHeight.isConstant(1) && kernelWidth.isConstant(1) && strideY == 1 &&
                     strideX == 1 && padTop.isConstant(0) && padLeft.isConstant(0) &&
                     height == outHeight && width == outWidth;
  int planeVector = w.vectorOf(pixels),
      bytes = static_cast<int>(elementBytes(elementTypeOf(op.getX())));
  cuda::MatMulDemand demand;
  demand.extents = {groups, w.guess(filters), w.guess(n), w.guess(k)};
  demand.vectorA = std::min(w.vectorOf(k, bytes), weights->vector);
  demand.vectorB = isPointwise ? std::min(planeVector, x->vector) : 1;
  demand.alongKA = true;
  demand.alongKB = false;
  demand.maySplit = false;
  auto form = chooseProduct(w, elementTypeOf(op.getX()), demand);
  if (!form)
    return std::nullopt;
  std::string functor = w.epilogue("Epilogue", planes(out));
  if (functor.empty())
    return std::nullopt;
  // What is known when compiling is static: divisions by it are multiplications.
  std::string fields, statics, values;
  for (auto [name, size] :
       std::initializer_list<std::pair<StringRef, Expr>>{{"images", in[0]},
                                                         {"groups", groups},
                                                         {"channels", channels},
                                                         {"filters", filters},
                                                         {"height", height},
                                                         {"width", width},
                                                         {"outHeight", outHeight},
                                                         {"outWidth", outWidth},
                                                         {"kernelHeight", kernelHeight},
                                                         {"kernelWidth", kernelWidth},
                                                         {"strideHeight", strideY},
                                                         {"strideWidth", strideX},
                                                         {"dilationHeight", dilationY},
                                                         {"dilationWidth", dilationX},
                                                         {"padTop", padTop},
                                                         {"padLeft", padLeft}}) {
    if (auto number = size.constant()) {
      statics += ("  static constexpr int " + name + " = " + Twine(*number) + ";\n").str();
    } else {
      fields += ("  int " + name + ";\n").str();
      values += (values.empty() ? "" : ", ") + ("int(" + w.sizeText(size) + ")");
    }
  }
  w.declare("struct Geometry {\n" + statics + fields + "};");
  w.declare("using Weights = kiln::cuda::ConvWeights<" + weights->element + ", " +
            std::to_string(form->vectorA) + ", " + weights->type + ">;");
  w.declare("using Input = kiln::cuda::Im2colNchw<" + x->element + ", Geometry, " +
            std::to_string(form->vectorB) + ", " + x->type + ">;");
  w.declare("using Result = kiln::cuda::NchwResult<" + w.resultType() + ", Geometry, " +
            std::to_string(planeVector) + ", Epilogue>;");
  std::string body = "  const Geometry g{" + values + "};\n" +
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
