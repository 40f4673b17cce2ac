//===- Pooling.emit.cpp - Instantiates maximum and mean over windows ------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Pool/Pool.h"
#include "kiln/Target/CUDA/Schedule.h"
#include "lib/Target/CUDA/Kernels/Common/PlaneEmitter.h"

using namespace mlir;
using namespace kiln;

/// A thread a result. Windows above each other read their common rows again from
/// the L2 cache, neighbours theirs from the L1.
static cuda::FlatDemand demandOf(int64_t planes, int64_t inPixels, int64_t outPixels,
                                 int64_t kernelHeight, int64_t kernelWidth, int64_t strideHeight) {
  cuda::FlatDemand demand;
  demand.threads = planes * outPixels;
  double taps = static_cast<double>(kernelHeight * kernelWidth);
  demand.instructionsPerThread = 40 + 10 * taps;
  int64_t read = planes * inPixels * 4, written = demand.threads * 4;
  demand.traffic = {read * std::max<int64_t>(1, kernelHeight / strideHeight), written, read,
                    written};
  demand.bytesInFlight = static_cast<int>(std::min(taps, 4.0)) * 4;
  demand.cacheWaits = taps / 4;
  return demand;
}

template <typename OpTy>
static std::optional<DeviceKernel> emitPool(TemplateWriter &w, StringRef kind, bool countPadding) {
  auto op = cast<OpTy>(w.anchor);
  Shape kernelDims(op.getKernel().begin(), op.getKernel().end());
  PlaneWindows<OpTy> p(op, op.getX(), op.getY(), kernelDims);
  if (!p.isPlane() || !w.yieldsOne(Float32Type::get(op.getContext())))
    return std::nullopt;
  auto prologue = w.prologue("Prologue", op.getX(), [&](ElementBuilder &e, Value row, Value col) {
    return p.place(w, e, p.in, row, col);
  });
  std::string functor = w.epilogue("Epilogue", [&](ElementBuilder &e, Value row, Value col) {
    return p.place(w, e, p.out, row, col);
  });
  if (!prologue || functor.empty())
    return std::nullopt;
  Expr planes = elementCount(ArrayRef(p.in).take_front(2)),
       pixels = p.result.height * p.result.width;
  auto choice =
      cuda::chooseFlat(w.device, demandOf(w.guess(planes), w.guess(p.size.height * p.size.width),
                                          w.guess(pixels), w.guess(p.kernel.height),
                                          w.guess(p.kernel.width), w.guess(p.stride.height)));
  if (!choice)
    return std::nullopt;

  w.include("Pooling/Pooling.cuh");
  std::string geometry = declareGeometry(w, {{"planes", planes},
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
                                             {"padLeft", p.before.width},
                                             {"padBottom", p.after.height},
                                             {"padRight", p.after.width}});
  std::string body = "  kiln::cuda::Pooling<kiln::cuda::" + kind.str() + ", " +
                     (countPadding ? "true" : "false") + ", Geometry, " + prologue->type +
                     ", Epilogue>::run(" + prologue->input + ", out0, " + geometry + ", " +
                     prologue->functor + ", " + functor + ");\n";
  int threads = choice->config.threads;
  DeviceKernel made = w.finish("Pooling", {{1, 1, 1}, threads, 0},
                               {Expr::ceilDiv(planes * pixels, threads), Expr(1), Expr(1)},
                               choice->prediction.text(), body);
  made.predictedSeconds = choice->seconds;
  return made;
}

namespace kiln {
void registerPoolingTemplate(TemplateTable &table);
} // namespace kiln

void kiln::registerPoolingTemplate(TemplateTable &table) {
  table[MaxPoolOp::getOperationName()].push_back(
      [](TemplateWriter &w) { return emitPool<MaxPoolOp>(w, "MaxPool", false); });
  table[AvgPoolOp::getOperationName()].push_back([](TemplateWriter &w) {
    return emitPool<AvgPoolOp>(w, "AveragePool", cast<AvgPoolOp>(w.anchor).getCountIncludePad());
  });
  table[SumPoolOp::getOperationName()].push_back(
      [](TemplateWriter &w) { return emitPool<SumPoolOp>(w, "SumPool", false); });
}
