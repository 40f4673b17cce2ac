//===- Reduce.import.cpp - Folding axes, import ---------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Reduce/Reduce.h"
#include "kiln/Import/ImportTable.h"
#include "llvm/ADT/APFloat.h"

using namespace mlir;
using namespace kiln;

namespace {
/// A Reduce node: its operand, widened where the node computes more than a
/// plain reduction, and the axes to fold.
struct Reduction {
  NodeImporter &n;
  Value x;
  SmallVector<int64_t> axes;
  bool keepdims;

  template <typename OpTy> Value fold(Value value, bool keep) {
    return n.create<OpTy>({value},
                          {n.attr("axes", ArrayRef<int64_t>(axes)), n.boolNamed("keepdims", keep)});
  }
  template <typename OpTy> Value fold(Value value) { return fold<OpTy>(value, keepdims); }
};
} // namespace

/// Axes are an attribute at first and an input since opset 18 (13 for
/// ReduceSum). None, or an empty list, means all, or with
/// noop_with_empty_axes none.
static FailureOr<Reduction> readReduction(NodeImporter &n) {
  Reduction r{n, n.input(0), {}, n.intAttr("keepdims", 1) != 0};
  int64_t rank = rankOf(r.x);
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
  return SmallVector<Value>{r->fold<OpTy>(r->x)};
}

/// The type in which a reduction that is made of several ops computes, so that
/// what lies between does not round or overflow.
static Type wideType(NodeImporter &n, Type type, bool needsFloat) {
  if (isa<FloatType>(type))
    return type.getIntOrFloatBitWidth() < 32 ? n.b.getF32Type() : type;
  return needsFloat ? n.b.getF64Type() : type;
}

/// Reductions that are more than one op: `compose` gets the widened operand.
template <Value (*compose)(Reduction &), bool needsFloat>
static FailureOr<SmallVector<Value>> importComposed(NodeImporter &n) {
  auto r = readReduction(n);
  if (failed(r))
    return failure();
  Type type = elementTypeOf(r->x);
  r->x = n.cast(r->x, wideType(n, type, needsFloat));
  if (!r->x)
    return failure();
  return SmallVector<Value>{n.cast(compose(*r), type)};
}

static Value l1(Reduction &r) { return r.fold<ReduceSumOp>(r.n.create("kiln.abs", {r.x})); }

static Value sumSquare(Reduction &r) {
  return r.fold<ReduceSumOp>(r.n.create("kiln.mul", {r.x, r.x}));
}

static Value l2(Reduction &r) { return r.n.create("kiln.sqrt", {sumSquare(r)}); }

static Value logSum(Reduction &r) { return r.n.create("kiln.log", {r.fold<ReduceSumOp>(r.x)}); }

/// Shifted by the largest element, which is kept finite: infinities then come
/// out right without any test.
static Value logSumExp(Reduction &r) {
  NodeImporter &n = r.n;
  Type type = elementTypeOf(r.x);
  double largest = APFloat::getLargest(cast<FloatType>(type).getFloatSemantics()).convertToDouble();
  Value most =
      n.create("kiln.min", {r.fold<ReduceMaxOp>(r.x, /*keep=*/true), n.scalar(type, largest)});
  Value shift = n.create("kiln.max", {most, n.scalar(type, -largest)});
  Value sum = r.fold<ReduceSumOp>(n.create("kiln.exp", {n.create("kiln.sub", {r.x, shift})}));
  if (!sum)
    return nullptr;
  return n.create("kiln.add", {n.create("kiln.log", {sum}), n.reshape(shift, shapeOf(sum))});
}

template <typename OpTy> static FailureOr<SmallVector<Value>> importGlobal(NodeImporter &n) {
  int64_t rank = rankOf(n.input(0));
  if (rank < 3)
    return n.invalid("input has rank " + Twine(rank) + ", expected at least one spatial axis");
  Reduction r{n, n.input(0), llvm::to_vector(llvm::seq<int64_t>(2, rank)), true};
  return SmallVector<Value>{r.fold<OpTy>(r.x)};
}

static FailureOr<SmallVector<Value>> importGlobalLpPool(NodeImporter &n) {
  int64_t rank = rankOf(n.input(0)), p = n.intAttr("p", 2);
  if (rank < 3 || p < 1)
    return n.invalid("input of rank " + Twine(rank) + " and p " + Twine(p) +
                     ", expected a spatial axis and a positive p");
  Type type = elementTypeOf(n.input(0)), wide = wideType(n, type, true);
  Reduction r{n, n.cast(n.input(0), wide), llvm::to_vector(llvm::seq<int64_t>(2, rank)), true};
  if (p <= 2)
    return SmallVector<Value>{n.cast(p == 1 ? l1(r) : l2(r), type)};
  Value powers =
      n.create("kiln.pow", {n.create("kiln.abs", {r.x}), n.scalar(wide, static_cast<double>(p))});
  Value root = n.create("kiln.pow",
                        {r.fold<ReduceSumOp>(powers), n.scalar(wide, 1 / static_cast<double>(p))});
  return SmallVector<Value>{n.cast(root, type)};
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
