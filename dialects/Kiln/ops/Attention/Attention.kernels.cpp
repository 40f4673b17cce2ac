//===- Attention.kernels.cpp - Attention, kernels -------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Attention/Attention.h"
#include "kiln/Codegen/Contraction.h"
#include <limits>

using namespace mlir;
using namespace kiln;

static LogicalResult kernel(KernelBuilder &k, Operation *anchor) {
  auto op = cast<AttentionOp>(anchor);
  AttentionSpec spec{anchor, op.getQ(), op.getK(), op.getV(), op.getMask()};
  spec.scale = op.getScale().convertToDouble();
  spec.fill =
      op.getFill() ? op.getFill()->convertToDouble() : -std::numeric_limits<double>::infinity();
  spec.undefined = op.getUndefined() == "zero"          ? UndefinedWeights::Zero
                   : op.getUndefined() == "masked-zero" ? UndefinedWeights::MaskedZero
                                                        : UndefinedWeights::NaN;
  return buildAttentionKernel(k, spec);
}

namespace kiln {
void registerAttentionKernels(KernelTable &table);
} // namespace kiln

void kiln::registerAttentionKernels(KernelTable &table) {
  table.addAnchor<AttentionOp>("attention", kernel, /*pullsOperands=*/true, /*takesEpilogue=*/true,
                               Reads::Often);
  table.setStoresOnce<AttentionOp>();
}
