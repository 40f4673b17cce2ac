//===- FoldConstants.cpp - Evaluates ops on constants ---------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassDetail.h"
#include "dialects/Kiln/ops/Constant/Constant.h"
#include "dialects/Kiln/ops/Fusion/Fusion.h"

using namespace mlir;
using namespace kiln;

/// A result may be so many bytes larger than what it is made from.
static constexpr int64_t allowedGrowth = 64 << 10;

/// A float: a model may ask for tensors of any size.
static double bytesOf(RankedTensorType type) {
  auto bytes = static_cast<double>(elementBytes(type.getElementType()));
  for (int64_t size : type.getShape())
    bytes *= static_cast<double>(size);
  return bytes;
}

/// Operands of `op` as data, when all are constants and folding pays.
static std::optional<SmallVector<TensorData>> foldableOperands(Operation *op) {
  if (op->getNumRegions() != 0 || op->getNumResults() == 0 ||
      op->hasTrait<OpTrait::ConstantLike>() || !isMemoryEffectFree(op))
    return std::nullopt;
  SmallVector<TensorData> operands;
  double operandBytes = 0, resultBytes = 0;
  for (Value operand : op->getOperands()) {
    ElementsAttr attr = constantOf(operand);
    auto data = attr ? tensorDataOf(attr) : std::nullopt;
    if (!data)
      return std::nullopt;
    operandBytes += attr.isSplat() ? 0 : static_cast<double>(data->byteSize());
    operands.push_back(*data);
  }
  for (Type type : op->getResultTypes()) {
    if (!isa<RankedTensorType>(type) || !cast<RankedTensorType>(type).hasStaticShape())
      return std::nullopt;
    resultBytes += bytesOf(cast<RankedTensorType>(type));
  }
  if (resultBytes > operandBytes + allowedGrowth)
    return std::nullopt;
  return operands;
}

namespace {
struct FoldConstants final : kiln::impl::FoldConstantsPassBase<FoldConstants> {
  explicit FoldConstants(const ReferenceTable &table) : table(table) {}

  void runOnOperation() override {
    // Operands come first in a block, so one walk folds whole chains.
    getOperation().walk([&](Operation *op) {
      if (isa<FusionOp>(op->getParentOp()))
        return;
      if (auto operands = foldableOperands(op))
        fold(op, *operands);
    });
  }

private:
  void fold(Operation *op, ArrayRef<TensorData> operands) {
    auto results = evaluate(table, op, operands);
    if (failed(results))
      return;
    OpBuilder b(op);
    for (auto [value, data] : llvm::zip(op->getResults(), *results))
      value.replaceAllUsesWith(ConstantOp::create(b, op->getLoc(), elementsAttr(data)));
    op->erase();
    ++numFolded;
  }

  const ReferenceTable &table;
};
} // namespace

std::unique_ptr<Pass> kiln::createFoldConstantsPass(const ReferenceTable &table) {
  return std::make_unique<FoldConstants>(table);
}
