//===- Attention.cpp - Attention from its parts ---------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Attention/Attention.h"
#include "dialects/Kiln/IR/StridedView.h"
#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "dialects/Kiln/ops/ElementwiseUnary/ElementwiseUnary.h"
#include "dialects/Kiln/ops/Expand/Expand.h"
#include "dialects/Kiln/ops/MatMul/MatMul.h"
#include "dialects/Kiln/ops/Reduce/Reduce.h"
#include "dialects/Kiln/ops/Select/Select.h"
#include "dialects/Kiln/ops/Slice/Slice.h"
#include "dialects/Kiln/ops/Softmax/Softmax.h"
#include "dialects/Kiln/ops/Transpose/Transpose.h"
#include "dialects/Kiln/ops/View/View.h"
#include "kiln/Patterns/Natives.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
/// What a product of weights and values is made of. A rule says which ops there
/// are; here it is read what they are about.
class AttentionParts {
public:
  /// False when it is no attention, or a part is read by somebody else.
  bool read(Operation *root);

  MatMulOp product, root;
  double scale = 1;
  SmallVector<Value, 2> masks; // to be added, or one of bool
  std::optional<double> fill;  // with a mask of bool
  bool masksOut = false;       // true in the mask of bool is what is filled
  StringRef undefined = "nan";

private:
  bool readWeights(Value weights);
  bool readScores(Value scores);
  bool readChoice(SelectOp choice);
};
} // namespace

/// `value` is op(x, number) or, where that is the same, op(number, x).
template <typename OpTy> static std::optional<double> numberOf(Value value, Value &x) {
  auto op = value.getDefiningOp<OpTy>();
  if (!op)
    return std::nullopt;
  x = op->getOperand(0);
  if (auto number = splatOf(op->getOperand(1)))
    return number;
  if (!op->template hasTrait<OpTrait::IsCommutative>())
    return std::nullopt;
  x = op->getOperand(1);
  return splatOf(op->getOperand(0));
}

/// Takes a factor off `value`.
static bool peelFactor(Value &value, double &scale) {
  Value x;
  if (auto factor = numberOf<MulOp>(value, x); factor && x.getType() == value.getType()) {
    value = x, scale *= *factor;
    return true;
  }
  if (auto divisor = numberOf<DivOp>(value, x); divisor && x.getType() == value.getType()) {
    value = x, scale /= *divisor;
    return true;
  }
  return false;
}

/// The last axis of a tensor of this rank.
static bool isLast(Operation *reduction, int64_t rank) {
  auto axes = reduction->getAttrOfType<DenseI64ArrayAttr>("axes");
  auto kept = reduction->getAttrOfType<BoolAttr>("keepdims");
  return axes && kept && kept.getValue() && axes.size() == 1 && axes[0] == rank - 1;
}

bool AttentionParts::read(Operation *op) {
  root = dyn_cast<MatMulOp>(op);
  return root && !root.getTransA() && isa<FloatType>(elementTypeOf(root.getY())) &&
         root.getA().hasOneUse() && readWeights(root.getA());
}

/// Exporters guard weights against rows of which all is masked.
bool AttentionParts::readWeights(Value weights) {
  if (auto guard = weights.getDefiningOp<SelectOp>()) {
    if (splatOf(guard.getA()) != 0.0)
      return false;
    weights = guard.getB();
    Operation *condition = guard.getCondition().getDefiningOp();
    if (!condition || !weights.getDefiningOp<SoftmaxOp>())
      return false;
    if (isa<IsNanOp>(condition) && condition->getOperand(0) == weights && condition->hasOneUse()) {
      undefined = "zero";
      if (!llvm::all_of(weights.getUsers(),
                        [&](Operation *user) { return user == condition || user == guard; }))
        return false;
    } else if (isa<EqualOp>(condition) && weights.hasOneUse()) {
      Value mask;
      auto lowest = numberOf<EqualOp>(guard.getCondition(), mask);
      auto most = mask ? mask.getDefiningOp<ReduceMaxOp>() : nullptr;
      if (!most || lowest != -HUGE_VAL || !isLast(most, rankOf(most->getOperand(0))))
        return false;
      undefined = "masked-zero";
      masks.push_back(most->getOperand(0));
    } else {
      return false;
    }
  } else if (!weights.hasOneUse()) {
    return false;
  }
  auto softmax = weights.getDefiningOp<SoftmaxOp>();
  SmallVector<Value, 2> guarded = std::exchange(masks, {});
  if (!softmax || static_cast<int64_t>(softmax.getAxis()) != rankOf(weights) - 1 ||
      !readScores(softmax.getX()))
    return false;
  // The guard is about this mask, or it may be about anything.
  return guarded.empty() || (masks.size() == 1 && masks == guarded);
}

