//===- RuleMatcher.cpp - Rules, ready to match ----------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuleMatcher.h"
#include "RuleModule.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace kiln;

/// libmlir's bytecode counts patterns and what they name in 16 bits, and only
/// asserts that they fit.
static constexpr size_t maxPatterns = 16000;

GraphFeatures::GraphFeatures(Block &block) {
  for (Operation &op : block) {
    StringRef name = op.getName().getStringRef();
    held.insert(name);
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp())
        held.insert((name + " " + producer->getName().getStringRef()).str());
  }
}

bool GraphFeatures::meet(ArrayRef<std::string> needs) const {
  return llvm::all_of(needs, [&](const std::string &need) { return held.contains(need); });
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

void RuleMatcher::registerFunctions(PDLPatternModule &module) const {
  for (const auto &[key, native] : natives.all()) {
    if (native.isRewrite && !native.isMarker)
      module.registerRewriteFunction(native.name, native.run);
    if (native.isRewrite)
      continue;
    module.registerConstraintFunction(native.name, native.run);
    if (native.results.empty())
      continue;
    module.registerRewriteFunction(getNative(native.name), native.run);
    module.registerConstraintFunction(
        holdsNative(native.name),
        [run = native.run](PatternRewriter &rewriter, PDLResultList &, ArrayRef<PDLValue> values) {
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
