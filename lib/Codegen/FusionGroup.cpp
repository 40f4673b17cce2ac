//===- FusionGroup.cpp - Ops that become one kernel -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Codegen/FusionGroup.h"
#include "dialects/Kiln/ops/Transpose/Transpose.h"
#include "dialects/Kiln/ops/View/View.h"
#include "kiln/Codegen/PullCost.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace kiln;

/// Kernels stay small enough to compile quickly and to read.
static constexpr size_t maxOpsInGroup = 48;
/// What may be computed again for every reading of a vector (see pullCost).
static constexpr unsigned maxCostOfPull = 3;
/// The longest rows that a block of rowsToFinish stays in the cache with.
static constexpr int64_t maxRowLength = 4096;

void kiln::collectProgramBlocks(Region &region, SmallVectorImpl<Block *> &blocks) {
  for (Block &block : region) {
    blocks.push_back(&block);
    for (Operation &op : block)
      if (!isa<FusionOp>(op))
        for (Region &inner : op.getRegions())
          collectProgramBlocks(inner, blocks);
  }
}

bool kiln::needsKernel(Operation *op, const KernelTable &table) {
  return table.find(op) && !isa<ReshapeOp>(op) && !op->hasTrait<OpTrait::ConstantLike>();
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

unsigned PullCosts::chainCost(Operation *op) {
  unsigned cost = 0;
  SmallVector<Operation *> chain = {op};
  while (!chain.empty() && cost <= maxCostOfPull) {
    Operation *next = chain.pop_back_val();
    cost += costOf(next);
    for (Value operand : next->getOperands())
      if (Operation *maker = operand.getDefiningOp())
        if (maker->hasOneUse() && needsKernel(maker, table) && !table.find(maker)->kernel)
          chain.push_back(maker);
  }
  return cost;
}

unsigned PullCosts::costOf(Operation *op) {
  bool isNew = costs.try_emplace(op, 0).second;
  if (isNew && !isa<TransposeOp>(op) && !isConstant(op))
    costs[op] = pullCost(op, table);
  return costs[op];
}

bool PullCosts::isConstant(Operation *op) {
  // No recursion: models may be chains of any length.
  SmallVector<Operation *> path = {op};
  while (!path.empty()) {
    Operation *unknown = nullptr;
    bool all = llvm::all_of(path.back()->getOperands(), [&](Value operand) {
      Operation *maker = operand.getDefiningOp();
      if (!maker || maker->hasTrait<OpTrait::ConstantLike>())
        return maker != nullptr;
      auto known = constants.find(maker);
      if (known == constants.end())
        unknown = maker;
      return known != constants.end() && known->second;
    });
    if (unknown)
      path.push_back(unknown);
    else
      constants[path.pop_back_val()] = all;
  }
  return constants.lookup(op);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

StringRef FusionGrower::familyOf(const FusionGroup &group) const {
  return group.anchor ? StringRef(table.find(group.anchor)->family) : StringRef("loop");
}

static bool usedOnlyIn(Operation *op, const FusionGroup &group) {
  return llvm::all_of(op->getUsers(), [&](Operation *user) { return group.ops.contains(user); });
}

/// Sizes are canonical text: nothing has to be parsed.
static bool sameShape(Value a, Value b) {
  auto x = cast<RankedTensorType>(a.getType()), y = cast<RankedTensorType>(b.getType());
  return x.getShape() == y.getShape() && x.getEncoding() == y.getEncoding();
}

/// All members are pointwise ops of the shape of `op`'s result, so that it can
/// be computed in front of them in registers.
bool FusionGrower::feedsEpilogue(Operation *op, const FusionGroup &group) const {
  for (Operation *member : group.ops) {
    const OpKernels *kernels = table.find(member);
    if (!kernels->pointwise || member->getNumResults() != 1 ||
        !sameShape(member->getResult(0), op->getResult(0)))
      return false;
  }
  return true;
}

bool FusionGrower::canTake(Operation *producer, const FusionGroup &group) {
  if (!allowed(producer) || group.ops.size() >= maxOpsInGroup ||
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
bool FusionGrower::isPulledOften(Operation *op, const FusionGroup &group) const {
  // Each user once: there may be more ways to them than anybody can go.
  llvm::SmallSetVector<Operation *, 8> users(op->user_begin(), op->user_end());
  for (size_t i = 0; i < users.size(); ++i) {
    Operation *user = users[i];
    if (!group.ops.contains(user))
      continue;
    if (group.preparesOperand && user == group.anchor)
      continue;
    if (table.find(user)->reads == Reads::Often)
      return true;
    users.insert(user->user_begin(), user->user_end());
  }
  return false;
}

/// Vector instructions that would be repeated; those above the limit are not all
/// counted.
unsigned FusionGrower::costWith(Operation *producer, const FusionGroup &group) {
  unsigned cost = costs.chainCost(producer);
  for (Operation *member : group.ops)
    if (isPulledOften(member, group))
      cost += costs.costOf(member);
  return cost;
}

/// As a root of its own, `op` would follow an anchor in its registers: better
/// than being pulled by the next anchor, which may pull an element often.
bool FusionGrower::followsAnchor(Operation *op) {
  if (followers.try_emplace(op, false).second) {
    FusionGroup group = startAt(op);
    followers[op] = group.anchor && group.anchor != op;
  }
  return followers[op];
}

/// Takes in producers that are `wanted` until none is left. Members are visited
/// once, new ones last: a producer that has to wait for a user is seen again
/// when that joins, and nothing else makes one more acceptable.
void FusionGrower::extend(FusionGroup &group, function_ref<bool(Operation *)> wanted) {
  for (size_t i = 0; i < group.ops.size(); ++i)
    for (Value operand : group.ops[i]->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || group.ops.contains(producer) || !needsKernel(producer, table) ||
          !wanted(producer) || !canTake(producer, group))
        continue;
      group.ops.insert(producer);
      if (table.find(producer)->kernel)
        group.anchor = producer;
    }
}

/// Every operand is of the result's shape, or the same for all rows.
static bool worksOnRows(Operation *op) {
  return op->getNumResults() == 1 && llvm::all_of(op->getOperands(), [&](Value operand) {
           return sameShape(operand, op->getResult(0)) ||
                  llvm::all_of(ArrayRef(shapeOf(operand)).drop_back(rankOf(operand) ? 1 : 0),
                               [](const Expr &dim) { return dim.isConstant(1); });
         });
}

/// Rows that can be finished where they are made: their sums are the elements,
/// a row fits in the cache with others, and there are so many rows that blocks of
/// them keep cores as busy as panels of columns would.
static bool hasRowsToFinish(Value value) {
  Shape shape = shapeOf(value);
  auto type = elementTypeOf(value);
  if (shape.size() < 2 || !(type.isF32() || type.isF64()))
    return false;
  auto length = shape.back().constant();
  Expr rows = elementCount(ArrayRef(shape).drop_back());
  return length && *length > 0 && *length <= maxRowLength &&
         Expr::divideExactly(rows, 4 * rowsToFinish);
}

/// One constant matrix for all rows.
bool FusionGrower::isProductOfRows(Operation *anchor) const {
  if (!anchor || !table.find(anchor)->completesRows)
    return false;
  Value matrix = anchor->getOperand(1);
  return rankOf(matrix) == 2 && matchPattern(matrix, m_Constant());
}

/// Takes what makes the rows that the group's anchor works on, when that can be
/// one kernel with it.
void FusionGrower::finishRows(FusionGroup &group) {
  Operation *rows = group.anchor;
  if (!mayJoin || !rows || !table.find(rows)->finishesRows)
    return;
  Value made = rows->getOperand(0);
  auto axis = rows->getAttrOfType<IntegerAttr>("axis");
  Operation *last = made.getDefiningOp();
  if (!last || !made.hasOneUse() || !needsKernel(last, table) || !allowed(last) ||
      last->getBlock() != rows->getBlock() || !axis || axis.getInt() != rankOf(made) - 1 ||
      !sameShape(made, group.root->getResult(0)) || !hasRowsToFinish(made))
    return;
  FusionGroup inner = startAt(last);
  if (!isProductOfRows(inner.anchor) || group.ops.size() + inner.ops.size() > maxOpsInGroup)
    return;
  for (Operation *op : inner.ops)
    if (op != inner.anchor && !worksOnRows(op))
      return;
  group.ops.insert_range(inner.ops);
  group.anchor = inner.anchor;
}

/// Whether the inner group makes rows of the group's product.
bool FusionGrower::canPrepareRows(const FusionGroup &group, const FusionGroup &inner) const {
  Value made = group.anchor->getOperand(0);
  auto transposed = group.anchor->getAttrOfType<BoolAttr>("trans_a");
  if (!isProductOfRows(group.anchor) || !transposed || transposed.getValue() ||
      !hasRowsToFinish(made))
    return false;
  for (Operation *op : group.ops)
    if (op != group.anchor && !worksOnRows(op))
      return false;
  auto axis = inner.anchor->getAttrOfType<IntegerAttr>("axis");
  return axis && axis.getInt() == rankOf(made) - 1 && table.find(inner.anchor)->finishesRows;
}

/// Takes the op with a kernel, and what follows it, that makes operand 0 of the
/// group's anchor, when that can make it block by block.
void FusionGrower::prepareOperand(FusionGroup &group) {
  if (!mayJoin || !group.anchor || group.anchor->getNumOperands() == 0)
    return;
  const OpKernels &kernels = *table.find(group.anchor);
  Value made = group.anchor->getOperand(0);
  Operation *last = made.getDefiningOp();
  if ((!kernels.joins && !kernels.completesRows) || !last || !made.hasOneUse() ||
      !needsKernel(last, table) || !allowed(last) || last->getBlock() != group.anchor->getBlock())
    return;
  FusionGroup inner = startAt(last);
  if (!inner.anchor || group.ops.size() + inner.ops.size() > maxOpsInGroup ||
      !(canPrepareRows(group, inner) ||
        (kernels.joins && kernels.joins(group.anchor, inner.anchor))))
    return;
  group.ops.insert_range(inner.ops);
  group.preparesOperand = true;
}

/// A group of the root and what leads to an anchor.
FusionGroup FusionGrower::startAt(Operation *root) {
  FusionGroup group;
  group.root = root;
  group.ops.insert(root);
  if (table.find(root)->kernel)
    group.anchor = root;
  extend(group, [&](Operation *producer) {
    const OpKernels &kernels = *table.find(producer);
    return kernels.kernel || (kernels.pointwise && feedsEpilogue(producer, group));
  });
  finishRows(group);
  return group;
}

FusionGroup FusionGrower::grow(Operation *root) {
  // Other members would stand in the way to an anchor.
  FusionGroup group = startAt(root);
  prepareOperand(group);
  extend(group, [&](Operation *producer) { return !table.find(producer)->kernel; });
  return group;
}

Operation *kiln::anchorOf(Block &body, StringRef family, const KernelTable &table) {
  for (Operation &op : llvm::reverse(body))
    if (const OpKernels *kernels = table.find(&op);
        kernels && kernels->kernel && kernels->family == family)
      return &op;
  return nullptr;
}

/// The constant that the operand is, when its elements are all equal: an
/// immediate of the kernel.
static Operation *splatBehind(Value operand) {
  DenseElementsAttr value;
  bool isSplat = matchPattern(operand, m_Constant(&value)) && value.isSplat();
  return isSplat ? operand.getDefiningOp() : nullptr;
}

FusionOp kiln::outlineFusion(const FusionGroup &group, StringRef family, const KernelTable &table,
                             const FusionOrigin &origin) {
  SmallVector<Operation *> ordered(group.ops.begin(), group.ops.end());
  llvm::sort(ordered, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  llvm::SetVector<Value> inputs;
  llvm::SetVector<Operation *> splats;
  llvm::SetVector<StringRef> nodes;
  for (Operation *op : ordered) {
    if (auto name = dyn_cast<NameLoc>(op->getLoc()))
      nodes.insert(name.getName());
    // Anchors read their operands from memory or pull them; either way a buffer
    // (or a packed constant) serves best.
    bool isAnchor = table.find(op)->kernel != nullptr;
    for (Value operand : op->getOperands()) {
      if (group.ops.contains(operand.getDefiningOp()))
        continue;
      Operation *splat = isAnchor ? nullptr : splatBehind(operand);
      if (splat)
        splats.insert(splat);
      else
        inputs.insert(operand);
    }
  }
  OpBuilder b(group.root);
  auto fusion = FusionOp::create(b, group.root->getLoc(), group.root->getResultTypes(),
                                 inputs.getArrayRef(), family, llvm::join(nodes, ","), origin.rule,
                                 DictionaryAttr(), origin.evidence);
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
  return fusion;
}
