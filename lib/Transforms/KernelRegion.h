//===- KernelRegion.h - A fusion's region in canonical form -----*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fusions that differ in names of sizes, or pointwise ones that differ in how
// their elements are cut into axes, are the same kernel.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_TRANSFORMS_KERNELREGION_H
#define KILN_LIB_TRANSFORMS_KERNELREGION_H

#include "dialects/Kiln/ops/Fusion/Fusion.h"
#include "kiln/Codegen/KernelTable.h"

namespace kiln {

/// A symbol of a region and what it stands for outside.
using NamedSize = std::pair<std::string, Expr>;

/// Merges neighbouring axes of a region of pointwise ops: operands and results
/// keep their elements, types change in place. What such ops compute does not
/// depend on how a size came about, so each one becomes a symbol, which is
/// returned. Nothing happens when it is not certain which axes are broadcast.
llvm::SmallVector<NamedSize> mergeAxes(mlir::Block &body, const KernelTable &table);

/// Renames the region's symbols to s0, s1 ... in order of appearance; returns
/// what they stand for outside.
llvm::SmallVector<NamedSize> renameSymbols(mlir::Operation *owner, mlir::Block &body);

} // namespace kiln

#endif // KILN_LIB_TRANSFORMS_KERNELREGION_H