bool AttentionParts::readScores(Value scores) {
  if (!scores.hasOneUse())
    return false;
  if (auto add = scores.getDefiningOp<AddOp>()) {
    for (bool first : {true, false}) {
      AttentionParts before = *this;
      Value inner = first ? add.getA() : add.getB(), mask = first ? add.getB() : add.getA();
      masks.push_back(mask);
      // Scores are what leads to the product.
      if (scale == 1 && !fill && inner.getType() == scores.getType() && readScores(inner))
        return true;
      *this = before;
    }
    return false;
  }
  if (auto choice = scores.getDefiningOp<SelectOp>())
    return readChoice(choice);
  while (peelFactor(scores, scale))
    if (!scores.hasOneUse())
      return false;
  product = scores.getDefiningOp<MatMulOp>();
  return product && !product.getTransA();
}

/// select(condition, scores, fill), or the reverse.
bool AttentionParts::readChoice(SelectOp choice) {
  if (!masks.empty() || scale != 1)
    return false;
  Value scores = choice.getA();
  fill = splatOf(choice.getB());
  if (!fill) {
    scores = choice.getB();
    fill = splatOf(choice.getA());
    masksOut = true;
  }
  if (!fill || scores.getType() != choice.getType())
    return false;
  masks.push_back(choice.getCondition());
  // What is added or chosen further in would need a second mask.
  return !scores.getDefiningOp<AddOp>() && !scores.getDefiningOp<SelectOp>() && readScores(scores);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

namespace {
/// Dims of a matrix operand in the order [batch, sequence, heads, depth].
class AttentionWriter {
public:
  AttentionWriter(PatternRewriter &rewriter, AttentionParts &parts)
      : b(rewriter), parts(parts), loc(parts.root.getLoc()) {}

  Value write();

private:
  Value heads(Value matrices);
  Value sequence(Value x, bool transposed);
  Value ungroup(Value x);
  Value reshape(Value x, const Shape &shape);
  Value transpose(Value x, ArrayRef<int64_t> permutation);
  Value mask();

  PatternRewriter &b;
  AttentionParts &parts;
  Location loc;
};
} // namespace

Value AttentionWriter::reshape(Value x, const Shape &shape) {
  auto op =
      tryBuild<ReshapeOp>(b, loc, x, {b.getNamedAttr("shape", exprsAttr(b.getContext(), shape))});
  return succeeded(op) ? op->getY() : Value();
}

Value AttentionWriter::transpose(Value x, ArrayRef<int64_t> permutation) {
  auto op = tryBuild<TransposeOp>(
      b, loc, x, {b.getNamedAttr("permutation", b.getDenseI64ArrayAttr(permutation))});
  return succeeded(op) ? op->getY() : Value();
}

/// Matrices as [batch, heads, ...]: of three dims, the first is the batch.
Value AttentionWriter::heads(Value matrices) {
  Shape shape = shapeOf(matrices);
  if (shape.size() == 4)
    return matrices;
  Shape four(4, Expr(1));
  std::copy(shape.end() - 2, shape.end(), four.begin() + 2);
  if (shape.size() == 3)
    four[0] = shape[0];
  return reshape(matrices, four);
}

/// Keys that were repeated for neighbouring heads, [batch, heads, ...], before
/// that: [batch, groups, ...].
Value AttentionWriter::ungroup(Value x) {
  auto transpose = x.getDefiningOp<TransposeOp>();
  if (transpose && (transpose.getPermutation()[0] != 0 || transpose.getPermutation()[1] != 1))
    return x;
  auto merge = (transpose ? transpose.getX() : x).getDefiningOp<ReshapeOp>();
  auto repeat = merge ? merge.getX().getDefiningOp<BroadcastToOp>() : nullptr;
  if (!repeat)
    return x;
  // [batch, groups, 1, ...] to [batch, groups, repeats, ...] to [batch, heads, ...].
  Shape from = shapeOf(repeat.getX()), to = shapeOf(repeat.getY()), merged = shapeOf(merge.getY());
  if (from.size() != 5 || to.size() != 5 || merged.size() != 4 || !from[2].isConstant(1) ||
      merged[1] != to[1] * to[2] || !to[1].constant() || !to[2].constant())
    return x;
  for (size_t d : {0, 1, 3, 4})
    if (from[d] != to[d] || (d != 1 && merged[d ? d - 1 : 0] != to[d]))
      return x;
  Value groups = reshape(repeat.getX(), {from[0], from[1], from[3], from[4]});
  return groups && transpose ? this->transpose(groups, transpose.getPermutation()) : groups;
}

/// [batch, heads, rows, depth] (the last two exchanged when `transposed`) with
/// heads inside. Heads that were cut from rows of a product are cut from them
/// once more, in place, whatever was done to move them.
Value AttentionWriter::sequence(Value x, bool transposed) {
  SmallVector<int64_t, 4> order =
      transposed ? SmallVector<int64_t, 4>{0, 3, 1, 2} : SmallVector<int64_t, 4>{0, 2, 1, 3};
  Shape given = shapeOf(x), shape;
  for (int64_t axis : order)
    shape.push_back(given[axis]);
  StridedView view = stridedView(x);
  auto stride = [&](size_t d) { return view.strides[order[d]]; };
  auto row = stride(1).constant(), depth = shape[3].constant(), heads = shape[2].constant(),
       offset = view.offset.constant();
  if (view.base != x && row && depth && heads && offset && *depth > 0 && *row % *depth == 0 &&
      *offset % *depth == 0 && *offset >= 0 && *offset / *depth + *heads <= *row / *depth &&
      stride(3).isConstant(1) && (*heads == 1 || stride(2) == shape[3]) &&
      (shape[0].isConstant(1) || stride(0) == shape[1] * stride(1)) &&
      elementCount(shapeOf(view.base)) == shape[0] * shape[1] * stride(1)) {
    Shape cut = shape;
    cut[2] = *row / *depth;
    Value all = reshape(view.base, cut);
    if (!all || cut == shape)
      return all;
    Shape starts(4, Expr(0)), steps(4, Expr(1));
    starts[2] = *offset / *depth;
    auto attr = [&](StringRef name, const Shape &numbers) {
      return b.getNamedAttr(name, exprsAttr(b.getContext(), numbers));
    };
    auto part = tryBuild<SliceOp>(
        b, loc, all, {attr("starts", starts), attr("sizes", shape), attr("steps", steps)});
    return succeeded(part) ? part->getY() : Value();
  }
  return transpose(x, order);
}

/// The masks' sum, of the rank that scores have.
Value AttentionWriter::mask() {
  Value sum = parts.masks[0];
  if (parts.masks.size() == 2) {
    auto add = tryBuild<AddOp>(b, loc, {sum, parts.masks[1]});
    if (failed(add))
      return nullptr;
    sum = add->getY();
  }
  if (parts.masksOut) {
    auto kept = tryBuild<NotOp>(b, loc, sum);
    if (failed(kept))
      return nullptr;
    sum = kept->getY();
  }
  Shape shape = shapeOf(sum);
  if (shape.size() == 3 && rankOf(parts.product.getY()) == 3)
    return reshape(sum, {shape[0], Expr(1), shape[1], shape[2]});
  return sum;
}

Value AttentionWriter::write() {
  MatMulOp product = parts.product, root = parts.root;
  Shape result = shapeOf(root.getY());
  size_t rank = result.size();
  if (rank > 4 || parts.masks.size() > 2)
    return nullptr;
  // No operand is repeated for the outer dims of another, but keys and values of
  // one head for all.
  Value matrices[] = {product.getA(), product.getB(), root.getB()};
  auto outer = [](Value matrix) { return Shape(ArrayRef(shapeOf(matrix)).drop_back(2)); };
  Shape wanted = outer(root.getY()), keys = outer(matrices[1]);
  if (outer(matrices[0]) != wanted)
    return nullptr;
  if (rank == 4 && keys.size() == 2 && keys[1].isConstant(1) && wanted[1].constant())
    wanted[1] = 1;
  if (keys != wanted || outer(matrices[2]) != wanted)
    return nullptr;
  double scale = parts.scale;
  Value q = matrices[0], k = matrices[1];
  while (peelFactor(q, scale) || peelFactor(k, scale))
    ;
  bool keysTransposed = !product.getTransB(), valuesTransposed = root.getTransB();
  q = heads(q);
  k = q ? heads(k) : Value();
  Value v = k ? heads(matrices[2]) : Value();
  if (!v)
    return nullptr;
  Value groupsOfKeys = ungroup(k), groupsOfValues = ungroup(v);
  if (shapeOf(groupsOfKeys)[1] == shapeOf(groupsOfValues)[1])
    k = groupsOfKeys, v = groupsOfValues;
  SmallVector<Value, 4> operands{sequence(q, false), sequence(k, keysTransposed),
                                 sequence(v, valuesTransposed)};
  if (!parts.masks.empty())
    operands.push_back(mask());
  if (llvm::is_contained(operands, Value()))
    return nullptr;
  SmallVector<NamedAttribute> attributes{
      b.getNamedAttr("scale", b.getF64FloatAttr(scale)),
      b.getNamedAttr("undefined", b.getStringAttr(parts.undefined))};
  if (parts.fill)
    attributes.push_back(b.getNamedAttr("fill", b.getF64FloatAttr(*parts.fill)));
  auto attention = tryBuild<AttentionOp>(b, loc, operands, attributes);
  if (failed(attention))
    return nullptr;
  Value y = transpose(attention->getY(), {0, 2, 1, 3});
  return y && rank < 4 ? reshape(y, result) : y;
}

static Value attentionOf(PatternRewriter &rewriter, Operation *root) {
  AttentionParts parts;
  return parts.read(root) ? AttentionWriter(rewriter, parts).write() : Value();
}

namespace kiln {
void registerAttentionNatives(NativeTable &table);
} // namespace kiln

void kiln::registerAttentionNatives(NativeTable &table) {
  table.rewrite("AttentionOf", {"root"},
                "The attention that `root`, a product of weights and values, is; weights, scores "
                "and their factors must be read by nobody else.",
                attentionOf);
}
