//===- LayerNorm.emit.cpp - Instantiates normalisation of rows ------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Normalization/Normalization.h"
#include "lib/Target/CUDA/Kernels/Common/RowEmitter.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace kiln;

template <typename OpTy> static std::optional<DeviceKernel> emitNorm(TemplateWriter &w) {
  auto op = cast<OpTy>(w.anchor);
  if (!w.yieldsOne())
    return std::nullopt;
  RowEmitter rows(w, op.getX(), static_cast<size_t>(op.getAxis()));
  w.include("LayerNorm/LayerNorm.cuh");
  if (!rows.declare())
    return std::nullopt;
  std::string epsilon;
  llvm::raw_string_ostream(epsilon)
      << llvm::format("float(%.17e), ", op.getEpsilon().convertToDouble());
  return rows.finish("LayerNorm", std::is_same_v<OpTy, StandardizeOp>, epsilon);
}

namespace kiln {
void registerLayerNormTemplate(TemplateTable &table);
} // namespace kiln

void kiln::registerLayerNormTemplate(TemplateTable &table) {
  table[StandardizeOp::getOperationName()].push_back(emitNorm<StandardizeOp>);
  table[RmsNormalizeOp::getOperationName()].push_back(emitNorm<RmsNormalizeOp>);
}
