//===- Fuse.cpp - The generic fuser ---------------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassDetail.h"
#include "kiln/Codegen/FusionGroup.h"

using namespace mlir;
using namespace kiln;

namespace {
struct Fuse final : kiln::impl::FusePassBase<Fuse> {
  explicit Fuse(const KernelTable &table) : table(table) {}

  void runOnOperation() override {
    SmallVector<Block *> blocks;
    collectProgramBlocks(getOperation().getBody(), blocks);
    PullCosts costs(table);
    DenseSet<Operation *> grouped;
    FusionGrower grower(table, costs, [&](Operation *member) { return !grouped.contains(member); });
    SmallVector<FusionGroup> groups;
    for (Block *block : blocks)
      for (Operation &op : llvm::reverse(*block)) {
        if (!needsKernel(&op, table) || grouped.contains(&op))
          continue;
        groups.push_back(grower.grow(&op));
        grouped.insert_range(groups.back().ops);
      }
    for (const FusionGroup &group : groups)
      outlineFusion(group, grower.familyOf(group), table);
    numFusions += static_cast<unsigned>(groups.size());
  }

  const KernelTable &table;
};
} // namespace

std::unique_ptr<Pass> kiln::createFusePass(const KernelTable &table) {
  return std::make_unique<Fuse>(table);
}
