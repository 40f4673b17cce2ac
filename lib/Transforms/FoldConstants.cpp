//===- FoldConstants.cpp - Evaluates ops on constants ---------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassDetail.h"
#include "dialects/Kiln/ops/Fusion/Fusion.h"
#include "kiln/Reference/Fold.h"

using namespace mlir;
using namespace kiln;

namespace {
struct FoldConstants final : kiln::impl::FoldConstantsPassBase<FoldConstants> {
  explicit FoldConstants(const ReferenceTable &table) : table(table) {}

  void runOnOperation() override {
    // Operands come first in a block, so one walk folds whole chains.
    getOperation().walk([&](Operation *op) {
      if (isa<FusionOp>(op->getParentOp()))
        return;
      OpBuilder b(op);
      auto constants = foldToConstants(b, op, table);
      if (failed(constants))
        return;
      op->replaceAllUsesWith(*constants);
      op->erase();
      ++numFolded;
    });
  }

  const ReferenceTable &table;
};
} // namespace

std::unique_ptr<Pass> kiln::createFoldConstantsPass(const ReferenceTable &table) {
  return std::make_unique<FoldConstants>(table);
}
