//===- Fold.cpp - Ops on constants ----------------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Reference/Fold.h"
#include "dialects/Kiln/ops/Constant/Constant.h"

using namespace mlir;
using namespace kiln;

/// A result may be so many bytes larger than what it is made from.
static constexpr int64_t allowedGrowth = 64 << 10;

/// And so many when operands and results are one value each, which takes no room.
static constexpr int64_t allowedSplat = 16 << 20;

/// A float: a model may ask for tensors of any size.
static double bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  auto bytes = static_cast<double>(elementBytes(tensor.getElementType()));
  for (int64_t size : tensor.getShape())
    bytes *= static_cast<double>(size);
  return bytes;
}

bool kiln::isSmallTensor(Type type) {
  return cast<RankedTensorType>(type).hasStaticShape() && bytesOf(type) <= allowedGrowth;
}

namespace {
struct Foldable {
  SmallVector<TensorData> operands;
  /// Folding pays only if the results are one value each.
  bool needsSplats = false;
};
} // namespace

/// Operands of `op` as data, when all are constants and folding pays.
static std::optional<Foldable> foldableOperands(Operation *op) {
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
    resultBytes += bytesOf(type);
  }
  bool needsSplats = resultBytes > operandBytes + allowedGrowth;
  if (needsSplats && (operandBytes > 0 || resultBytes > allowedSplat))
    return std::nullopt;
  return Foldable{std::move(operands), needsSplats};
}

FailureOr<SmallVector<Value>> kiln::foldToConstants(OpBuilder &b, Operation *op,
                                                    const ReferenceTable &table) {
  auto foldable = foldableOperands(op);
  if (!foldable)
    return failure();
  auto results = evaluate(table, op, foldable->operands);
  if (failed(results))
    return failure();
  SmallVector<ElementsAttr> attrs;
  for (const TensorData &data : *results) {
    attrs.push_back(elementsAttr(data));
    if (foldable->needsSplats && !attrs.back().isSplat())
      return failure();
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  SmallVector<Value> constants;
  for (ElementsAttr attr : attrs)
    constants.push_back(ConstantOp::create(b, op->getLoc(), attr));
  return constants;
}
