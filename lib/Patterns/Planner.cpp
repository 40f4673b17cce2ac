//===- Planner.cpp - The choice among overlapping matches -----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Candidates.h"

using namespace mlir;
using namespace kiln;

/// Nodes that the search may visit for one group of overlapping matches; after
/// that the best set so far stands, and it is at least the greedy one.
static constexpr unsigned searchBudget = 20000;

namespace {
/// Compared from left to right.
struct Gain {
  /// Picoseconds over the generic fuser.
  int64_t time = 0;
  int64_t bytes = 0, ops = 0;

  auto key() const { return std::tie(time, bytes, ops); }
  bool operator<(const Gain &other) const { return key() < other.key(); }
  Gain operator+(const Gain &other) const {
    return {time + other.time, bytes + other.bytes, ops + other.ops};
  }
  Gain operator-(const Gain &other) const {
    return {time - other.time, bytes - other.bytes, ops - other.ops};
  }
};

/// Branch and bound over matches of which some overlap.
class Search {
public:
  Search(ArrayRef<unsigned> order, ArrayRef<Gain> gains,
         const std::vector<std::set<unsigned>> &clashes)
      : order(order), gains(gains), clashes(clashes) {}

  SmallVector<unsigned> run() {
    Gain all;
    for (unsigned candidate : order)
      all = all + gains[candidate];
    visit(0, {}, all);
    return best;
  }

private:
  void visit(size_t at, Gain gain, Gain rest) {
    if (!found || bestGain < gain) {
      found = true;
      bestGain = gain;
      best = current;
    }
    // Gains are not negative, so what is left is a bound.
    if (at == order.size() || !(bestGain < gain + rest) || budget == 0)
      return;
    --budget;
    unsigned candidate = order[at];
    Gain own = gains[candidate];
    if (llvm::none_of(current, [&](unsigned other) { return clashes[candidate].count(other); })) {
      current.push_back(candidate);
      visit(at + 1, gain + own, rest - own);
      current.pop_back();
    }
    visit(at + 1, gain, rest - own);
  }

  ArrayRef<unsigned> order;
  ArrayRef<Gain> gains;
  const std::vector<std::set<unsigned>> &clashes;
  SmallVector<unsigned> best, current;
  Gain bestGain;
  bool found = false;
  unsigned budget = searchBudget;
};
} // namespace

static std::string describe(const RuleMatch &match) {
  return match.rule + (match.nodes.empty() ? "" : " at " + match.nodes.back());
}

/// Drops fired matches, one at a time, as long as the block gets faster by it
/// and is slower than without any rule.
static void giveUp(std::vector<Candidate> &candidates, const GenericPlan &generic) {
  // Of the block: the prediction, and what measurements know better.
  auto timeBut = [&](const Candidate *dropped) {
    SmallVector<ArrayRef<Operation *>> kernels;
    int64_t knownBetter = 0;
    for (const Candidate &candidate : candidates)
      if (candidate.match.verdict == Verdict::Fired && &candidate != dropped) {
        kernels.push_back(candidate.ops);
        knownBetter += candidate.match.gain - candidate.predictedGain;
      }
    return generic.timeOf(generic.costWith(kernels)) - knownBetter;
  };
  int64_t limit = generic.timeOf(generic.costWith({})), now = timeBut(nullptr);
  for (Candidate &candidate : candidates) {
    if (now <= limit)
      return;
    if (candidate.match.verdict != Verdict::Fired)
      continue;
    int64_t then = timeBut(&candidate);
    if (then >= now)
      continue;
    candidate.match.verdict = Verdict::Lost;
    candidate.match.reason =
        "with what else fired it costs " + std::to_string((now - then) / 1000) + " ns more";
    now = then;
  }
}

void kiln::choose(std::vector<Candidate> &candidates, const GenericPlan &generic) {
  auto eligible = [&](unsigned i) {
    const RuleMatch &match = candidates[i].match;
    return match.verdict == Verdict::Lost && match.reason.empty();
  };
  llvm::MapVector<Operation *, SmallVector<unsigned>> byOp;
  std::vector<Gain> gains(candidates.size());
  for (unsigned i = 0; i < candidates.size(); ++i) {
    if (!eligible(i))
      continue;
    const Candidate &candidate = candidates[i];
    gains[i] = {candidate.match.gain, candidate.match.savedBytes,
                static_cast<int64_t>(candidate.ops.size())};
    for (Operation *op : candidate.ops)
      byOp[op].push_back(i);
  }
  std::vector<std::set<unsigned>> clashes(candidates.size());
  for (const auto &[op, sharing] : byOp)
    for (unsigned a : sharing)
      for (unsigned b : sharing)
        if (a != b)
          clashes[a].insert(b);

  std::vector<bool> seen(candidates.size());
  for (unsigned start = 0; start < candidates.size(); ++start) {
    if (seen[start] || !eligible(start))
      continue;
    SmallVector<unsigned> component{start};
    seen[start] = true;
    for (size_t i = 0; i < component.size(); ++i)
      for (unsigned next : clashes[component[i]])
        if (!seen[next]) {
          seen[next] = true;
          component.push_back(next);
        }
    llvm::sort(component, [&](unsigned a, unsigned b) {
      if (gains[b] < gains[a] || gains[a] < gains[b])
        return gains[b] < gains[a];
      return std::tie(candidates[a].match.rule, a) < std::tie(candidates[b].match.rule, b);
    });
    for (unsigned chosen : Search(component, gains, clashes).run())
      candidates[chosen].match.verdict = Verdict::Fired;
  }
  giveUp(candidates, generic);
  for (unsigned i = 0; i < candidates.size(); ++i)
    for (unsigned other : clashes[i]) {
      RuleMatch &match = candidates[i].match, &rival = candidates[other].match;
      if (match.verdict == Verdict::Fired)
        match.beat.push_back(describe(rival));
      else if (rival.verdict == Verdict::Fired)
        match.reason += (match.reason.empty() ? "overlaps " : ", ") + describe(rival);
    }
}
