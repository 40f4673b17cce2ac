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
//===----------------------------------------------------------------------===//
#ifndef KILN_CODEGEN_FUSIONGROUP_H
#define KILN_CODEGEN_FUSIONGROUP_H

#include "dialects/Kiln/ops/Fusion/Fusion.h"
#include "kiln/Codegen/KernelTable.h"
#include "llvm/ADT/SetVector.h"

namespace kiln {

struct FusionGroup {
  llvm::SmallSetVector<mlir::Operation *, 8> ops;
  mlir::Operation *root = nullptr;
  /// Null for a loop kernel.
  mlir::Operation *anchor = nullptr;
};

/// Remembers what ops cost: it must not outlive changes of the program.
/// Blocks that hold a program: the region's, those of branches and of bodies of
/// loops; not those of fusions.
void collectProgramBlocks(mlir::Region &region, llvm::SmallVectorImpl<mlir::Block *> &blocks);

class FusionGrower {
public:
  /// Which ops may become members.
  using Allowed = llvm::function_ref<bool(mlir::Operation *)>;

  /// The table must outlive the grower.
  explicit FusionGrower(const KernelTable &table) : table(table) {}

  /// Views and constants are no work; ops without a kernel (bind, require) stay.
  bool needsKernel(mlir::Operation *op) const;
  /// The largest group around `root`, which needs a kernel, of ops that are
  /// allowed.
  FusionGroup grow(mlir::Operation *root, Allowed allowed) const;
  /// "loop", or the anchor's family.
  llvm::StringRef familyOf(const FusionGroup &group) const;

private:
  FusionGroup startAt(mlir::Operation *root, Allowed allowed) const;
  bool feedsEpilogue(mlir::Operation *op, const FusionGroup &group) const;
  bool followsAnchor(mlir::Operation *op, Allowed allowed) const;
  bool canTake(mlir::Operation *producer, const FusionGroup &group, Allowed allowed) const;
  void extend(FusionGroup &group, Allowed allowed, Allowed wanted) const;

  bool isPulledOften(mlir::Operation *op, const FusionGroup &group) const;
  unsigned costWith(mlir::Operation *producer, const FusionGroup &group) const;
  unsigned chainCost(mlir::Operation *op) const;
  unsigned costOf(mlir::Operation *op) const;
  bool isConstant(mlir::Operation *op) const;

  const KernelTable &table;
  mutable llvm::DenseMap<mlir::Operation *, unsigned> costs, chainCosts;
  mutable llvm::DenseMap<mlir::Operation *, bool> constants;
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
