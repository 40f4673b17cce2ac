//===- ApplyAlgebra.cpp - Rewrites by algebra rules -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"
#include "PassDetail.h"
#include "RuleMatcher.h"
#include "kiln/Codegen/FusionGroup.h"
#include "kiln/Reference/Fold.h"
#include <map>

using namespace mlir;
using namespace kiln;

/// Rewrites of a graph, for each op that it has, after which a rule counts as
/// one without end.
static constexpr size_t rewritesPerOp = 16;

/// Nodes of ops, without repetition.
static std::vector<std::string> nodesOf(ArrayRef<Operation *> ops) {
  std::vector<std::string> nodes;
  for (Operation *op : ops)
    if (auto name = dyn_cast<NameLoc>(op->getLoc()))
      if (!llvm::is_contained(nodes, name.getName().str()))
        nodes.push_back(name.getName().str());
  return nodes;
}

/// The rules but those of a folder `algebra`, which move constants about.
static RuleList withoutMoving(RuleList rules) {
  llvm::erase_if(rules, [](const auto &rule) { return rule->anchor == "algebra"; });
  return rules;
}

namespace {
/// Why a rule must be left out.
struct Fault {
  std::string rule, text;
};

/// An op that a rewrite takes out of the graph.
struct Removal {
  Operation *op;
  /// What takes the place of its results; none where it is erased.
  SmallVector<Value> by;
};

/// Applies rules to a block until none matches. What a rewrite takes away is
/// taken away when all of it has been done: one that fails halfway has changed
/// nothing, and none sees an op that is gone.
///
/// Not MLIR's greedy driver: that one ends the process when a native rewrite
/// fails, and cannot tell which rule it was that misbehaved.
class AlgebraDriver : public RewriterBase::Listener {
public:
  AlgebraDriver(Block &block, const RuleTables &tables, const RuleList &rules, Weigher *weigher,
                RuleTimes &times)
      : block(block), tables(tables), weigher(weigher), times(times), traffic(block),
        rewriter(block.getParentOp()->getContext()),
        recognising(*rewriter.getContext(), tables.library.natives(), withoutMoving(rules),
                    RuleKind::Algebra, actions()),
        all(*rewriter.getContext(), tables.library.natives(), rules, RuleKind::Algebra, actions()) {
    rewriter.setListener(this);
    limit = rewritesPerOp * (block.getOperations().size() + 1);
  }

  /// False when a rule misbehaved: the block is to be thrown away.
  bool run() {
    // What is spelled out is recognised before constants move and hide it.
    return run(recognising) && run(all);
  }

  MatcherWork work() const {
    MatcherWork sum = recognising.work();
    sum += all.work();
    return sum;
  }

  std::vector<RuleMatch> matches;
  std::optional<Fault> fault;

private:
  bool run(RuleMatcher &rules) {
    // New ops can make rules relevant that were not.
    auto prepare = [&] {
      ProcessorTime time(times.prepare);
      return rules.prepare(GraphFeatures(block));
    };
    while (prepare()) {
      ProcessorTime time(times.match);
      matcher = &rules;
      for (Operation &op : block)
        push(&op);
      while (Operation *op = pop())
        if (!visit(op))
          return false;
    }
    return true;
  }

  //===-- Work ------------------------------------------------------------===//

  void push(Operation *op) {
    if (op->hasTrait<OpTrait::IsTerminator>() || op->getBlock() != &block)
      return;
    auto [it, fresh] = places.try_emplace(op, worklist.size());
    if (fresh)
      worklist.push_back(op);
  }
  Operation *pop() {
    while (!worklist.empty()) {
      Operation *op = worklist.pop_back_val();
      if (op) {
        places.erase(op);
        return op;
      }
    }
    return nullptr;
  }
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    made.push_back(op);
  }
  void notifyOperationErased(Operation *op) override {
    if (auto it = places.find(op); it != places.end()) {
      worklist[it->second] = nullptr;
      places.erase(it);
    }
    llvm::erase(made, op);
  }

  /// Drops an op that nothing reads. Its producers may be next, and what read
  /// their results beside it may be the only reader now.
  bool eraseIfDead(Operation *op) {
    // A branch or loop may give values to symbols that others use.
    if (!op->use_empty() || !isPure(op) || op->getNumRegions() != 0)
      return false;
    SmallVector<Value> operands(op->getOperands());
    rewriter.eraseOp(op);
    for (Value operand : operands) {
      if (operand.hasOneUse())
        push(*operand.getUsers().begin());
      if (Operation *producer = operand.getDefiningOp())
        push(producer);
    }
    return true;
  }

