//===- Candidates.h - Matches of fusion rules -------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_PATTERNS_CANDIDATES_H
#define KILN_LIB_PATTERNS_CANDIDATES_H

#include "RuleMatcher.h"
#include "kiln/Codegen/FusionGroup.h"
#include "kiln/Patterns/Records.h"
#include "kiln/Patterns/RuleReport.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>

namespace kiln {

/// Bytes of memory traffic. Sizes that only the run knows count as
/// RuleReport::nominalSize, but 1 where they are no more than the first dim of
/// inputs with more dims: a batch, and requests come one at a time.
class TrafficModel {
public:
  TrafficModel() = default;
  /// For ops of this block, or one in it, of a program.
  explicit TrafficModel(mlir::Block &block);

  int64_t elementsOf(const Shape &shape) const;
  int64_t bytesOf(mlir::Value value) const;
  /// What a kernel of these ops reads and writes.
  int64_t trafficOf(llvm::ArrayRef<mlir::Operation *> ops) const;

private:
  llvm::StringSet<> batches;
  /// Evaluating sizes is dear, and types are few.
  mutable llvm::DenseMap<mlir::Type, int64_t> known;
};

/// As in Records.h; sizes that the model remembers cost nothing.
Bucket bucketOf(llvm::ArrayRef<mlir::Operation *> ops, const TrafficModel &traffic);

/// What the generic fuser would make of a block.
class GenericPlan {
public:
  GenericPlan(mlir::Block &block, const KernelTable &table, PullCosts &costs,
              const TrafficModel &traffic, const PredictionRates &rates);

  struct Cost {
    int64_t bytes = 0, kernels = 0;
  };
  /// Predicted picoseconds.
  int64_t timeOf(Cost cost) const {
    return std::llround(static_cast<double>(cost.bytes) * rates.picosecondsPerByte +
                        static_cast<double>(cost.kernels) * rates.picosecondsPerKernel);
  }
  /// Two costs of the groups that `ops` are in and of those that feed them: as
  /// they are, and with `ops` as one kernel and the rest grouped anew.
  std::pair<Cost, Cost> compare(llvm::ArrayRef<mlir::Operation *> ops) const;
  /// What the generic fuser would make of these ops if nothing were around them.
  Cost costApart(llvm::ArrayRef<mlir::Operation *> ops) const;
  /// Of the block, when the generic fuser takes what is in no kernel of these.
  Cost costWith(llvm::ArrayRef<llvm::ArrayRef<mlir::Operation *>> kernels) const;

private:
  llvm::SetVector<unsigned> groupsAround(llvm::ArrayRef<mlir::Operation *> ops) const;

  /// Adds kernels of the ops in `left`, which come last first.
  void addRest(llvm::ArrayRef<mlir::Operation *> rest, Cost &cost) const;

  mlir::Block &block;
  const KernelTable &table;
  PullCosts &costs;
  const TrafficModel &traffic;
  const PredictionRates &rates;
  std::vector<FusionGroup> groups;
  llvm::DenseMap<mlir::Operation *, unsigned> groupOf;
};

/// A match with its ops. `match.verdict` is Refused or, until one is chosen, Lost.
struct Candidate {
  RuleMatch match;
  mlir::Operation *root = nullptr;
  /// In the order of the block, the root last.
  llvm::SmallVector<mlir::Operation *> ops;
  FusionGroup group;
  /// RuleMatch::gain as the traffic predicts it, whatever was measured.
  int64_t predictedGain = 0;
};

/// All matches of the matcher's rules in a block, each once, in the order of
/// roots and then of rules. Changes nothing.
std::vector<Candidate> collectCandidates(mlir::Block &block, RuleMatcher &matcher,
                                         std::vector<Candidate> &sink);

/// Sets verdict, reason, costs and evidence; without a weigher all is predicted.
void judge(Candidate &candidate, const KernelTable &table, PullCosts &costs,
           const GenericPlan &generic, const TrafficModel &traffic, Weigher *weigher);
/// Sets the evidence that records give, if any; false when they speak against the
/// rule.
bool weighByRecords(RuleMatch &match, llvm::ArrayRef<mlir::Operation *> ops,
                    const TrafficModel &traffic, Weigher *weigher);

/// Chooses among candidates that overlap: the set that saves most time over the
/// generic fuser, then most traffic of all, then with fewest kernels; exactly,
/// unless very many overlap. Then gives up matches that together cost the block
/// more than they save, which the choice, made place by place, cannot see. Sets
/// Fired.
void choose(std::vector<Candidate> &candidates, const GenericPlan &generic);

} // namespace kiln

#endif // KILN_LIB_PATTERNS_CANDIDATES_H
