//===- BatchRules.cpp - How rows of a batch pass through ops --------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BatchRules.h"
#include "dialects/Kiln/ops/ArgReduce/ArgReduce.h"
#include "dialects/Kiln/ops/Col2Im/Col2Im.h"
#include "dialects/Kiln/ops/Concat/Concat.h"
#include "dialects/Kiln/ops/Conv/Conv.h"
#include "dialects/Kiln/ops/Cumulative/Cumulative.h"
#include "dialects/Kiln/ops/Expand/Expand.h"
#include "dialects/Kiln/ops/Gather/Gather.h"
#include "dialects/Kiln/ops/GridSample/GridSample.h"
#include "dialects/Kiln/ops/MatMul/MatMul.h"
#include "dialects/Kiln/ops/Normalization/Normalization.h"
#include "dialects/Kiln/ops/OneHot/OneHot.h"
#include "dialects/Kiln/ops/Pad/Pad.h"
#include "dialects/Kiln/ops/Pool/Pool.h"
#include "dialects/Kiln/ops/Quantize/Quantize.h"
#include "dialects/Kiln/ops/Recurrent/Recurrent.h"
#include "dialects/Kiln/ops/Reduce/Reduce.h"
#include "dialects/Kiln/ops/Resize/Resize.h"
#include "dialects/Kiln/ops/ReverseSequence/ReverseSequence.h"
#include "dialects/Kiln/ops/RoiAlign/RoiAlign.h"
#include "dialects/Kiln/ops/Scatter/Scatter.h"
#include "dialects/Kiln/ops/Slice/Slice.h"
#include "dialects/Kiln/ops/Softmax/Softmax.h"
#include "dialects/Kiln/ops/Symbol/Symbol.h"
#include "dialects/Kiln/ops/TopK/TopK.h"
#include "dialects/Kiln/ops/Transpose/Transpose.h"
#include "dialects/Kiln/ops/Trilu/Trilu.h"
#include "dialects/Kiln/ops/View/View.h"

using namespace mlir;
using namespace kiln;

static constexpr StringRef mixes = "mixes rows of the batch";
static constexpr StringRef disagree = "meets rows of the batch in different places";
static constexpr StringRef countsRows = "uses the size of the batch as a number";

/// The axis of the result where axis `axis` of operand `operand` goes, index by
/// index; nothing when elements of several indices meet.
using AxisMap = function_ref<std::optional<int64_t>(unsigned operand, int64_t axis)>;

/// Every operand with rows must bring them to one place of every result.
static StringRef keep(BatchStep &step, AxisMap map) {
  std::optional<Rows> result;
  for (auto [i, rows] : llvm::enumerate(step.operands)) {
    if (!rows.isKept())
      continue;
    auto axis = map(i, rows.axis);
    if (!axis)
      return mixes;
    Rows here = Rows::kept(*axis, rows.inner);
    if (result && (result->axis != here.axis || result->inner != here.inner))
      return disagree;
    result = here;
  }
  step.results.assign(step.op->getNumResults(), result.value_or(Rows()));
  return "";
}

/// Each of the operands [0, count) that is there has rows.
static bool allKept(const BatchStep &step, unsigned count) {
  return llvm::all_of(ArrayRef(step.operands).take_front(count),
                      [](const Rows &rows) { return rows.isKept(); });
}

//===----------------------------------------------------------------------===//
// Elements at their places
//===----------------------------------------------------------------------===//

StringRef BatchRuleTable::pointwise(BatchStep &step) {
  int64_t rank = rankOf(step.op->getResult(0));
  StringRef why = keep(step, [&](unsigned operand, int64_t axis) {
    return std::optional(axis + rank - rankOf(step.op->getOperand(operand)));
  });
  if (!why.empty() || !step.results[0].isKept())
    return why;
  // What all rows share must not have an element for each.
  for (auto [rows, operand] : llvm::zip(step.operands, step.op->getOperands())) {
    int64_t axis = step.results[0].axis - rank + rankOf(operand);
    if (rows.isShared() && axis >= 0 &&
        !step.shapeOf(operand)[static_cast<size_t>(axis)].isConstant(1))
      return disagree;
  }
  return "";
}

