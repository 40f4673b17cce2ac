//===- FoldConstants.cpp - Evaluates ops on constants ---------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassDetail.h"
#include "dialects/Kiln/ops/Constant/Constant.h"
#include "dialects/Kiln/ops/Control/Control.h"
#include "dialects/Kiln/ops/Fusion/Fusion.h"
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
      OpBuilder b(op);
      auto constants = isa<IfOp, LoopOp>(op) ? foldControl(b, op) : foldToConstants(b, op, table);
      if (failed(constants))
        return;
      op->replaceAllUsesWith(*constants);
      op->erase();
      ++numFolded;
    });
  }

private:
  /// Other ops may use symbols that the op gives values to; then it stays.
  FailureOr<SmallVector<Value>> foldControl(OpBuilder &b, Operation *op) {
    auto symbols = op->getAttrOfType<ArrayAttr>("symbols");
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    captured.insert(op->operand_begin(), op->operand_end());
    if ((symbols && !symbols.empty()) || op->use_empty() ||
        !llvm::all_of(captured, [](Value value) { return constantOf(value) != nullptr; }) ||
        !llvm::all_of(op->getResultTypes(), isSmallTensor))
      return failure();
    Interpreter interpreter(table, maxOps);
    if (failed(interpreter.run(op)))
      return failure();
    for (Value result : op->getResults())
      if (interpreter.valueOf(result).type() != result.getType())
        return failure();
    SmallVector<Value> constants;
    for (Value result : op->getResults())
      constants.push_back(
          ConstantOp::create(b, op->getLoc(), elementsAttr(interpreter.valueOf(result))));
    return constants;
  }

  const ReferenceTable &table;
};
} // namespace

std::unique_ptr<Pass> kiln::createFoldConstantsPass(const ReferenceTable &table) {
  return std::make_unique<FoldConstants>(table);
}
