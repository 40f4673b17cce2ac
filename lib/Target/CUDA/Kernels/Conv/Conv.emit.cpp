//===- Conv.emit.cpp - Instantiates the convolution -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Conv/Conv.h"
#include "kiln/Target/CUDA/Schedule.h"
#include "kiln/Target/CUDA/Template.h"
#include "lib/Target/CUDA/Kernels/Conv/Conv.config.h"

using namespace mlir;
using namespace kiln;

/// One or two spatial dims, fp32, in NCHW; a batch of the product is a group.
static std::optional<DeviceKernel> emitConv(TemplateWriter &w) {
  auto op = cast<ConvOp>(w.anchor);
  Type f32 = Float32Type::get(op.getContext());
  std::string x = w.inputOf(op.getX()), weights = w.inputOf(op.getW());
  Shape in = shapeOf(op.getX()), kernel = shapeOf(op.getW()), out = shapeOf(op.getY());
  size_t spatial = in.size() - 2;
  if (x.empty() || weights.empty() || !w.yieldsOne(f32) || spatial > 2)
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
  int planeVector = w.vectorOf(pixels);
  cuda::MatMulDemand demand;
  demand.extents = {groups, w.guess(filters), w.guess(n), w.guess(k)};
  demand.vectorA = w.vectorOf(k);
  demand.vectorB = isPointwise ? planeVector : 1;
  demand.alongKA = true;
  demand.alongKB = false;
  demand.maySplit = false;
  auto choice = cuda::chooseSimtMatMul(w.device, demand);
  if (!choice)
    return std::nullopt;
  const cuda::SimtMatMulConfig &config = choice->config;

  w.include("Conv/Conv.cuh");
  std::string functor = w.epilogue("Epilogue", [&](ElementBuilder &e, Value row, Value col) {
    Index index = w.indexOf(e, row, ArrayRef(out).take_front(2));
    llvm::append_range(index, w.indexOf(e, col, ArrayRef(out).drop_front(2)));
    return index;
  });
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
  w.declareShape("SimtShape",
                 {config.tileM, config.tileN, config.tileK, config.threadM, config.threadN});
  w.declare("using Input = kiln::cuda::Im2colNchw<float, Geometry, " +
            std::to_string(demand.vectorB) + ">;");
  w.declare("using Result = kiln::cuda::NchwResult<float, Geometry, " +
            std::to_string(planeVector) + ", Epilogue>;");
  std::string body = "  const Geometry g{" + values + "};\n" + "  kiln::cuda::SimtConv<Shape, " +
                     std::to_string(demand.vectorA) + ", Input, Result>::run(" + weights +
                     ", Input{" + x + ", g}, Result{out0, g, " + functor + "}, g, " +
                     std::to_string(choice->group) + ");\n";
  return w.finish(
      "Conv", {{1, 1, 1}, config.threads(), config.sharedBytes()},
      {Expr::ceilDiv(filters, config.tileM) * Expr::ceilDiv(n, config.tileN), Expr(1), groups},
      choice->prediction.text(), body);
}

namespace kiln {
void registerConvTemplate(TemplateTable &table);
} // namespace kiln

void kiln::registerConvTemplate(TemplateTable &table) {
  table[ConvOp::getOperationName()].push_back(emitConv);
}
