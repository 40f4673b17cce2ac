//===- Conv.kernels.cpp - Convolutions, kernels ---------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Conv/Conv.h"
#include "kiln/Codegen/Contraction.h"

using namespace mlir;
using namespace kiln;

template <typename OpTy> static ConvSpec specOf(Operation *op) {
  auto conv = cast<OpTy>(op);
  Shape pads = exprsOf(conv.getPads());
  pads.truncate(pads.size() / 2);
  return {op,
          conv.getX(),
          conv.getW(),
          llvm::SmallVector<int64_t, 3>(conv.getStrides()),
          llvm::SmallVector<int64_t, 3>(conv.getDilations()),
          pads,
          static_cast<int64_t>(conv.getGroup()),
          std::is_same_v<OpTy, ConvTransposeOp>};
}

template <typename OpTy> static LogicalResult kernel(KernelBuilder &k, Operation *op) {
  ConvSpec spec = specOf<OpTy>(op);
  std::optional<ConvSpec> producer;
  for (Operation &other : k.region())
    if (isa<ConvOp>(other) && other.isBeforeInBlock(op))
      producer = specOf<ConvOp>(&other);
  spec.producer = producer ? &*producer : nullptr;
  return buildConvKernel(k, spec);
}

static bool joins(Operation *anchor, Operation *producer) {
  return isa<ConvOp>(producer) && joinsProducer(specOf<ConvOp>(anchor), specOf<ConvOp>(producer));
}

template <typename OpTy>
static Value element(ElementBuilder &e, Operation *op, unsigned, ArrayRef<Value> index) {
  return convElement(e, specOf<OpTy>(op), index);
}

template <typename OpTy>
static std::string layout(Operation *op, unsigned operand, const VectorTarget &target) {
  return operand == 1 ? convLayout(specOf<OpTy>(op), target) : "";
}

template <typename OpTy> static void add(KernelTable &table, llvm::StringLiteral family) {
  table.addAnchor<OpTy>(family, kernel<OpTy>, /*pullsOperands=*/true, /*takesEpilogue=*/true,
                        Reads::Often);
  table.setPacking<OpTy>(layout<OpTy>, packConv);
  table.setStoresOnce<OpTy>();
  table.setFallback<OpTy>(element<OpTy>);
}

namespace kiln {
void registerConvKernels(KernelTable &table);
} // namespace kiln

void kiln::registerConvKernels(KernelTable &table) {
  add<ConvOp>(table, "conv");
  table.setJoins<ConvOp>(joins);
  add<ConvTransposeOp>(table, "conv_transpose");
}
