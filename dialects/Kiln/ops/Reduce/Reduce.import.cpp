//===- Reduce.import.cpp - Folding axes, import ---------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Reduce/Reduce.h"
#include "kiln/Import/Compose.h"

using namespace mlir;
using namespace kiln;

namespace {
/// What a Reduce node folds: known axes, or a flag for each axis that is 1 when
/// the run folds it.
struct Reduction {
  SmallVector<int64_t> axes;
  bool keepdims;
  Shape flags;
  size_t folded = 0; // flags that are 1

  template <typename OpTy> Formula fold(const Formula &x, bool keep) const {
    if (flags.empty())
      return x.fold<OpTy>(axes, keep);
    return foldFlagged<OpTy>(x, keep);
  }
  template <typename OpTy> Formula fold(const Formula &x) const { return fold<OpTy>(x, keepdims); }

private:
  template <typename OpTy> Formula foldFlagged(const Formula &x, bool keep) const;
  Shape keptSizes(ArrayRef<Expr> sizes) const;
};
} // namespace

/// 1 where a == b, else 0, for integers.
static Expr isEqual(const Expr &a, const Expr &b) {
  return Expr::max(Expr(1) - (a - b) * (a - b), 0);
}

/// The sizes whose flag is 0, in order.
Shape Reduction::keptSizes(ArrayRef<Expr> sizes) const {
  Shape kept;
  for (size_t j = 0; j + folded < sizes.size(); ++j) {
    Expr size, before;
    for (auto [i, flag] : llvm::enumerate(flags)) {
      Expr stays = Expr(1) - flag;
      size = size + sizes[i] * stays * isEqual(before, static_cast<int64_t>(j));
      before = before + stays;
    }
    kept.push_back(size);
  }
  return kept;
}

/// Every axis is split in two, of which one has its size and the other is 1;
/// of each pair the second one is folded.
template <typename OpTy> Formula Reduction::foldFlagged(const Formula &x, bool keep) const {
  if (!x.value)
    return x;
  Shape shape = shapeOf(x.value), pairs, sizes;
  SmallVector<int64_t> second;
  for (auto [i, flag] : llvm::enumerate(flags)) {
    Expr excess = flag * (shape[i] - Expr(1));
    sizes.push_back(shape[i] - excess);
    pairs.append({sizes.back(), excess + Expr(1)});
    second.push_back(static_cast<int64_t>(2 * i + 1));
  }
  Formula y = x.reshape(pairs).fold<OpTy>(second, /*keepdims=*/false);
  return keep ? y : y.reshape(keptSizes(sizes));
}

/// Axes that the run gives.
static FailureOr<Reduction> readRuntimeAxes(NodeImporter &n, Reduction r, ArrayRef<Expr> given) {
  int64_t rank = rankOf(n.input(0));
  Expr total;
  for (int64_t i = 0; i < rank; ++i) {
    Expr hits;
    for (const Expr &axis : given)
      hits = hits + isEqual(Expr::mod(axis, rank), i);
    r.flags.push_back(Expr::min(hits, 1));
    total = total + r.flags.back();
  }
  for (const Expr &axis : given) {
    n.requireAtMost(axis, rank - 1, "axes are below the rank");
    n.requireAtMost(-rank, axis, "axes are not below the negative rank");
  }
  r.folded = given.size();
  if (given.size() > static_cast<size_t>(rank))
    return n.invalid(Twine(given.size()) + " axes are given for rank " + Twine(rank));
  n.require(total, static_cast<int64_t>(given.size()), "no axis is given twice");
  return r;
}

/// Axes are an attribute at first and an input since opset 18 (13 for
/// ReduceSum). None, or an empty list, means all, or with
/// noop_with_empty_axes none.
static FailureOr<Reduction> readReduction(NodeImporter &n) {
  Reduction r{{}, n.intAttr("keepdims", 1) != 0, {}};
  int64_t rank = rankOf(n.input(0));
  bool fromInput = n.sinceVersion() >= (n.opType() == "ReduceSum" ? 13 : 18);
  SmallVector<int64_t> given;
  if (!fromInput) {
    given = n.intsAttr("axes").value_or(given);
  } else if (n.hasInput(1)) {
    auto axes = n.exprs(1);
    if (failed(axes))
      return failure();
    for (const Expr &axis : *axes) {
      if (!axis.constant())
        return readRuntimeAxes(n, r, *axes);
      given.push_back(*axis.constant());
    }
  }
  if (given.empty()) {
    if (n.intAttr("noop_with_empty_axes", 0) == 0)
      r.axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    return r;
  }
  for (int64_t axis : given) {
    auto at = normalizeAxis(axis, rank);
    if (!at)
      return n.invalid("axis " + Twine(axis) + " is out of range for rank " + Twine(rank));
    if (llvm::is_contained(r.axes, *at))
      return n.invalid("axis " + Twine(axis) + " is given twice");
    r.axes.push_back(*at);
  }
  llvm::sort(r.axes);
  return r;
}

