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

/// Along the last axis.
template <typename OpTy> static std::optional<DeviceKernel> emitSoftmax(TemplateWriter &w) {
  auto op = cast<OpTy>(w.anchor);
  Shape shape = shapeOf(op.getX());
  auto axis = static_cast<size_t>(op.getAxis());
  if (axis + 1 != shape.size() || !w.yieldsOne())
    return std::nullopt;
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
  table[SoftmaxOp::getOperationName()] = emitSoftmax<SoftmaxOp>;
  table[LogSoftmaxOp::getOperationName()] = emitSoftmax<LogSoftmaxOp>;
}
