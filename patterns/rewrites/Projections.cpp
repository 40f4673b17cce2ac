//===- Projections.cpp - Products of one tensor, made at once -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/Attention/Attention.h"
#include "dialects/Kiln/ops/Concat/Concat.h"
#include "dialects/Kiln/ops/Constant/Constant.h"
#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "dialects/Kiln/ops/MatMul/MatMul.h"
#include "dialects/Kiln/ops/Slice/Slice.h"
#include "dialects/Kiln/ops/View/View.h"
#include "kiln/Patterns/Natives.h"
#include "kiln/Reference/TensorData.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace kiln;

namespace {
/// An operand of an attention: x * weight + bias, its columns split into heads.
struct Projection {
  unsigned operand;
  MatMulOp product;
  Value bias; // may be null
  Expr columns, heads;
};

class Merger {
public:
  Merger(PatternRewriter &rewriter, AttentionOp attention)
      : b(rewriter), attention(attention), loc(attention.getLoc()) {}

  Value merge();

private:
  std::optional<Projection> projectionOf(unsigned operand);
  Value biasOf(const Projection &projection);
  template <typename OpTy> Value build(ValueRange operands, ArrayRef<NamedAttribute> attributes) {
    auto op = tryBuild<OpTy>(b, loc, operands, attributes);
    return succeeded(op) ? Value((*op)->getResult(0)) : Value();
  }
  NamedAttribute exprs(StringRef name, const Shape &numbers) {
    return b.getNamedAttr(name, exprsAttr(b.getContext(), numbers));
  }

  PatternRewriter &b;
  AttentionOp attention;
  Location loc;
};
} // namespace

std::optional<Projection> Merger::projectionOf(unsigned operand) {
  auto split = attention->getOperand(operand).getDefiningOp<ReshapeOp>();
  if (!split || !split->hasOneUse() || !split.getX().hasOneUse())
    return std::nullopt;
  Projection projection{operand, nullptr, nullptr, 0, 0};
  Value sum = split.getX();
  if (auto add = sum.getDefiningOp<AddOp>()) {
    projection.bias = add.getB();
    if (!matchPattern(add.getB(), m_Constant()) || rankOf(add.getB()) != 1 ||
        !add.getA().hasOneUse())
      return std::nullopt;
    sum = add.getA();
  }
  projection.product = sum.getDefiningOp<MatMulOp>();
  Shape heads = shapeOf(split.getY()), rows = shapeOf(split.getX());
  if (!projection.product || projection.product.getTransA() || rows.size() != 3 ||
      rankOf(projection.product.getB()) != 2 ||
      !matchPattern(projection.product.getB(), m_Constant()))
    return std::nullopt;
  projection.columns = rows[2], projection.heads = heads[2];
  // Rows stay rows: only the columns are split.
  if (rows[0] != heads[0] || rows[1] != heads[1] || heads[2] * heads[3] != rows[2] ||
      !rows[2].constant() || !heads[2].constant() || *rows[2].constant() == 0 ||
      (projection.bias && shapeOf(projection.bias)[0] != rows[2]))
    return std::nullopt;
  return projection;
}

/// The bias, or zeros.
Value Merger::biasOf(const Projection &projection) {
  if (projection.bias)
    return projection.bias;
  auto type = tensorType({projection.columns}, elementTypeOf(attention.getQ()));
  return ConstantOp::create(b, loc, elementsAttr(TensorData(type)));
}

Value Merger::merge() {
  SmallVector<Projection, 3> parts;
  for (unsigned operand : {2, 1, 0}) {
    auto part = projectionOf(operand);
    if (!part)
      continue;
    MatMulOp product = part->product;
    bool fits = parts.empty() || (product.getA() == parts[0].product.getA() &&
                                  product.getTransB() == parts[0].product.getTransB() &&
                                  shapeOf(attention->getOperand(operand))[3] ==
                                      shapeOf(attention->getOperand(parts[0].operand))[3]);
    if (fits)
      parts.insert(parts.begin(), *part);
  }
  if (parts.size() < 2)
    return nullptr;
  MatMulOp first = parts[0].product;
  SmallVector<Value> weights, biases;
  bool anyBias = llvm::any_of(parts, [](const Projection &part) { return part.bias != nullptr; });
  Expr heads = 0;
  for (Projection &part : parts) {
    weights.push_back(part.product.getB());
    if (anyBias)
      biases.push_back(biasOf(part));
    heads = heads + part.heads;
  }
  auto axis = [&](int64_t value) { return b.getNamedAttr("axis", b.getI64IntegerAttr(value)); };
  Value weight = build<ConcatOp>(weights, axis(first.getTransB() ? 0 : 1));
  Value y = weight ? build<MatMulOp>({first.getA(), weight}, first->getAttrs()) : Value();
  if (y && anyBias) {
    Value bias = build<ConcatOp>(biases, axis(0));
    y = bias ? build<AddOp>({y, bias}, {}) : Value();
  }
  if (!y)
    return nullptr;
  Shape shape = shapeOf(attention->getOperand(parts[0].operand));
  shape[2] = heads;
  Value all = build<ReshapeOp>(y, exprs("shape", shape));
  SmallVector<Value> operands(attention->getOperands());
  Shape starts(4, Expr(0)), steps(4, Expr(1));
  for (const Projection &part : parts) {
    if (!all)
      return nullptr;
    shape[2] = part.heads;
    operands[part.operand] = build<SliceOp>(
        all, {exprs("starts", starts), exprs("sizes", shape), exprs("steps", steps)});
    if (!operands[part.operand])
      return nullptr;
    starts[2] = starts[2] + part.heads;
  }
  return build<AttentionOp>(operands, attention->getAttrs());
}

static Value mergeProjections(PatternRewriter &rewriter, Operation *op) {
  auto attention = dyn_cast<AttentionOp>(op);
  return attention ? Merger(rewriter, attention).merge() : Value();
}

namespace kiln {
void registerProjectionsNatives(NativeTable &table);
} // namespace kiln

void kiln::registerProjectionsNatives(NativeTable &table) {
  table.rewrite("MergeProjections", {"attention"},
                "The attention of one product that gives queries, keys and values, or two of them, "
                "where these were products of one tensor with constants.",
                mergeProjections);
}
