//===- Candidates.cpp - Matches of fusion rules ---------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"
#include "dialects/Kiln/ops/Fusion/Fusion.h"
#include "kiln/Reference/TensorData.h"

using namespace mlir;
using namespace kiln;

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

TrafficModel::TrafficModel(Block &block) {
  auto function = dyn_cast<func::FuncOp>(block.getParentOp());
  if (!function)
    function = block.getParentOp()->getParentOfType<func::FuncOp>();
  if (!function || function.isExternal())
    return;
  llvm::StringSet<> others;
  for (BlockArgument input : function.getArguments()) {
    Shape shape = isa<RankedTensorType>(input.getType()) ? shapeOf(input) : Shape();
    for (auto [axis, dim] : llvm::enumerate(shape))
      dim.forEachSymbol([&, isBatch = axis == 0 && shape.size() > 1](StringRef name) {
        (isBatch ? batches : others).insert(name);
      });
  }
  for (const auto &other : others)
    batches.erase(other.getKey());
}

int64_t TrafficModel::elementsOf(const Shape &shape) const {
  int64_t elements = elementCount(shape).evaluate([&](StringRef symbol) -> int64_t {
    return batches.contains(symbol) ? 1 : RuleReport::nominalSize;
  });
  return std::max<int64_t>(elements, 0);
}

int64_t TrafficModel::bytesOf(Value value) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return 0;
  auto [it, fresh] = known.try_emplace(type, 0);
  if (!fresh)
    return it->second;
  return it->second = elementsOf(shapeOf(type)) * elementBytes(type.getElementType());
}

int64_t TrafficModel::trafficOf(ArrayRef<Operation *> ops) const {
  llvm::SmallPtrSet<Operation *, 16> members(ops.begin(), ops.end());
  llvm::SmallPtrSet<void *, 16> counted;
  int64_t bytes = 0;
  for (Operation *op : ops) {
    for (Value operand : op->getOperands())
      if (!members.contains(operand.getDefiningOp()) && !splatOf(operand) &&
          counted.insert(operand.getAsOpaquePointer()).second)
        bytes += bytesOf(operand);
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !members.contains(user); }))
        bytes += bytesOf(result);
  }
  return bytes;
}

GenericPlan::GenericPlan(Block &block, const KernelTable &table, PullCosts &costs,
                         const TrafficModel &traffic, const PredictionRates &rates)
    : block(block), table(table), costs(costs), traffic(traffic), rates(rates) {
  FusionGrower grower(table, costs, [&](Operation *member) { return !groupOf.count(member); });
  for (Operation &op : llvm::reverse(block)) {
    if (!needsKernel(&op, table) || groupOf.count(&op))
      continue;
    FusionGroup group = grower.grow(&op);
    for (Operation *member : group.ops)
      groupOf[member] = static_cast<unsigned>(groups.size());
    groups.push_back(std::move(group));
  }
}

llvm::SetVector<unsigned> GenericPlan::groupsAround(ArrayRef<Operation *> ops) const {
  llvm::SetVector<unsigned> around;
  auto add = [&](Operation *op) {
    if (auto it = groupOf.find(op); op && it != groupOf.end())
      around.insert(it->second);
  };
  llvm::for_each(ops, add);
  // What falls out of a group may go to the group before it, and no further.
  for (unsigned touched : SmallVector<unsigned>(around.begin(), around.end()))
    for (Operation *member : groups[touched].ops)
      for (Value operand : member->getOperands())
        add(operand.getDefiningOp());
  return around;
}

void GenericPlan::addRest(ArrayRef<Operation *> rest, Cost &cost) const {
  llvm::SmallPtrSet<Operation *, 16> left(rest.begin(), rest.end());
  FusionGrower grower(table, costs, [&](Operation *member) { return left.contains(member); });
  for (Operation *op : rest) {
    if (!left.contains(op))
      continue;
    FusionGroup piece = grower.grow(op);
    for (Operation *member : piece.ops)
      left.erase(member);
    cost.bytes += traffic.trafficOf(piece.ops.getArrayRef());
    ++cost.kernels;
  }
}

