//===- FusionGroup.h - Ops that become one kernel ---------------*- C++ -*-===//
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
// Asked for by a rule, an op of rows may lie among the pointwise ops behind an
// anchor that completes rows: a product, its bias and residual, and the
// normalisation of the sum. Another one, with pointwise ops behind it, may lie
// before the anchor: a normalisation, an activation, and the product. So may
// another anchor that this one joins: a depthwise convolution before a pointwise.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CODEGEN_FUSIONGROUP_H
#define KILN_CODEGEN_FUSIONGROUP_H

#include "dialects/Kiln/ops/Fusion/Fusion.h"
#include "kiln/Codegen/KernelTable.h"
#include "llvm/ADT/SetVector.h"
#include <functional>

namespace kiln {

/// Rows that a kernel makes before it finishes them.
inline constexpr int64_t rowsToFinish = 32;

struct FusionGroup {
  llvm::SmallSetVector<mlir::Operation *, 8> ops;
  mlir::Operation *root = nullptr;
  /// Null for a loop kernel.
  mlir::Operation *anchor = nullptr;
  /// Another op with a kernel makes the anchor's operand 0, each element once.
  bool preparesOperand = false;
};

/// The anchor of a kernel of that family, the last one when it joins another;
/// null for a loop kernel.
mlir::Operation *anchorOf(mlir::Block &body, llvm::StringRef family, const KernelTable &table);

/// Blocks that hold a program: the region's, those of branches and of bodies of
/// loops; not those of fusions.
void collectProgramBlocks(mlir::Region &region, llvm::SmallVectorImpl<mlir::Block *> &blocks);

/// Views and constants are no work; ops without a kernel (bind, require) stay.
bool needsKernel(mlir::Operation *op, const KernelTable &table);

/// What pulling costs; remembered for ops that stay as they are.
class PullCosts {
public:
  /// The table must outlive this.
  explicit PullCosts(const KernelTable &table) : table(table) {}

  /// Vector instructions for an element. Permuted operands are read where they
  /// lie; what is made of constants alone (quantized weights) is only made as
  /// far as it is needed.
  unsigned costOf(mlir::Operation *op);
  /// With all that would have to be a kernel of its own if `op` were pulled
  /// without it: then it had better come with it. Exact up to the most that is
  /// pulled.
  unsigned chainCost(mlir::Operation *op);

private:
  bool isConstant(mlir::Operation *op);

  const KernelTable &table;
  llvm::DenseMap<mlir::Operation *, unsigned> costs;
  llvm::DenseMap<mlir::Operation *, bool> constants;
};

class FusionGrower {
public:
  using Allowed = std::function<bool(mlir::Operation *)>;

  /// Groups hold only ops that are allowed at the time. With `mayJoin`, what a rule
  /// asks for may become part of them: see above. Table and costs must outlive the
  /// grower.
  FusionGrower(const KernelTable &table, PullCosts &costs, Allowed allowed, bool mayJoin = false)
      : table(table), costs(costs), allowed(std::move(allowed)), mayJoin(mayJoin) {}

  /// The largest group around `root`, which needs a kernel.
  FusionGroup grow(mlir::Operation *root);
  /// "loop", or the anchor's family.
  llvm::StringRef familyOf(const FusionGroup &group) const;

private:
  bool feedsEpilogue(mlir::Operation *op, const FusionGroup &group) const;
  bool isPulledOften(mlir::Operation *op, const FusionGroup &group) const;
  unsigned costWith(mlir::Operation *producer, const FusionGroup &group);
  bool followsAnchor(mlir::Operation *op);
  bool canTake(mlir::Operation *producer, const FusionGroup &group);
  void extend(FusionGroup &group, llvm::function_ref<bool(mlir::Operation *)> wanted);
  bool isProductOfRows(mlir::Operation *anchor) const;
  void finishRows(FusionGroup &group);
  void prepareOperand(FusionGroup &group);
  bool canPrepareRows(const FusionGroup &group, const FusionGroup &inner) const;
  FusionGroup startAt(mlir::Operation *root);

  const KernelTable &table;
  PullCosts &costs;
  Allowed allowed;
  bool mayJoin;
  llvm::DenseMap<mlir::Operation *, bool> followers;
};

/// What a rule says of the fusion that it made; empty for the generic fuser.
struct FusionOrigin {
  mlir::StringAttr rule;
  mlir::DictionaryAttr evidence;
};

/// Moves the ops into a kiln.fusion of this family at the root's place. Only
/// the root's results may be used outside.
FusionOp outlineFusion(const FusionGroup &group, llvm::StringRef family, const KernelTable &table,
                       const FusionOrigin &origin = {});

} // namespace kiln

#endif // KILN_CODEGEN_FUSIONGROUP_H
