//===- Fuse.cpp - The generic fuser ---------------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Groups grow from a root towards operands. A group is a kernel that the code
// generator can write, by construction:
//
//   loop kernel:    root and everything in it is pullable
//   anchor kernel:  one anchor; between it and the root only pointwise ops of
//                   its shape; before it, if it pulls, pullable ops
//
//===----------------------------------------------------------------------===//

#include "PassDetail.h"
#include "dialects/Kiln/ops/Constant/Constant.h"
#include "dialects/Kiln/ops/Fusion/Fusion.h"
#include "dialects/Kiln/ops/Transpose/Transpose.h"
#include "dialects/Kiln/ops/View/View.h"
#include "kiln/Codegen/PullCost.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace kiln;

namespace {

/// Kernels stay small enough to compile quickly and to read.
constexpr size_t maxOpsInGroup = 48;
/// What may be computed again for every reading of a vector (see pullCost).
constexpr unsigned maxCostOfPull = 3;

struct Group {
  llvm::SmallSetVector<Operation *, 8> ops;
  Operation *root = nullptr;
  Operation *anchor = nullptr;
};

class Fuser {
public:
  Fuser(func::FuncOp function, const KernelTable &table) : function(function), table(table) {}

  unsigned run() {
    SmallVector<Block *> blocks;
    collectBlocks(function.getBody(), blocks);
    SmallVector<Group> groups;
    for (Block *block : blocks)
      for (Operation &op : llvm::reverse(*block))
        if (needsKernel(&op) && !grouped.contains(&op))
          groups.push_back(grow(&op));
    for (Group &group : groups)
      outline(group);
    return static_cast<unsigned>(groups.size());
  }

private:
  /// Blocks that hold a program: the function's, branches and bodies of loops.
  static void collectBlocks(Region &region, SmallVector<Block *> &blocks) {
    for (Block &block : region) {
      blocks.push_back(&block);
      for (Operation &op : block)
        if (!isa<FusionOp>(op))
          for (Region &inner : op.getRegions())
            collectBlocks(inner, blocks);
    }
  }

  /// Views and constants are no work; ops without a kernel (bind, require) stay.
  bool needsKernel(Operation *op) const {
    return table.find(op) && !isa<ReshapeOp>(op) && !op->hasTrait<OpTrait::ConstantLike>();
  }