GenericPlan::Cost GenericPlan::costApart(ArrayRef<Operation *> ops) const {
  Cost cost;
  SmallVector<Operation *> roots(ops);
  llvm::sort(roots, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  addRest(roots, cost);
  return cost;
}

GenericPlan::Cost GenericPlan::costWith(ArrayRef<ArrayRef<Operation *>> kernels) const {
  Cost cost;
  llvm::DenseSet<Operation *> taken;
  for (ArrayRef<Operation *> kernel : kernels) {
    cost.bytes += traffic.trafficOf(kernel);
    ++cost.kernels;
    taken.insert(kernel.begin(), kernel.end());
  }
  SmallVector<Operation *> rest;
  for (Operation &op : llvm::reverse(block))
    if (needsKernel(&op, table) && !taken.contains(&op))
      rest.push_back(&op);
  addRest(rest, cost);
  return cost;
}

std::pair<GenericPlan::Cost, GenericPlan::Cost>
GenericPlan::compare(ArrayRef<Operation *> ops) const {
  Cost without, with{traffic.trafficOf(ops), 1};
  llvm::SmallPtrSet<Operation *, 16> taken(ops.begin(), ops.end());
  SmallVector<Operation *> rest;
  for (unsigned group : groupsAround(ops)) {
    without.bytes += traffic.trafficOf(groups[group].ops.getArrayRef());
    ++without.kernels;
    for (Operation *op : groups[group].ops)
      if (!taken.contains(op))
        rest.push_back(op);
  }
  // Roots first, as the fuser does.
  llvm::sort(rest, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  addRest(rest, with);
  return {without, with};
}

//===----------------------------------------------------------------------===//
// Matches
//===----------------------------------------------------------------------===//

std::vector<Candidate> kiln::collectCandidates(Block &block, RuleMatcher &matcher,
                                               std::vector<Candidate> &sink) {
  sink.clear();
  RuleRewriter rewriter(block.getParentOp()->getContext());
  for (Operation &op : block)
    if (!isa<FusionOp>(op))
      // Fails always: proposing changes nothing, and the next pattern is tried.
      (void)matcher.matchAndRewrite(&op, rewriter);
  std::vector<Candidate> found;
  // Orders of operands and optional ops can match one place twice.
  std::set<std::tuple<std::string, std::string, std::vector<Operation *>>> seen;
  for (Candidate &candidate : sink) {
    std::vector<Operation *> ops(candidate.ops.begin(), candidate.ops.end());
    llvm::sort(ops);
    if (seen.emplace(candidate.match.rule, candidate.match.kernel, ops).second)
      found.push_back(std::move(candidate));
  }
  return found;
}

/// What the ops are called outside of Kiln.
static std::string label(Operation *op) {
  auto name = dyn_cast<NameLoc>(op->getLoc());
  return name ? "'" + name.getName().str() + "'" : op->getName().getStringRef().str();
}

/// Completes the ops to what lies between them, sorts them, and says why they
/// cannot be one kernel whatever it is; empty when they can.
static std::string close(Candidate &candidate) {
  Block *block = candidate.root->getBlock();
  for (Operation *op : candidate.ops)
    if (op->getBlock() != block)
      return "its ops are in different blocks";
  llvm::SetVector<Operation *> members(candidate.ops.begin(), candidate.ops.end());
  auto before = [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); };
  Operation *first = *llvm::min_element(members, before);
  Operation *last = *llvm::max_element(members, before);
  // Between: depends on a member, and a member depends on it.
  llvm::DenseSet<Operation *> below(members.begin(), members.end());
  for (Operation *op = first; op != last; op = op->getNextNode())
    for (Value operand : op->getOperands())
      if (operand.getDefiningOp() && below.contains(operand.getDefiningOp()))
        below.insert(op);
  for (size_t i = 0; i < members.size(); ++i)
    for (Value operand : members[i]->getOperands())
      if (Operation *producer = operand.getDefiningOp(); producer && below.contains(producer))
        members.insert(producer);
  candidate.root = last;
  candidate.ops.assign(members.begin(), members.end());
  llvm::sort(candidate.ops, before);
  for (Operation *op : candidate.ops) {
    if (!isPure(op))
      return label(op) + " has an effect";
    if (op == last)
      continue;
    for (Operation *user : op->getUsers())
      if (!members.contains(user))
        return "the result of " + label(op) + " is also read by " + label(user);
  }
  return "";
}

static std::string whyNoKernel(Candidate &candidate, const KernelTable &table, PullCosts &costs) {
  llvm::SmallPtrSet<Operation *, 16> members(candidate.ops.begin(), candidate.ops.end());
  if (!needsKernel(candidate.root, table))
    return label(candidate.root) + " has no kernel";
  FusionGrower grower(
      table, costs, [&](Operation *op) { return members.contains(op); },
      /*mayJoin=*/true);
  FusionGroup &group = candidate.group;
  group = grower.grow(candidate.root);
  StringRef family = grower.familyOf(group), wanted = candidate.match.kernel;
  for (Operation *op : llvm::reverse(candidate.ops))
    if (!group.ops.contains(op))
      return "the " + family.str() + " kernel does not take " + label(op);
  if (family != wanted)
    return "the kernel would be one of family " + family.str() + ", not " + wanted.str();
  return "";
}

bool kiln::weighByRecords(RuleMatch &match, ArrayRef<Operation *> ops, const TrafficModel &traffic,
                          Weigher *weigher) {
  if (!weigher || !weigher->knows(match.rule))
    return true;
  auto worth =
      weigher->weigh(match.rule, match.pattern, bucketOf(ops, traffic), match.savedOverGeneric);
  if (!worth)
    return true;
  match.basis = worth->basis;
  match.speedup = worth->speedup;
  match.gain = worth->gain;
  match.recordText = std::move(worth->text);
  match.records = {worth->recordDigest};
  match.reason = std::move(worth->objection);
  return match.reason.empty();
}

/// Why the generic fuser is the better choice, by what is predicted.
static std::string whyGeneric(GenericPlan::Cost without, GenericPlan::Cost with, int64_t gain) {
  if (gain >= 0)
    return "";
  if (with.bytes > without.bytes)
    return "the generic fuser moves " + std::to_string(with.bytes - without.bytes) +
           " bytes less: it takes more ops into the kernel";
  return "the generic fuser makes fewer kernels of these ops";
}

void kiln::judge(Candidate &candidate, const KernelTable &table, PullCosts &costs,
                 const GenericPlan &generic, const TrafficModel &traffic, Weigher *weigher) {
  RuleMatch &match = candidate.match;
  match.verdict = Verdict::Refused;
  match.reason = close(candidate);
  for (Operation *op : candidate.ops) {
    match.ops.push_back(op->getName().getStringRef().str());
    if (auto name = dyn_cast<NameLoc>(op->getLoc()))
      if (match.nodes.empty() || match.nodes.back() != name.getName())
        match.nodes.push_back(name.getName().str());
  }
  if (match.reason.empty())
    match.reason = whyNoKernel(candidate, table, costs);
  if (!match.reason.empty())
    return;
  for (Operation *op : candidate.ops)
    match.savedBytes += traffic.trafficOf(op);
  auto [without, with] = generic.compare(candidate.ops);
  match.savedBytes -= traffic.trafficOf(candidate.ops);
  match.savedOverGeneric = without.bytes - with.bytes;
  match.verdict = Verdict::Lost;
  match.gain = candidate.predictedGain = generic.timeOf(without) - generic.timeOf(with);
  if (!weighByRecords(match, candidate.ops, traffic, weigher))
    return;
  if (match.basis == EvidenceClass::Predicted) {
    match.reason = whyGeneric(without, with, candidate.predictedGain);
    return;
  }
  // A record is of the ops alone: what the kernel leaves to others is predicted.
  int64_t alone = generic.timeOf(generic.costApart(candidate.ops)) -
                  generic.timeOf({traffic.trafficOf(candidate.ops), 1});
  int64_t around = candidate.predictedGain - alone;
  match.gain += around;
  if (around < 0 && match.gain < 0)
    match.reason = "what it leaves to other kernels costs more than it saves";
}
