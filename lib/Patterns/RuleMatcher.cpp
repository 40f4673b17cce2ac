//===- RuleMatcher.cpp - Rules, ready to match ----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuleMatcher.h"
#include "RuleModule.h"
#include "dialects/Kiln/IR/TensorTypes.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace kiln;

/// libmlir's bytecode counts patterns and what they name in 16 bits, and only
/// asserts that they fit.
static constexpr size_t maxPatterns = 16000;

GraphFeatures::GraphFeatures(Block &block) : block(block) {
  // Kinds of ops and edges are few, and their texts need not be made again.
  llvm::DenseSet<std::pair<void *, void *>> edges;
  llvm::DenseSet<Operation *> constants;
  std::set<double> distinct;
  for (Operation &op : block) {
    OperationName name = op.getName();
    if (edges.insert({name.getAsOpaquePointer(), nullptr}).second)
      held.insert(name.getStringRef());
    for (Value operand : op.getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer)
        continue;
      OperationName from = producer->getName();
      if (edges.insert({name.getAsOpaquePointer(), from.getAsOpaquePointer()}).second)
        held.insert((name.getStringRef() + " " + from.getStringRef()).str());
      if (producer->hasTrait<OpTrait::ConstantLike>() && constants.insert(producer).second)
        if (auto number = splatOf(operand))
          distinct.insert(*number);
    }
  }
  numbers.assign(distinct.begin(), distinct.end());
}

bool GraphFeatures::holds(StringRef need) const {
  if (need.consume_front("= "))
    return holdsNumber(need);
  return need.contains('{') ? holdsAttribute(need) : held.contains(need);
}

bool GraphFeatures::holdsAttribute(StringRef need) const {
  auto [key, text] = need.split(" = ");
  auto [known, fresh] = attributes.try_emplace(key);
  auto [op, name] = key.split('{');
  for (Operation &candidate : block)
    if (fresh && candidate.getName().getStringRef() == op)
      if (Attribute value = candidate.getAttr(name)) {
        std::string printed;
        llvm::raw_string_ostream(printed) << value;
        known->second.insert(printed);
      }
  text.consume_back("}");
  return known->second.contains(text);
}

bool GraphFeatures::holdsNumber(StringRef need) const {
  double wanted = 0;
  bool bad = need.getAsDouble(wanted);
  // Those around it in their order are the nearest.
  auto at = llvm::lower_bound(numbers, wanted);
  return !bad && ((at != numbers.end() && isMeantBy(wanted, *at)) ||
                  (at != numbers.begin() && isMeantBy(wanted, *std::prev(at))));
}

bool GraphFeatures::meet(ArrayRef<std::string> needs) const {
  return llvm::all_of(needs, [&](const std::string &need) { return holds(need); });
}

/// Moves the patterns that can match out of the rule's module.
void RuleMatcher::addRule(const Rule &rule, const GraphFeatures &graph, ModuleOp into) {
  std::set<std::string> wanted;
  for (const RulePattern &pattern : rule.patterns)
    if (graph.meet(pattern.needs))
      wanted.insert(pattern.name);
  if (wanted.empty())
    return;
  auto pdl = parseSourceString<ModuleOp>(rule.bytecode, &context);
  if (!pdl)
    return;
  for (auto pattern : llvm::make_early_inc_range(pdl->getOps<pdl::PatternOp>()))
    if (wanted.count(pattern.getSymName()->str()))
      pattern->moveBefore(into.getBody(), into.getBody()->end());
}

bool RuleMatcher::prepare(const GraphFeatures &graph) {
  std::set<std::pair<std::string, std::string>> eligible;
  for (const auto &rule : rules)
    if (rule->kind == kind && eligible.size() < maxPatterns)
      for (const RulePattern &pattern : rule->patterns)
        if (graph.meet(pattern.needs))
          eligible.emplace(rule->name, pattern.name);
  if (std::includes(chosen.begin(), chosen.end(), eligible.begin(), eligible.end()))
    return false;
  chosen = std::move(eligible);
  done.patterns += chosen.size();

  OwningOpRef<ModuleOp> all = ModuleOp::create(UnknownLoc::get(&context));
  for (const auto &rule : rules)
    if (rule->kind == kind && chosen.lower_bound({rule->name, ""}) != chosen.end() &&
        chosen.lower_bound({rule->name, ""})->first == rule->name)
      addRule(*rule, graph, *all);
  // Each module was lowered before, alone. FrozenRewritePatternSet would do it,
  // but ends the process when it fails.
  if (failed(lowerToInterp(*all)))
    return false;
  PDLPatternModule module(std::move(all));
  registerFunctions(module);
  applicator.reset();
  patterns = FrozenRewritePatternSet(RewritePatternSet(std::move(module)));
  applicator = std::make_unique<PatternApplicator>(patterns);
  applicator->applyDefaultCostModel();
  return true;
}

namespace {
struct DroppedResults : PDLResultList {
  DroppedResults() : PDLResultList(1) {}
};
} // namespace

void RuleMatcher::registerFunctions(PDLPatternModule &module) {
  auto counted = [this](const Native::Function &run) -> Native::Function {
    return
        [this, &run](PatternRewriter &rewriter, PDLResultList &results, ArrayRef<PDLValue> values) {
          ++done.calls;
          return run(rewriter, results, values);
        };
  };
  for (const auto &[key, native] : natives.all()) {
    if (native.isRewrite && !native.isMarker)
      module.registerRewriteFunction(native.name, native.run);
    if (native.isRewrite)
      continue;
    module.registerConstraintFunction(native.name, counted(native.run));
    if (native.results.empty())
      continue;
    module.registerRewriteFunction(getNative(native.name), native.run);
    module.registerConstraintFunction(holdsNative(native.name),
                                      [this, &run = native.run](PatternRewriter &rewriter,
                                                                PDLResultList &,
                                                                ArrayRef<PDLValue> values) {
                                        ++done.calls;
                                        DroppedResults dropped;
                                        return run(rewriter, dropped, values);
                                      });
  }
  for (auto [name, function] :
       {std::pair(fuseNative, &actions.fuse), std::pair(beganNative, &actions.began),
        std::pair(buildNative, &actions.build), std::pair(replaceNative, &actions.replace),
        std::pair(eraseNative, &actions.erase)})
    module.registerRewriteFunction(
        name, *function ? *function : [](PatternRewriter &, PDLResultList &, ArrayRef<PDLValue>) {
          return failure();
        });
}

LogicalResult RuleMatcher::matchAndRewrite(Operation *op, RuleRewriter &rewriter) {
  return applicator ? applicator->matchAndRewrite(op, rewriter) : failure();
}
