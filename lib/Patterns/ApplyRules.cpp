//===- ApplyRules.cpp - Kernels that fusion rules ask for -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"
#include "PassDetail.h"

using namespace mlir;
using namespace kiln;

/// Fuse(root, kernel, rule, pattern, op...): takes the match down and fails, so
/// that nothing changes and the applicator tries the next pattern.
static Native::Function recordInto(std::vector<Candidate> &sink) {
  return [&sink](PatternRewriter &, PDLResultList &, ArrayRef<PDLValue> arguments) {
    Candidate candidate;
    auto text = [&](size_t i) {
      auto attr = dyn_cast_or_null<StringAttr>(arguments[i].cast<Attribute>());
      return attr ? attr.str() : "";
    };
    candidate.root = arguments[0].cast<Operation *>();
    candidate.match.kernel = text(1);
    candidate.match.rule = text(2);
    candidate.match.pattern = text(3);
    for (PDLValue value : arguments.drop_front(4))
      candidate.ops.push_back(value.cast<Operation *>());
    sink.push_back(std::move(candidate));
    return failure();
  };
}

static DictionaryAttr evidenceOf(const RuleMatch &match, MLIRContext *context) {
  Builder b(context);
  SmallVector<NamedAttribute> facts = {
      b.getNamedAttr("basis", b.getStringAttr(evidenceName(match.basis))),
      b.getNamedAttr("saved_bytes", b.getI64IntegerAttr(match.savedBytes)),
      b.getNamedAttr("saved_over_generic", b.getI64IntegerAttr(match.savedOverGeneric))};
  if (match.basis != EvidenceClass::Predicted)
    facts.push_back(b.getNamedAttr("gain_ps", b.getI64IntegerAttr(match.gain)));
  return b.getDictionaryAttr(facts);
}

namespace {
struct ApplyRules final : RulePass<kiln::impl::ApplyRulesPassBase<ApplyRules>> {
  using RulePass::RulePass;

  void runOnOperation() override {
    SmallVector<Block *> blocks;
    collectProgramBlocks(getOperation().getBody(), blocks);
    for (Block *block : blocks)
      runOn(*block);
    explainOwn();
  }

private:
  void runOn(Block &block) {
    std::vector<Candidate> sink;
    RuleActions actions;
    actions.fuse = recordInto(sink);
    RuleMatcher matcher(getContext(), tables.library.natives(), report().rules, RuleKind::Fusion,
                        std::move(actions));
    RuleTimes &times = report().times;
    {
      ProcessorTime time(times.prepare);
      if (!matcher.prepare(GraphFeatures(block)))
        return;
    }
    std::vector<Candidate> candidates;
    {
      ProcessorTime time(times.match);
      candidates = collectCandidates(block, matcher, sink);
    }
    ProcessorTime time(times.choose);
    report().work += matcher.work();
    PullCosts costs(tables.kernels);
    TrafficModel traffic(block);
    GenericPlan generic(block, tables.kernels, costs, traffic, report().rates);
    for (Candidate &candidate : candidates)
      judge(candidate, tables.kernels, costs, generic, traffic, weigher());
    choose(candidates, generic);
    for (Candidate &candidate : candidates) {
      const RuleMatch &match = candidate.match;
      if (match.verdict == Verdict::Fired) {
        outlineFusion(
            candidate.group, match.kernel, tables.kernels,
            {StringAttr::get(&getContext(), match.rule), evidenceOf(match, &getContext())});
        ++numFusions;
      }
      report().matches.push_back(std::move(candidate.match));
    }
  }
};
} // namespace

std::unique_ptr<Pass> kiln::createApplyRulesPass(const RuleTables &tables, RuleReport *report) {
  return std::make_unique<ApplyRules>(tables, report);
}

void kiln::registerRulePasses(const RuleTables &tables) {
  registerPass([=] { return createApplyAlgebraPass(tables); });
  registerPass([=] { return createApplyRulesPass(tables); });
}

void kiln::registerRuleDialects(DialectRegistry &registry) {
  registry.insert<pdl::PDLDialect, pdl_interp::PDLInterpDialect>();
}