  bool visit(Operation *op) {
    if (eraseIfDead(op))
      return true;
    made.clear();
    current = {};
    bool rewritten = succeeded(matcher->matchAndRewrite(op, rewriter));
    if (rewritten && !fault)
      rewritten = succeeded(finish());
    removals.clear();
    if (fault)
      return false;
    if (!rewritten) {
      dropNewOps();
      return true;
    }
    settleNewOps();
    matches.push_back(std::move(current));
    if (++rewrites <= limit)
      return true;
    std::map<std::string, size_t> counts;
    for (const RuleMatch &match : matches)
      ++counts[match.rule];
    auto most = std::max_element(counts.begin(), counts.end(),
                                 [](auto &a, auto &b) { return a.second < b.second; });
    fault = Fault{most->first, "it rewrites without end: " + std::to_string(most->second) +
                                   " rewrites of a graph of " +
                                   std::to_string(limit / rewritesPerOp) + " ops"};
    return false;
  }

  /// What a rewrite that failed has left goes, and the graph is what it was:
  /// nothing is to be visited again, or it would fail again for ever.
  void dropNewOps() {
    while (!made.empty())
      rewriter.eraseOp(made.back());
  }

  /// Evaluates ops on constants, so that rules see constants.
  void settleNewOps() {
    for (Operation *op : SmallVector<Operation *>(made)) {
      auto constants = foldToConstants(rewriter, op, tables.references);
      if (succeeded(constants))
        rewriter.replaceOp(op, *constants);
    }
    SmallVector<Operation *> left(made);
    for (Operation *op : llvm::reverse(left))
      if (!eraseIfDead(op))
        push(op);
  }

  //===-- What rewrites call ----------------------------------------------===//

  RuleActions actions() {
    RuleActions actions;
    actions.began = [this](PatternRewriter &, PDLResultList &, ArrayRef<PDLValue> arguments) {
      return begin(arguments);
    };
    actions.build = [this](PatternRewriter &, PDLResultList &results,
                           ArrayRef<PDLValue> arguments) { return build(results, arguments); };
    actions.replace = [this](PatternRewriter &, PDLResultList &, ArrayRef<PDLValue> arguments) {
      return replace(arguments);
    };
    actions.erase = [this](PatternRewriter &, PDLResultList &, ArrayRef<PDLValue> arguments) {
      return erase(arguments[0].cast<Operation *>());
    };
    return actions;
  }

  /// Began(rule, pattern, op...)
  LogicalResult begin(ArrayRef<PDLValue> arguments) {
    current = {};
    removals.clear();
    current.rule = cast<StringAttr>(arguments[0].cast<Attribute>()).str();
    current.pattern = cast<StringAttr>(arguments[1].cast<Attribute>()).str();
    current.verdict = Verdict::Rewrote;
    SmallVector<Operation *> ops;
    for (PDLValue value : arguments.drop_front(2))
      ops.push_back(value.cast<Operation *>());
    llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    current.nodes = nodesOf(ops);
    for (Operation *op : ops)
      current.ops.push_back(op->getName().getStringRef().str());
    place = ops.back()->getLoc();
    return weighByRecords(current, ops, traffic, weigher) ? success()
                                                          : decline(current.reason, Verdict::Lost);
  }

  /// Build(name, [attribute name...], attribute..., operand...)
  LogicalResult build(PDLResultList &results, ArrayRef<PDLValue> arguments) {
    StringRef name = cast<StringAttr>(arguments[0].cast<Attribute>());
    auto names = cast<ArrayAttr>(arguments[1].cast<Attribute>());
    arguments = arguments.drop_front(2);
    SmallVector<NamedAttribute> attributes;
    for (auto [key, value] : llvm::zip_first(names.getAsRange<StringAttr>(), arguments))
      attributes.emplace_back(key, value.template cast<Attribute>());
    SmallVector<Value> operands;
    for (PDLValue argument : arguments.drop_front(names.size()))
      appendValues(argument, operands);
    std::string why;
    ScopedDiagnosticHandler listen(rewriter.getContext(), [&](mlir::Diagnostic &diag) {
      if (why.empty())
        why = diag.str();
      return success();
    });
    auto op = tryBuild(rewriter, place, name, operands, attributes);
    if (failed(op))
      return decline("a " + name.str() + " cannot be made: " + why);
    // What a rule makes of constants is to cost nothing when the model runs.
    if (isOfConstants(*op) && !isWorthFolding(*op))
      return decline("the constant that " + name.str() + " makes is too large to be kept");
    results.push_back(*op);
    return success();
  }