template <typename OpTy> static FailureOr<SmallVector<Value>> importReduce(NodeImporter &n) {
  auto r = readReduction(n);
  if (failed(r))
    return failure();
  return SmallVector<Value>{r->fold<OpTy>(Formula(n, n.input(0))).value};
}

/// Reductions that are more than one op: `compose` gets the operand in a type
/// in which what lies between does not round or overflow.
template <Formula (*compose)(const Formula &, const Reduction &), bool needsFloat>
static FailureOr<SmallVector<Value>> importComposed(NodeImporter &n) {
  auto r = readReduction(n);
  if (failed(r))
    return failure();
  Type type = elementTypeOf(n.input(0));
  Formula x = Formula(n, n.input(0)).widen();
  if (needsFloat && !isa<FloatType>(type))
    x = x.cast(n.b.getF64Type());
  if (!x.value)
    return failure();
  return SmallVector<Value>{compose(x, *r).cast(type).value};
}

static Formula l1(const Formula &x, const Reduction &r) { return r.fold<ReduceSumOp>(x.abs()); }

static Formula sumSquare(const Formula &x, const Reduction &r) {
  return r.fold<ReduceSumOp>(x * x);
}

static Formula l2(const Formula &x, const Reduction &r) { return sumSquare(x, r).sqrt(); }

static Formula logSum(const Formula &x, const Reduction &r) { return r.fold<ReduceSumOp>(x).log(); }

/// Shifted by the largest element, which is kept finite: infinities then come
/// out right without any test.
static Formula logSumExp(const Formula &x, const Reduction &r) {
  auto type = cast<FloatType>(elementTypeOf(x.value));
  double largest = APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
  Formula shift = r.fold<ReduceMaxOp>(x, /*keep=*/true).atMost(largest).atLeast(-largest);
  Formula sum = r.fold<ReduceSumOp>((x - shift).exp());
  return sum.value ? sum.log() + shift.reshape(shapeOf(sum.value)) : sum;
}

/// The spatial axes, all that come after batch and channel.
static FailureOr<Reduction> globalReduction(NodeImporter &n) {
  int64_t rank = rankOf(n.input(0));
  if (rank < 3)
    return n.invalid("input has rank " + Twine(rank) + ", expected at least one spatial axis");
  return Reduction{llvm::to_vector(llvm::seq<int64_t>(2, rank)), true, {}};
}

template <typename OpTy> static FailureOr<SmallVector<Value>> importGlobal(NodeImporter &n) {
  auto r = globalReduction(n);
  if (failed(r))
    return failure();
  return SmallVector<Value>{r->fold<OpTy>(Formula(n, n.input(0))).value};
}

static FailureOr<SmallVector<Value>> importGlobalLpPool(NodeImporter &n) {
  auto r = globalReduction(n);
  if (failed(r))
    return failure();
  int64_t p = n.intAttr("p", 2);
  if (p < 1)
    return n.invalid("p is " + Twine(p) + ", expected at least 1");
  Formula x = Formula(n, n.input(0)).widen();
  auto power = static_cast<double>(p);
  Formula y = p == 1   ? l1(x, *r)
              : p == 2 ? l2(x, *r)
                       : r->fold<ReduceSumOp>(x.abs().pow(power)).pow(1 / power);
  return SmallVector<Value>{y.cast(elementTypeOf(n.input(0))).value};
}

namespace kiln {
void registerReduceImporters(ImportTable &table);
} // namespace kiln

void kiln::registerReduceImporters(ImportTable &table) {
  table.add("ReduceSum", 1, importReduce<ReduceSumOp>);
  table.add("ReduceProd", 1, importReduce<ReduceProdOp>);
  table.add("ReduceMax", 1, importReduce<ReduceMaxOp>);
  table.add("ReduceMin", 1, importReduce<ReduceMinOp>);
  table.add("ReduceMean", 1, importReduce<ReduceMeanOp>);
  table.add("ReduceL1", 1, importComposed<l1, false>);
  table.add("ReduceL2", 1, importComposed<l2, true>);
  table.add("ReduceSumSquare", 1, importComposed<sumSquare, false>);
  table.add("ReduceLogSum", 1, importComposed<logSum, true>);
  table.add("ReduceLogSumExp", 1, importComposed<logSumExp, true>);
  table.add("GlobalAveragePool", 1, importGlobal<ReduceMeanOp>);
  table.add("GlobalMaxPool", 1, importGlobal<ReduceMaxOp>);
  table.add("GlobalLpPool", 2, importGlobalLpPool);
}
