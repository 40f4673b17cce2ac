//===- FoldConstants.cpp - Evaluates ops on constants ---------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassDetail.h"
#include "dialects/Kiln/ops/Constant/Constant.h"
#include "dialects/Kiln/ops/Control/Control.h"
#include "kiln/Reference/Fold.h"
#include "kiln/Reference/Interpreter.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace kiln;

/// A branch or loop that ends within so many ops is worth evaluating.
static constexpr uint64_t maxOps = 10000;

namespace {
struct FoldConstants final : kiln::impl::FoldConstantsPassBase<FoldConstants> {
  explicit FoldConstants(const ReferenceTable &table) : table(table) {}

  void runOnOperation() override {
    // Operands come first in a block, so one walk folds whole chains.
    getOperation().walk([&](Operation *op) {
      if (isa<FusionOp>(op->getParentOp()))
        return;
      if (isa<IfOp, LoopOp>(op))
        foldControl(op);
      else
        fold(op);
    });
  }

private:
  /// Other ops may use symbols that the op gives values to; then it stays.
  void foldControl(Operation *op) {
    auto symbols = op->getAttrOfType<ArrayAttr>("symbols");
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    captured.insert(op->operand_begin(), op->operand_end());
    auto isStatic = [](Type type) {
      return cast<RankedTensorType>(type).hasStaticShape() && bytesOf(type) <= allowedGrowth;
    };
    if ((symbols && !symbols.empty()) || op->use_empty() ||
        !llvm::all_of(captured, [](Value value) { return constantOf(value) != nullptr; }) ||
        !llvm::all_of(op->getResultTypes(), isStatic))
      return;
    Interpreter interpreter(table, maxOps);
    if (failed(interpreter.run(op)))
      return;
    for (Value result : op->getResults())
      if (interpreter.valueOf(result).type() != result.getType())
        return;
    SmallVector<TensorData> results;
    for (Value result : op->getResults())
      results.push_back(interpreter.valueOf(result));
    replace(op, results);
  }

  void fold(Operation *op) {
    OpBuilder b(op);
    if (auto constants = foldToConstants(b, op, table); succeeded(constants)) {
      op->replaceAllUsesWith(*constants);
      op->erase();
      ++numFolded;
    }
  }

  void replace(Operation *op, ArrayRef<TensorData> results) {
    OpBuilder b(op);
    for (auto [value, data] : llvm::zip(op->getResults(), results))
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
