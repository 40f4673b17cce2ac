//===- ShareBuffers.cpp - Results where operands were ---------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result that may overwrite an operand (mayOverwrite) does so when nothing
// reads the operand afterwards.
//
//===----------------------------------------------------------------------===//

#include "PassDetail.h"
#include "kiln/Codegen/Overwrite.h"

using namespace mlir;
using namespace kiln;

namespace {
struct ShareBuffers final : kiln::impl::ShareBuffersPassBase<ShareBuffers> {
  explicit ShareBuffers(const KernelTable &table) : table(table) {}

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<plan::LaunchOp> launches;
    getOperation().walk([&](plan::LaunchOp launch) { launches.push_back(launch); });
    for (plan::LaunchOp launch : launches)
      share(launch, symbols.lookup<plan::KernelOp>(launch.getKernel()));
  }

private:
  void share(plan::LaunchOp launch, plan::KernelOp kernel) {
    if (launch.getOuts().size() != 1)
      return;
    auto result = launch.getOuts()[0].getDefiningOp<plan::AllocOp>();
    if (!result || !isOwn(result, launch) || firstUser(result) != launch)
      return;
    for (auto [i, operand] : llvm::enumerate(launch.getIns())) {
      auto buffer = operand.getDefiningOp<plan::AllocOp>();
      if (!buffer || buffer.getType() != result.getType() || !isOwn(buffer, launch) ||
          lastUser(buffer) != launch || llvm::count(launch.getIns(), operand) != 1 ||
          !mayOverwrite(kernel.getBody().front(), static_cast<unsigned>(i), table))
        continue;
      result.replaceAllUsesWith(buffer.getResult());
      result.erase();
      ++numShared;
      return;
    }
  }

  /// All that touches the buffer are launches beside this one.
  static bool isOwn(plan::AllocOp buffer, plan::LaunchOp launch) {
    return !buffer.getOnHeap() && llvm::all_of(buffer->getUsers(), [&](Operation *user) {
      return isa<plan::LaunchOp>(user) && user->getBlock() == launch->getBlock();
    });
  }
  static Operation *firstUser(Operation *op) {
    auto users = op->getUsers();
    return *llvm::min_element(
        users, [](Operation *x, Operation *y) { return x != y && x->isBeforeInBlock(y); });
  }
  static Operation *lastUser(Operation *op) {
    auto users = op->getUsers();
    return *llvm::max_element(
        users, [](Operation *x, Operation *y) { return x != y && x->isBeforeInBlock(y); });
  }

  const KernelTable &table;
};
} // namespace

std::unique_ptr<Pass> kiln::createShareBuffersPass(const KernelTable &table) {
  return std::make_unique<ShareBuffers>(table);
}
