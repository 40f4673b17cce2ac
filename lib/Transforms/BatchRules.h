//===- BatchRules.h - How rows of a batch pass through ops ------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model is separable over its batch when row r of every result depends on
// row r of the inputs only, and in the same way whatever r and the size of the
// batch are: then requests may share a run. The proof walks the ops; each
// family's rule in BatchRules.cpp says where rows go. An op without a rule is
// taken to mix them.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_TRANSFORMS_BATCHRULES_H
#define KILN_LIB_TRANSFORMS_BATCHRULES_H

#include "dialects/Kiln/IR/TensorTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"

namespace kiln {

/// Where a tensor has the rows of the batch B.
struct Rows {
  enum class Kind {
    Shared, ///< neither elements nor sizes depend on the batch
    Kept,   ///< element i of `axis` belongs to row (i floordiv inner) mod B
    Lost,   ///< anything else
  };
  Kind kind = Kind::Shared;
  int64_t axis = 0;
  Expr inner = 1;

  static Rows kept(int64_t axis, Expr inner = 1) { return {Kind::Kept, axis, inner}; }
  bool isShared() const { return kind == Kind::Shared; }
  bool isKept() const { return kind == Kind::Kept; }
};

/// One op under a rule.
struct BatchStep {
  mlir::Operation *op;
  llvm::SmallVector<Rows> operands; ///< none is Lost
  Expr batch;
  llvm::SmallVector<Rows> results;

  /// Sizes as they are for a batch of at most 65536 rows, which is the most that
  /// the runtime makes: a clamp at more has no effect.
  Shape shapeOf(mlir::Value value) const { return bounded(kiln::shapeOf(value)); }
  Shape shapeOf(mlir::Type type) const { return bounded(kiln::shapeOf(type)); }
  Shape exprsOf(ExprsAttr attr) const { return bounded(kiln::exprsOf(attr)); }

  bool mentionsBatch(const Expr &expr) const;
  bool mentionsBatch(llvm::ArrayRef<Expr> exprs) const {
    return llvm::any_of(exprs, [&](const Expr &e) { return mentionsBatch(e); });
  }

private:
  Expr bounded(const Expr &expr) const;
  Shape bounded(Shape shape) const {
    for (Expr &expr : shape)
      if (mentionsBatch(expr))
        expr = bounded(expr);
    return shape;
  }
};

/// Fills step.results. Returns why the op mixes rows; empty: it does not.
using BatchRule = llvm::StringRef (*)(BatchStep &step);

class BatchRuleTable {
public:
  BatchRuleTable();

  struct Entry {
    BatchRule rule = nullptr;
    /// The rule looks at expressions among the attributes itself; else one
    /// that has the batch in it is refused.
    bool readsSizes = false;
  };
  const Entry *find(mlir::Operation *op) const {
    auto it = entries.find(op->getName().getStringRef());
    return it == entries.end() ? nullptr : &it->second;
  }
  /// For ops that compute element i from elements i, with broadcasting.
  static llvm::StringRef pointwise(BatchStep &step);

private:
  template <typename... Ops> void add(BatchRule rule, bool readsSizes = false) {
    ((entries[Ops::getOperationName()] = {rule, readsSizes}), ...);
  }
  llvm::StringMap<Entry> entries;
};

} // namespace kiln

#endif // KILN_LIB_TRANSFORMS_BATCHRULES_H