  /// Not a constant, and computed of constants alone, by this rewrite.
  bool isOfConstants(Operation *op) {
    return op->getNumOperands() != 0 && llvm::all_of(op->getOperands(), [&](Value operand) {
             Operation *producer = operand.getDefiningOp();
             return constantOf(operand) ||
                    (producer && llvm::is_contained(made, producer) && isOfConstants(producer));
           });
  }

  static void appendValues(PDLValue argument, SmallVectorImpl<Value> &values) {
    if (auto op = argument.dyn_cast<Operation *>())
      llvm::append_range(values, op->getResults());
    else if (auto value = argument.dyn_cast<Value>())
      values.push_back(value);
    else if (argument.isa<ValueRange>())
      llvm::append_range(values, argument.cast<ValueRange>());
  }

  LogicalResult blame(const Twine &text) {
    if (!fault)
      fault = Fault{current.rule, text.str()};
    return failure();
  }

  static std::string text(Type type) {
    std::string result;
    llvm::raw_string_ostream(result) << type;
    return result;
  }

  /// Types that are not the same here, but are for other operands: sizes that
  /// are not provably equal, ranks that a constant's broadcast extends by ones.
  static bool mayBeEqual(Type was, Type is) {
    auto a = dyn_cast<RankedTensorType>(was), b = dyn_cast<RankedTensorType>(is);
    if (!a || !b || a.getElementType() != b.getElementType())
      return false;
    auto withoutOnes = [](RankedTensorType type) {
      return type.getShape().drop_while([](int64_t dim) { return dim == 1; });
    };
    return succeeded(verifyCompatibleShape(withoutOnes(a), withoutOnes(b)));
  }

  /// The rule does not fit here, which is no fault of its.
  LogicalResult decline(std::string why, Verdict verdict = Verdict::Refused) {
    if (declined.emplace(current.rule, current.nodes).second) {
      matches.push_back(current);
      matches.back().verdict = verdict;
      matches.back().reason = std::move(why);
    }
    return failure();
  }

  /// Replace(op, by...)
  LogicalResult replace(ArrayRef<PDLValue> arguments) {
    auto *op = arguments[0].cast<Operation *>();
    StringRef name = op->getName().getStringRef();
    SmallVector<Value> values;
    for (PDLValue argument : arguments.drop_front())
      appendValues(argument, values);
    if (isRemoved(op))
      return blameRemoved(op);
    if (values.size() != op->getNumResults())
      return blame("it replaces the " + Twine(op->getNumResults()) + " results of " + name +
                   " by " + Twine(values.size()));
    if (!isPure(op))
      return blame("it replaces " + name + ", which has an effect");
    for (auto [result, value] : llvm::zip(op->getResults(), values)) {
      if (isRemoved(value.getDefiningOp()))
        return blameRemoved(value.getDefiningOp());
      if (value.getDefiningOp() == op)
        return blame("it replaces " + name + " by itself");
      if (llvm::is_contained(result.getUsers(), value.getDefiningOp()))
        return blame("it replaces " + name + " by what is computed from it");
      if (result.getType() != value.getType()) {
        std::string what = "it replaces " + name.str() + " of type " + text(result.getType()) +
                           " by a value of type " + text(value.getType());
        return mayBeEqual(result.getType(), value.getType()) ? decline(what) : blame(what);
      }
      if (!isKnownToReaders(value, result))
        return decline("a result is read before what replaces it");
    }
    removals.push_back({op, std::move(values)});
    return success();
  }

  LogicalResult erase(Operation *op) {
    if (isRemoved(op))
      return blameRemoved(op);
    if (!isPure(op))
      return blame("it erases " + op->getName().getStringRef() + ", which has an effect");
    removals.push_back({op, {}});
    return success();
  }

  //===-- The end of a rewrite --------------------------------------------===//

  bool isRemoved(Operation *op) const {
    return llvm::any_of(removals, [&](const Removal &removal) { return removal.op == op; });
  }
  LogicalResult blameRemoved(Operation *op) {
    return blame("it uses " + op->getName().getStringRef() + " after it has replaced or erased it");
  }

