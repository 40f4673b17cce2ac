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
/// What folding may come to, by sizes alone.
enum class Growth {
  Moderate,
  /// Folding pays only if the results are one value each.
  NeedsSplats,
  TooLarge
};
} // namespace

static Growth growthOf(Operation *op) {
  double operandBytes = 0, resultBytes = 0;
  for (Value operand : op->getOperands()) {
    ElementsAttr attr = constantOf(operand);
    operandBytes += attr && attr.isSplat() ? 0 : bytesOf(operand.getType());
  }
  for (Type type : op->getResultTypes())
    resultBytes += bytesOf(type);
  if (resultBytes <= operandBytes + allowedGrowth)
    return Growth::Moderate;
  return operandBytes > 0 || resultBytes > allowedSplat ? Growth::TooLarge : Growth::NeedsSplats;
}

static bool hasStaticResults(Operation *op) {
  return llvm::all_of(op->getResultTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  });
}

bool kiln::isWorthFolding(Operation *op) {
  return hasStaticResults(op) && growthOf(op) != Growth::TooLarge;
}

FailureOr<SmallVector<Value>> kiln::foldToConstants(OpBuilder &b, Operation *op,
                                                    const ReferenceTable &table) {
  if (op->getNumRegions() != 0 || op->getNumResults() == 0 ||
      op->hasTrait<OpTrait::ConstantLike>() || !isMemoryEffectFree(op) || !hasStaticResults(op))
    return failure();
  SmallVector<TensorData> operands;
  for (Value operand : op->getOperands()) {
    ElementsAttr attr = constantOf(operand);
    auto data = attr ? tensorDataOf(attr) : std::nullopt;
    if (!data)
      return failure();
    operands.push_back(*data);
  }
  Growth growth = growthOf(op);
  if (growth == Growth::TooLarge)
    return failure();
  auto results = evaluate(table, op, operands);
  if (failed(results))
    return failure();
  SmallVector<ElementsAttr> attrs;
  for (const TensorData &data : *results) {
    attrs.push_back(elementsAttr(data));
    if (growth == Growth::NeedsSplats && !attrs.back().isSplat())
      return failure();
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  SmallVector<Value> constants;
  for (ElementsAttr attr : attrs)
    constants.push_back(ConstantOp::create(b, op->getLoc(), attr));
  return constants;
}