/// Blocks of `axis` share a scale, whatever rows they are of.
template <typename OpTy> static StringRef blocked(BatchStep &step) {
  auto op = cast<OpTy>(step.op);
  if (op.getBlockSize() != 0 && step.operands[0].isKept() &&
      step.operands[0].axis == static_cast<int64_t>(op.getAxis()))
    return mixes;
  return BatchRuleTable::pointwise(step);
}

/// One axis is worked along, the others are apart.
template <typename OpTy> static StringRef alongAxis(BatchStep &step) {
  int64_t along = static_cast<int64_t>(cast<OpTy>(step.op).getAxis());
  return keep(step, [&](unsigned, int64_t axis) {
    return axis == along ? std::nullopt : std::optional(axis);
  });
}

/// Axes below the op's are apart.
template <typename OpTy> static StringRef fromAxis(BatchStep &step) {
  int64_t from = static_cast<int64_t>(cast<OpTy>(step.op).getAxis());
  return keep(step, [&](unsigned, int64_t axis) {
    return axis < from ? std::optional(axis) : std::nullopt;
  });
}

static std::optional<int64_t> afterReduction(int64_t axis, ArrayRef<int64_t> axes, bool keepdims) {
  if (llvm::is_contained(axes, axis))
    return std::nullopt;
  return keepdims ? axis : axis - llvm::count_if(axes, [&](int64_t a) { return a < axis; });
}

template <typename OpTy> static StringRef reduction(BatchStep &step) {
  auto op = cast<OpTy>(step.op);
  return keep(step, [&](unsigned, int64_t axis) {
    return afterReduction(axis, op.getAxes(), op.getKeepdims());
  });
}

template <typename OpTy> static StringRef argReduction(BatchStep &step) {
  auto op = cast<OpTy>(step.op);
  return keep(step, [&](unsigned, int64_t axis) {
    return afterReduction(axis, static_cast<int64_t>(op.getAxis()), op.getKeepdims());
  });
}

