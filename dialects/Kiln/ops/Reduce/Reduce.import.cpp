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
/// What a Reduce node folds.
struct Reduction {
  SmallVector<int64_t> axes;
  bool keepdims;
};
} // namespace

/// Axes are an attribute at first and an input since opset 18 (13 for
/// ReduceSum). None, or an empty list, means all, or with
/// noop_with_empty_axes none.
static FailureOr<Reduction> readReduction(NodeImporter &n) {
  Reduction r{{}, n.intAttr("keepdims", 1) != 0};
  int64_t rank = rankOf(n.input(0));
  bool fromInput = n.sinceVersion() >= (n.opType() == "ReduceSum" ? 13 : 18);
  std::optional<SmallVector<int64_t>> given;
  if (!fromInput) {
    given = n.intsAttr("axes");
  } else if (n.hasInput(1)) {
    given = n.constantInts(n.input(1));
    if (!given)
      return n.refuse("axes are computed at run time", "constant axes");
  }
  if (!given || given->empty()) {
    if (n.intAttr("noop_with_empty_axes", 0) == 0)
      r.axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    return r;
  }
  for (int64_t axis : *given) {
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
  return SmallVector<Value>{Formula(n, n.input(0)).fold<OpTy>(r->axes, r->keepdims).value};
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

static Formula l1(const Formula &x, const Reduction &r) {
  return x.abs().fold<ReduceSumOp>(r.axes, r.keepdims);
}

static Formula sumSquare(const Formula &x, const Reduction &r) {
  return (x * x).fold<ReduceSumOp>(r.axes, r.keepdims);
}

static Formula l2(const Formula &x, const Reduction &r) { return sumSquare(x, r).sqrt(); }

static Formula logSum(const Formula &x, const Reduction &r) {
  return x.fold<ReduceSumOp>(r.axes, r.keepdims).log();
}

/// Shifted by the largest element, which is kept finite: infinities then come
/// out right without any test.
static Formula logSumExp(const Formula &x, const Reduction &r) {
  auto type = cast<FloatType>(elementTypeOf(x.value));
  double largest = APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
  Formula shift = x.fold<ReduceMaxOp>(r.axes, /*keepdims=*/true).atMost(largest).atLeast(-largest);
  Formula sum = (x - shift).exp().fold<ReduceSumOp>(r.axes, r.keepdims);
  return sum.value ? sum.log() + shift.reshape(shapeOf(sum.value)) : sum;
}

/// The spatial axes, all that come after batch and channel.
static FailureOr<Reduction> globalReduction(NodeImporter &n) {
  int64_t rank = rankOf(n.input(0));
  if (rank < 3)
    return n.invalid("input has rank " + Twine(rank) + ", expected at least one spatial axis");
  return Reduction{llvm::to_vector(llvm::seq<int64_t>(2, rank)), true};
}

template <typename OpTy> static FailureOr<SmallVector<Value>> importGlobal(NodeImporter &n) {
  auto r = globalReduction(n);
  if (failed(r))
    return failure();
  return SmallVector<Value>{Formula(n, n.input(0)).fold<OpTy>(r->axes, r->keepdims).value};
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
                       : x.abs().pow(power).fold<ReduceSumOp>(r->axes, true).pow(1 / power);
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