  /// Whether `op` may read `value`. In a branch or loop, it is the branch or
  /// loop that reads.
  static bool isKnownAt(Value value, Operation *op) {
    Operation *reader = value.getParentBlock()->findAncestorOpInBlock(*op);
    Operation *producer = value.getDefiningOp();
    return reader && (!producer || producer->isBeforeInBlock(reader));
  }
  bool isKnownToReaders(Value value, Value result) const {
    return llvm::all_of(result.getUsers(),
                        [&](Operation *user) { return isRemoved(user) || isKnownAt(value, user); });
  }

  /// The end of a rewrite that succeeded.
  LogicalResult finish() {
    for (Operation *op : made)
      for (Value operand : op->getOperands())
        if (!isKnownAt(operand, op))
          return decline("an operand of " + op->getName().getStringRef().str() +
                         " is computed later");
    for (const Removal &removal : removals) {
      for (auto [result, value] : llvm::zip(removal.op->getResults(), removal.by))
        // Replacements before this one may have made more readers.
        if (!isKnownToReaders(value, result))
          return blame("it replaces " + removal.op->getName().getStringRef() +
                       " by what is computed later");
      for (Operation *user : removal.op->getUsers())
        push(user);
      for (Value operand : removal.op->getOperands())
        if (Operation *producer = operand.getDefiningOp())
          push(producer);
      if (!removal.by.empty())
        rewriter.replaceAllUsesWith(removal.op->getResults(), removal.by);
    }
    while (!removals.empty()) {
      auto *unread =
          llvm::find_if(removals, [](const Removal &removal) { return removal.op->use_empty(); });
      if (unread == removals.end())
        return blame("it erases " + removals.front().op->getName().getStringRef() +
                     ", whose result is used");
      rewriter.eraseOp(unread->op);
      removals.erase(unread);
    }
    return success();
  }

  Block &block;
  const RuleTables &tables;
  Weigher *weigher;
  RuleTimes &times;
  TrafficModel traffic;
  RuleRewriter rewriter;
  RuleMatcher recognising, all, *matcher = nullptr;
  size_t limit;
  SmallVector<Operation *> worklist, made;
  SmallVector<Removal, 2> removals; // of the rewrite that is going on
  llvm::DenseMap<Operation *, size_t> places;
  size_t rewrites = 0;
  std::set<std::pair<std::string, std::vector<std::string>>> declined;
  RuleMatch current;
  Location place = rewriter.getUnknownLoc();
};

struct ApplyAlgebra final : RulePass<kiln::impl::ApplyAlgebraPassBase<ApplyAlgebra>> {
  using RulePass::RulePass;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    RuleReport &report = this->report();
    RuleList rules = report.rules;
    // Each round without a fault ends, and each other one leaves out a rule.
    while (true) {
      OwningOpRef<func::FuncOp> copy = function.clone();
      std::vector<RuleMatch> matches;
      auto fault = runOn(*copy, rules, matches);
      if (!fault) {
        if (!matches.empty())
          function.getBody().takeBody(copy->getBody());
        numRewrites += static_cast<unsigned>(matches.size());
        llvm::append_range(report.matches, std::move(matches));
        break;
      }
      llvm::erase_if(rules, [&](auto &rule) { return rule->name == fault->rule; });
      report.switchedOff.emplace_back(fault->rule, fault->text);
    }
    explainOwn();
  }

private:
  std::optional<Fault> runOn(func::FuncOp function, const RuleList &rules,
                             std::vector<RuleMatch> &matches) {
    // An op that a rule asks for and that cannot be built is no match.
    ScopedDiagnosticHandler silent(&getContext(), [](mlir::Diagnostic &) { return success(); });
    SmallVector<Block *> blocks;
    collectProgramBlocks(function.getBody(), blocks);
    for (Block *block : blocks) {
      AlgebraDriver driver(*block, tables, rules, weigher(), report().times);
      bool good = driver.run();
      report().work += driver.work();
      if (!good)
        return driver.fault;
      llvm::append_range(matches, std::move(driver.matches));
    }
    return std::nullopt;
  }
};
} // namespace

std::unique_ptr<Pass> kiln::createApplyAlgebraPass(const RuleTables &tables, RuleReport *report) {
  return std::make_unique<ApplyAlgebra>(tables, report);
}
