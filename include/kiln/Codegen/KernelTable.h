//===- KernelTable.h - How ops are computed ---------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_CODEGEN_KERNELTABLE_H
#define KILN_CODEGEN_KERNELTABLE_H

#include "kiln/Codegen/ElementBuilder.h"

namespace kiln {

class KernelBuilder;
struct VectorTarget;

/// The element of result `result` at `index`.
using ElementFn = mlir::Value (*)(ElementBuilder &b, mlir::Operation *op, unsigned result,
                                  llvm::ArrayRef<mlir::Value> index);
/// Writes a whole kernel around `anchor`, an op of the fusion's region.
using KernelFn = mlir::LogicalResult (*)(KernelBuilder &b, mlir::Operation *anchor);

/// How the kernel wants constant operand `operand` to lie in memory: a name of
/// the family's own, "" for row-major. The plan packs it so and tells the
/// kernel by `plan.kernel`'s `layouts`; a kernel must take row-major as well.
using LayoutFn = std::string (*)(mlir::Operation *anchor, unsigned operand,
                                 const VectorTarget &target);
/// The bytes of a constant in the layout of that name.
using PackFn = llvm::SmallVector<char, 0> (*)(llvm::StringRef layout, mlir::RankedTensorType type,
                                              const char *bytes);

/// Whether the anchor's kernel can make operand 0 block by block with the kernel
/// of `producer`, another anchor behind which only pointwise ops lie.
using JoinsFn = bool (*)(mlir::Operation *anchor, mlir::Operation *producer);

/// How often an element of an operand is read for the whole result. Decides
/// whether work may be fused in front.
enum class Reads { Once, Often };

struct OpKernels {
  /// The op's elements can be pulled.
  ElementFn element = nullptr;
  /// Element i needs only elements i of the operands (broadcast): the op can
  /// follow an anchor in its registers.
  bool pointwise = false;
  Reads reads = Reads::Once;
  /// The op is an anchor: it has a kernel of its own, named `family`.
  KernelFn kernel = nullptr;
  llvm::StringLiteral family = "";
  /// The anchor's kernel pulls operands (so pullable producers may be fused).
  bool pullsOperands = false;
  /// The anchor's kernel takes pointwise ops after it.
  bool takesEpilogue = false;
  /// The anchor's kernel stores each element of the result once, after all that
  /// it reads of the epilogue's operands there: they may share memory.
  bool storesOnce = false;
  /// The anchor's kernel can have whole rows of the result done at a time, so
  /// that an op of rows may follow or lead to it (completesRows); the op is one
  /// that may (finishesRows): its own kernel goes over the rows at hand, which lie
  /// in memory behind the anchor and are left in scratch memory before it.
  bool completesRows = false, finishesRows = false;
  JoinsFn joins = nullptr;
  /// Set by anchors that read packed constants; both or none.
  LayoutFn layoutOf = nullptr;
  PackFn pack = nullptr;
  /// An anchor's element, for when its kernel declines. Slow: never a reason to
  /// fuse.
  ElementFn fallback = nullptr;
};

class KernelTable {
public:
  /// An op whose element is computed from elements at the same index.
  template <typename OpTy> void addPointwise(ElementFn element) {
    OpKernels kernels;
    kernels.element = element;
    kernels.pointwise = true;
    entries[OpTy::getOperationName()] = kernels;
  }
  /// An op that moves elements: any index of any operand.
  template <typename OpTy> void addElement(ElementFn element, Reads reads = Reads::Once) {
    OpKernels kernels;
    kernels.element = element;
    kernels.reads = reads;
    entries[OpTy::getOperationName()] = kernels;
  }
  template <typename OpTy>
  void addAnchor(llvm::StringLiteral family, KernelFn kernel, bool pullsOperands,
                 bool takesEpilogue, Reads reads = Reads::Once) {
    OpKernels kernels;
    kernels.kernel = kernel;
    kernels.family = family;
    kernels.pullsOperands = pullsOperands;
    kernels.takesEpilogue = takesEpilogue;
    kernels.reads = reads;
    entries[OpTy::getOperationName()] = kernels;
  }
  /// After addAnchor: the anchor's constants are packed.
  template <typename OpTy> void setPacking(LayoutFn layoutOf, PackFn pack) {
    OpKernels &kernels = entries[OpTy::getOperationName()];
    kernels.layoutOf = layoutOf;
    kernels.pack = pack;
  }
  /// After addAnchor.
  template <typename OpTy> void setStoresOnce() {
    entries[OpTy::getOperationName()].storesOnce = true;
  }
  template <typename OpTy> void setCompletesRows() {
    entries[OpTy::getOperationName()].completesRows = true;
  }
  template <typename OpTy> void setFinishesRows() {
    entries[OpTy::getOperationName()].finishesRows = true;
  }
  template <typename OpTy> void setJoins(JoinsFn joins) {
    entries[OpTy::getOperationName()].joins = joins;
  }
  template <typename OpTy> void setFallback(ElementFn element) {
    entries[OpTy::getOperationName()].fallback = element;
  }
  const OpKernels *find(mlir::Operation *op) const { return find(op->getName().getStringRef()); }
  const OpKernels *find(llvm::StringRef opName) const {
    auto it = entries.find(opName);
    return it == entries.end() ? nullptr : &it->second;
  }

private:
  llvm::StringMap<OpKernels> entries;
};

/// Asks every op family; generated from the folders.
void registerKernels(KernelTable &table);

} // namespace kiln

#endif // KILN_CODEGEN_KERNELTABLE_H