  static bool usedOnlyIn(Operation *op, const Group &group) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) { return group.ops.contains(user); });
  }

  /// All members are pointwise ops of the shape of `op`'s result, so that it can
  /// be computed in front of them in registers.
  bool feedsEpilogue(Operation *op, const Group &group) const {
    Shape shape = shapeOf(op->getResult(0));
    for (Operation *member : group.ops) {
      const OpKernels *kernels = table.find(member);
      if (!kernels->pointwise || member->getNumResults() != 1 ||
          shapeOf(member->getResult(0)) != shape)
        return false;
    }
    return true;
  }

  bool canTake(Operation *producer, const Group &group) {
    if (grouped.contains(producer) || group.ops.size() >= maxOpsInGroup ||
        producer->getBlock() != group.root->getBlock() || !usedOnlyIn(producer, group))
      return false;
    const OpKernels &kernels = *table.find(producer);
    if (kernels.kernel)
      return kernels.takesEpilogue && !group.anchor && producer->getNumResults() == 1 &&
             feedsEpilogue(producer, group);
    if (producer->getNumResults() != 1)
      return false;
    // Anchors that read memory directly need their operands there.
    for (Operation *user : producer->getUsers()) {
      const OpKernels &reader = *table.find(user);
      if (reader.kernel && (!reader.pullsOperands || followsAnchor(producer)))
        return false;
    }
    return !isPulledOften(producer, group) || costWith(producer, group) <= maxCostOfPull;
  }

  /// Something in the group may pull an element of `op` more than once.
  bool isPulledOften(Operation *op, const Group &group) const {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      return group.ops.contains(user) &&
             (table.find(user)->reads == Reads::Often || isPulledOften(user, group));
    });
  }

  /// Vector instructions that would be repeated.
  unsigned costWith(Operation *producer, const Group &group) {
    unsigned cost = chainCost(producer);
    for (Operation *member : group.ops)
      if (isPulledOften(member, group))
        cost += costOf(member);
    return cost;
  }

  /// With all that would have to be a kernel of its own if `op` were pulled
  /// without it: then it had better come with it.
  unsigned chainCost(Operation *op) {
    auto known = chainCosts.find(op);
    if (known != chainCosts.end())
      return known->second;
    unsigned cost = costOf(op);
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp())
        if (maker->hasOneUse() && needsKernel(maker) && !table.find(maker)->kernel)
          cost += chainCost(maker);
    return chainCosts[op] = cost;
  }

  /// Permuted operands are read where they lie. What is made of constants alone
  /// (quantized weights) is only made as far as it is needed.
  unsigned costOf(Operation *op) {
    bool isNew = costs.try_emplace(op, 0).second;
    if (isNew && !isa<TransposeOp>(op) && !isConstant(op))
      costs[op] = pullCost(op, table);
    return costs[op];
  }

  bool isConstant(Operation *op) {
    if (constants.try_emplace(op, false).second)
      constants[op] = llvm::all_of(op->getOperands(), [&](Value operand) {
        Operation *maker = operand.getDefiningOp();
        return maker && (maker->hasTrait<OpTrait::ConstantLike>() || isConstant(maker));
      });
    return constants[op];
  }

  /// As a root of its own, `op` would follow an anchor in its registers: better
  /// than being pulled by the next anchor, which may pull an element often.
  bool followsAnchor(Operation *op) {
    if (followers.try_emplace(op, false).second) {
      Group group = startAt(op);
      followers[op] = group.anchor && group.anchor != op;
    }
    return followers[op];
  }

  /// Takes in producers that `wanted` accepts until none is left. Members are
  /// visited once, new ones last: a producer that has to wait for a user is seen
  /// again when that joins, and nothing else makes one more acceptable.
  void extend(Group &group, function_ref<bool(Operation *)> wanted) {
    for (size_t i = 0; i < group.ops.size(); ++i)
      for (Value operand : group.ops[i]->getOperands()) {
        Operation *producer = operand.getDefiningOp();
        if (!producer || group.ops.contains(producer) || !needsKernel(producer) ||
            !wanted(producer) || !canTake(producer, group))
          continue;
        group.ops.insert(producer);
        if (table.find(producer)->kernel)
          group.anchor = producer;
      }
  }

  /// A group of the root and what leads to an anchor.
  Group startAt(Operation *root) {
    Group group;
    group.root = root;
    group.ops.insert(root);
    if (table.find(root)->kernel)
      group.anchor = root;
    extend(group, [&](Operation *producer) {
      const OpKernels &kernels = *table.find(producer);
      return kernels.kernel || (kernels.pointwise && feedsEpilogue(producer, group));
    });
    return group;
  }

  Group grow(Operation *root) {
    // Other members would stand in the way to an anchor.
    Group group = startAt(root);
    extend(group, [&](Operation *producer) { return !table.find(producer)->kernel; });
    for (Operation *op : group.ops)
      grouped.insert(op);
    return group;
  }

  void outline(Group &group) {
    SmallVector<Operation *> ordered(group.ops.begin(), group.ops.end());
    llvm::sort(ordered, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
    llvm::SetVector<Value> inputs;
    SmallVector<Operation *> splats;
    llvm::SetVector<StringRef> nodes;
    for (Operation *op : ordered) {
      if (auto name = dyn_cast<NameLoc>(op->getLoc()))
        nodes.insert(name.getName());
      for (Value operand : op->getOperands()) {
        if (group.ops.contains(operand.getDefiningOp()))
          continue;
        // Splats become immediates of the kernel.
        ElementsAttr constant = constantOf(operand);
        if (constant && constant.isSplat() && !isOperandOfAnchor(op)) {
          if (!llvm::is_contained(splats, operand.getDefiningOp()))
            splats.push_back(operand.getDefiningOp());
        } else {
          inputs.insert(operand);
        }
      }
    }
    OpBuilder b(group.root);
    std::string nodeNames = llvm::join(nodes, ",");
    const OpKernels *anchor = group.anchor ? table.find(group.anchor) : nullptr;
    auto fusion = FusionOp::create(b, group.root->getLoc(), group.root->getResultTypes(),
                                   inputs.getArrayRef(),
                                   anchor ? StringRef(anchor->family) : StringRef("loop"),
                                   nodeNames, StringAttr(), DictionaryAttr(), DictionaryAttr());
    Block &body = fusion.getBody().emplaceBlock();
    IRMapping map;
    for (Value input : inputs)
      map.map(input, body.addArgument(input.getType(), input.getLoc()));
    b.setInsertionPointToEnd(&body);
    for (Operation *op : splats)
      b.clone(*op, map);
    for (Operation *op : ordered)
      b.clone(*op, map);
    SmallVector<Value> yielded;
    for (Value result : group.root->getResults())
      yielded.push_back(map.lookup(result));
    YieldOp::create(b, group.root->getLoc(), yielded);
    group.root->replaceAllUsesWith(fusion.getOutputs());
    for (Operation *op : llvm::reverse(ordered))
      op->erase();
  }

  /// Anchors read their operands from memory or pull them; either way a
  /// buffer (or a packed constant) serves best.
  bool isOperandOfAnchor(Operation *op) const { return table.find(op)->kernel != nullptr; }

  func::FuncOp function;
  const KernelTable &table;
  DenseSet<Operation *> grouped;
  DenseMap<Operation *, bool> followers;
  DenseMap<Operation *, unsigned> costs, chainCosts;
  DenseMap<Operation *, bool> constants;
};

struct Fuse final : kiln::impl::FusePassBase<Fuse> {
  explicit Fuse(const KernelTable &table) : table(table) {}
  void runOnOperation() override { numFusions += Fuser(getOperation(), table).run(); }
  const KernelTable &table;
};
} // namespace

std::unique_ptr<Pass> kiln::createFusePass(const KernelTable &table) {
  return std::make_unique<Fuse>(table);
}