static StringRef trilu(BatchStep &step) {
  int64_t rank = rankOf(step.op->getOperand(0));
  return keep(step, [&](unsigned, int64_t axis) {
    return axis < rank - 2 ? std::optional(axis) : std::nullopt;
  });
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// The axis of `shape` that holds the batch; the caller has others refused.
static std::optional<size_t> batchAxis(const BatchStep &step, ArrayRef<Expr> shape) {
  for (size_t axis = 0; axis != shape.size(); ++axis)
    if (step.mentionsBatch(shape[axis]))
      return axis;
  return std::nullopt;
}

/// A reshape leaves how many elements there are, how many of them lie before a
/// row's first one, and so what lies behind it. The numbers of elements are
/// equal in every run that goes on, though their expressions may not be: it is
/// enough that one side can be followed.
static StringRef reshape(BatchStep &step) {
  const Rows &x = step.operands[0];
  if (x.isShared())
    return countsRows;
  Shape from = step.shapeOf(step.op->getOperand(0)), to = step.shapeOf(step.op->getResult(0));
  auto toAxis = batchAxis(step, to);
  if (!toAxis)
    return mixes;
  size_t fromAxis = static_cast<size_t>(x.axis);
  auto outer = Expr::divideExactly(from[fromAxis], step.batch * x.inner);
  Expr before = *outer * elementCount(ArrayRef(from).take_front(fromAxis));
  Expr behind = x.inner * elementCount(ArrayRef(from).drop_front(fromAxis + 1));
  std::optional<Expr> inner;
  if (auto newOuter = Expr::divideExactly(before, elementCount(ArrayRef(to).take_front(*toAxis))))
    inner = Expr::divideExactly(to[*toAxis], step.batch * *newOuter);
  if (!inner)
    inner = Expr::divideExactly(behind, elementCount(ArrayRef(to).drop_front(*toAxis + 1)));
  if (!inner)
    return mixes;
  step.results = {Rows::kept(static_cast<int64_t>(*toAxis), *inner)};
  return "";
}

static StringRef broadcastTo(BatchStep &step) {
  Value x = step.op->getOperand(0);
  Shape from = step.shapeOf(x), to = step.shapeOf(step.op->getResult(0));
  size_t lead = to.size() - from.size();
  if (step.operands[0].isKept()) {
    size_t axis = static_cast<size_t>(step.operands[0].axis);
    if (to[lead + axis] != from[axis])
      return disagree;
    step.results = {Rows::kept(static_cast<int64_t>(lead + axis), step.operands[0].inner)};
    return "";
  }
  auto axis = batchAxis(step, to);
  if (!axis)
    return countsRows;
  if (*axis >= lead && !from[*axis - lead].isConstant(1))
    return disagree;
  // All elements along the axis are equal: any cut of it into rows will do.
  auto inner = Expr::divideExactly(to[*axis], step.batch);
  if (!inner)
    return countsRows;
  step.results = {Rows::kept(static_cast<int64_t>(*axis), *inner)};
  return "";
}

static StringRef tile(BatchStep &step) {
  Shape repeats = step.exprsOf(cast<TileOp>(step.op).getRepeats());
  auto axis = batchAxis(step, repeats);
  if (step.operands[0].isKept()) {
    // Copies of the whole axis keep the rows' order within each.
    if (axis)
      return countsRows;
    step.results = {step.operands[0]};
    return "";
  }
  auto copies = axis ? Expr::divideExactly(repeats[*axis], step.batch) : std::nullopt;
  if (!copies)
    return countsRows;
  step.results = {Rows::kept(static_cast<int64_t>(*axis),
                             *copies * step.shapeOf(step.op->getOperand(0))[*axis])};
  return "";
}

static StringRef transpose(BatchStep &step) {
  auto permutation = cast<TransposeOp>(step.op).getPermutation();
  return keep(step, [&](unsigned, int64_t axis) {
    return std::optional<int64_t>(llvm::find(permutation, axis) - permutation.begin());
  });
}

static StringRef concat(BatchStep &step) {
  if (!allKept(step, step.op->getNumOperands()))
    return disagree;
  return alongAxis<ConcatOp>(step);
}

static StringRef slice(BatchStep &step) {
  auto op = cast<SliceOp>(step.op);
  if (!step.operands[0].isKept())
    return countsRows;
  size_t axis = static_cast<size_t>(step.operands[0].axis);
  Shape starts = step.exprsOf(op.getStarts()), sizes = step.exprsOf(op.getSizes()),
        steps = step.exprsOf(op.getSteps());
  if (!starts[axis].isConstant(0) || !steps[axis].isConstant(1) ||
      sizes[axis] != step.shapeOf(op.getX())[axis])
    return "takes some rows of the batch";
  sizes[axis] = 0;
  if (step.mentionsBatch(starts) || step.mentionsBatch(sizes) || step.mentionsBatch(steps))
    return countsRows;
  step.results = {step.operands[0]};
  return "";
}

static StringRef pad(BatchStep &step) {
  auto op = cast<PadOp>(step.op);
  if (!step.operands[0].isKept() || (op.getValue() && !step.operands[1].isShared()))
    return mixes;
  size_t axis = static_cast<size_t>(step.operands[0].axis);
  if (!step.exprsOf(op.getBefore())[axis].isConstant(0) ||
      !step.exprsOf(op.getAfter())[axis].isConstant(0))
    return "adds rows to the batch";
  step.results = {step.operands[0]};
  return "";
}

/// What all rows must keep to: a row that does not fails the run, and then the
/// batcher runs each request alone.
static StringRef check(BatchStep &step) {
  step.results.assign(step.op->getNumResults(), Rows());
  return "";
}

/// The sizes of a tensor with rows are no rows.
static StringRef shape(BatchStep &step) {
  auto op = cast<ShapeOp>(step.op);
  Shape dims = step.shapeOf(op.getX());
  auto taken = ArrayRef(dims).slice(static_cast<size_t>(op.getStart()),
                                    static_cast<size_t>(op.getEnd() - op.getStart()));
  if (step.mentionsBatch(taken))
    return countsRows;
  step.results = {Rows()};
  return "";
}

//===----------------------------------------------------------------------===//
// Contractions and windows
//===----------------------------------------------------------------------===//

static StringRef matmul(BatchStep &step) {
  auto op = cast<MatMulOp>(step.op);
  int64_t rank = rankOf(op.getY());
  return keep(step, [&](unsigned operand, int64_t axis) -> std::optional<int64_t> {
    int64_t operandRank = rankOf(step.op->getOperand(operand));
    if (axis < operandRank - 2)
      return axis + rank - operandRank;
    bool isA = operand == 0;
    // The axis that is not summed over.
    bool isLast = isA ? op.getTransA() : !op.getTransB();
    if (axis != operandRank - (isLast ? 1 : 2))
      return std::nullopt;
    return rank - (isA ? 2 : 1);
  });
}

/// Operand 0 has images along axis 0; what else there is, all of them share.
static StringRef images(BatchStep &step) {
  return keep(step, [&](unsigned operand, int64_t axis) {
    return operand == 0 && axis == 0 ? std::optional<int64_t>(0) : std::nullopt;
  });
}

/// Of each of the operands, which must all have rows, axis 0 is a batch.
static StringRef allImages(BatchStep &step) {
  if (!allKept(step, step.op->getNumOperands()))
    return disagree;
  return keep(step, [&](unsigned, int64_t axis) {
    return axis == 0 ? std::optional<int64_t>(0) : std::nullopt;
  });
}

static StringRef roiAlign(BatchStep &step) {
  // Regions name their images by number, so images must be shared.
  if (!step.operands[0].isShared() || !step.operands[1].isKept() || !step.operands[2].isKept())
    return mixes;
  return keep(step, [&](unsigned, int64_t axis) {
    return axis == 0 ? std::optional<int64_t>(0) : std::nullopt;
  });
}

static StringRef resize(BatchStep &step) {
  auto op = cast<ResizeOp>(step.op);
  return keep(step, [&](unsigned operand, int64_t axis) {
    bool isApart = operand == 0 && !llvm::is_contained(op.getAxes(), axis);
    return isApart ? std::optional(axis) : std::nullopt;
  });
}

/// x is [time, batch, ...]; weights are shared.
template <typename OpTy> static StringRef recurrent(BatchStep &step) {
  auto op = cast<OpTy>(step.op);
  auto place = [&](Value value) -> std::optional<int64_t> {
    if (value == op.getLengths())
      return 0;
    bool isState = value == op.getInitialH();
    if constexpr (std::is_same_v<OpTy, LstmOp>)
      isState |= value == op.getInitialC();
    return value == op.getX() || isState ? std::optional<int64_t>(1) : std::nullopt;
  };
  for (auto [rows, value] : llvm::zip(step.operands, step.op->getOperands())) {
    auto axis = place(value);
    if (rows.isKept() != axis.has_value() || (axis && rows.axis != *axis))
      return mixes;
    if (axis && rows.inner != step.operands[0].inner)
      return disagree;
  }
  step.results.assign(step.op->getNumResults(), Rows::kept(1, step.operands[0].inner));
  step.results[0].axis = 2;
  return "";
}

//===----------------------------------------------------------------------===//
// Elements by index
//===----------------------------------------------------------------------===//

static StringRef gather(BatchStep &step) {
  auto op = cast<GatherOp>(step.op);
  int64_t along = static_cast<int64_t>(op.getAxis());
  if (step.operands[0].isKept() && step.operands[1].isKept())
    return mixes;
  return keep(step, [&](unsigned operand, int64_t axis) -> std::optional<int64_t> {
    if (operand == 1)
      return axis + along;
    if (axis == along)
      return std::nullopt;
    return axis < along ? axis : axis + rankOf(op.getIndices()) - 1;
  });
}

static StringRef gatherElements(BatchStep &step) {
  auto op = cast<GatherElementsOp>(step.op);
  int64_t along = static_cast<int64_t>(op.getAxis());
  // Each index of the axis looks at all of a shared x.
  bool sharedTable =
      step.operands[0].isShared() && step.operands[1].isKept() && step.operands[1].axis == along;
  if (!sharedTable && !allKept(step, 2))
    return mixes;
  return keep(step, [&](unsigned, int64_t axis) {
    return sharedTable || axis != along ? std::optional(axis) : std::nullopt;
  });
}

static StringRef gatherND(BatchStep &step) {
  auto op = cast<GatherNDOp>(step.op);
  int64_t shared = static_cast<int64_t>(op.getBatchDims());
  int64_t rank = rankOf(op.getIndices());
  int64_t depth = *step.shapeOf(op.getIndices()).back().constant();
  bool both = allKept(step, 2);
  return keep(step, [&](unsigned operand, int64_t axis) -> std::optional<int64_t> {
    if (axis < shared)
      return both ? std::optional(axis) : std::nullopt;
    if (both)
      return std::nullopt;
    if (operand == 1)
      return axis < rank - 1 ? std::optional(axis) : std::nullopt;
    return axis >= shared + depth ? std::optional(axis - depth + rank - 1 - shared) : std::nullopt;
  });
}

static StringRef scatterElements(BatchStep &step) {
  return allKept(step, 3) ? alongAxis<ScatterElementsOp>(step) : mixes;
}

static StringRef oneHot(BatchStep &step) {
  int64_t added = static_cast<int64_t>(cast<OneHotOp>(step.op).getAxis());
  return keep(step, [&](unsigned operand, int64_t axis) {
    return operand == 0 ? std::optional(axis < added ? axis : axis + 1) : std::nullopt;
  });
}

static StringRef reverseSequence(BatchStep &step) {
  auto op = cast<ReverseSequenceOp>(step.op);
  int64_t batch = static_cast<int64_t>(op.getBatchAxis()),
          time = static_cast<int64_t>(op.getTimeAxis());
  bool both = allKept(step, 2);
  return keep(step, [&](unsigned operand, int64_t axis) -> std::optional<int64_t> {
    if (operand == 1)
      return both ? std::optional(batch) : std::nullopt;
    return axis != time && both == (axis == batch) ? std::optional(axis) : std::nullopt;
  });
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

BatchRuleTable::BatchRuleTable() {
  add<QuantizeOp>(blocked<QuantizeOp>);
  add<DequantizeOp>(blocked<DequantizeOp>);
  add<SoftmaxOp>(alongAxis<SoftmaxOp>);
  add<LogSoftmaxOp>(alongAxis<LogSoftmaxOp>);
  add<HardmaxOp>(alongAxis<HardmaxOp>);
  add<CumSumOp>(alongAxis<CumSumOp>);
  add<CumProdOp>(alongAxis<CumProdOp>);
  add<TopKOp>(alongAxis<TopKOp>);
  add<StandardizeOp>(fromAxis<StandardizeOp>);
  add<RmsNormalizeOp>(fromAxis<RmsNormalizeOp>);
  add<ReduceSumOp>(reduction<ReduceSumOp>);
  add<ReduceProdOp>(reduction<ReduceProdOp>);
  add<ReduceMaxOp>(reduction<ReduceMaxOp>);
  add<ReduceMinOp>(reduction<ReduceMinOp>);
  add<ReduceMeanOp>(reduction<ReduceMeanOp>);
  add<ArgMaxOp>(argReduction<ArgMaxOp>);
  add<ArgMinOp>(argReduction<ArgMinOp>);
  add<TriluOp>(trilu);

  add<ReshapeOp>(reshape, /*readsSizes=*/true);
  add<BroadcastToOp>(broadcastTo, /*readsSizes=*/true);
  add<TileOp>(tile, /*readsSizes=*/true);
  add<SliceOp>(slice, /*readsSizes=*/true);
  add<TransposeOp>(transpose);
  add<ConcatOp>(concat);
  add<PadOp>(pad);
  add<ShapeOp>(shape);
  add<FarthestOp>(check);

  add<MatMulOp>(matmul);
  // Positions that max_pool_indices finds count the elements of all rows, so
  // neither it nor max_unpool is here.
  add<ConvOp, ConvTransposeOp, MaxPoolOp, AvgPoolOp, SumPoolOp, Col2ImOp>(images);
  add<GridSampleOp, TensorScatterOp>(allImages);
  add<RoiAlignOp>(roiAlign);
  add<ResizeOp>(resize);
  add<RnnOp>(recurrent<RnnOp>);
  add<GruOp>(recurrent<GruOp>);
  add<LstmOp>(recurrent<LstmOp>);

  add<GatherOp>(gather);
  add<GatherElementsOp>(gatherElements);
  add<GatherNDOp>(gatherND);
  add<ScatterElementsOp>(scatterElements);
  add<OneHotOp>(oneHot);
  add<ReverseSequenceOp>(reverseSequence);
}
