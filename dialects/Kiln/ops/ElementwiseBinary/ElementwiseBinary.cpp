//===- ElementwiseBinary.cpp - Ops on two elements, broadcast -------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "dialects/Kiln/ops/Constant/Constant.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include <cmath>

using namespace mlir;
using namespace kiln;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Shapes broadcast; the element type is a's unless another is given.
static LogicalResult inferBroadcast(std::optional<Location> loc, Value a, Value b,
                                    Type resultElement, SmallVectorImpl<Type> &types) {
  auto shape = broadcastShapes(shapeOf(a), shapeOf(b));
  if (failed(shape))
    return emitOptionalError(loc, "shapes of ", a.getType(), " and ", b.getType(),
                             " do not broadcast");
  types.push_back(tensorType(*shape, resultElement ? resultElement : elementTypeOf(a)));
  return success();
}

static LogicalResult requireSameElements(std::optional<Location> loc, Value a, Value b) {
  if (elementTypeOf(a) == elementTypeOf(b))
    return success();
  return emitOptionalError(loc, "element types differ: ", elementTypeOf(a), " and ",
                           elementTypeOf(b));
}

static LogicalResult inferBinary(std::optional<Location> loc, Value a, Value b, Type resultElement,
                                 SmallVectorImpl<Type> &types) {
  if (failed(requireSameElements(loc, a, b)))
    return failure();
  return inferBroadcast(loc, a, b, resultElement, types);
}

#define KILN_INFER(OP, RESULT_ELEMENT)                                                             \
  LogicalResult OP::inferReturnTypes([[maybe_unused]] MLIRContext *context,                        \
                                     std::optional<Location> loc, Adaptor adaptor,                 \
                                     SmallVectorImpl<Type> &types) {                               \
    return inferBinary(loc, adaptor.getA(), adaptor.getB(), RESULT_ELEMENT, types);                \
  }

KILN_INFER(AddOp, nullptr)
KILN_INFER(SubOp, nullptr)
KILN_INFER(MulOp, nullptr)
KILN_INFER(DivOp, nullptr)
KILN_INFER(ModOp, nullptr)
KILN_INFER(MinOp, nullptr)
KILN_INFER(MaxOp, nullptr)
KILN_INFER(AndOp, nullptr)
KILN_INFER(OrOp, nullptr)
KILN_INFER(XorOp, nullptr)
KILN_INFER(ShiftOp, nullptr)
KILN_INFER(EqualOp, IntegerType::get(context, 1))
KILN_INFER(LessOp, IntegerType::get(context, 1))
KILN_INFER(LessEqualOp, IntegerType::get(context, 1))

LogicalResult PowOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  return inferBroadcast(loc, adaptor.getA(), adaptor.getB(), nullptr, types);
}

LogicalResult PreluOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  Value x = adaptor.getX(), slope = adaptor.getSlope();
  if (failed(requireSameElements(loc, x, slope)))
    return failure();
  Shape shape = shapeOf(x);
  auto both = broadcastShapes(shape, shapeOf(slope));
  bool grows = failed(both) || both->size() != shape.size();
  for (size_t i = 0; !grows && i < shape.size(); ++i) {
    auto now = shape[i].constant(), then = (*both)[i].constant();
    grows = now && then && *now != *then;
  }
  if (grows)
    return emitOptionalError(loc, "(C1) slope of ", slope.getType(), " does not broadcast to x of ",
                             x.getType());
  types.push_back(x.getType());
  return success();
}

//===----------------------------------------------------------------------===//
// Symbolic values
//===----------------------------------------------------------------------===//

using Combine = std::optional<Expr> (*)(const Expr &, const Expr &);

/// Symbolic elements of a binary op on small static operands.
static std::optional<SmallVector<Expr>>
combineElements(Operation *op, function_ref<std::optional<SmallVector<Expr>>(Value)> elements,
                Combine combine) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (!type.hasStaticShape() || !isa<IntegerType>(type.getElementType()))
    return std::nullopt;
  auto a = elements(op->getOperand(0)), b = elements(op->getOperand(1));
  if (!a || !b)
    return std::nullopt;
  auto shapeOfOperand = [&](unsigned i) {
    return cast<RankedTensorType>(op->getOperand(i).getType()).getShape();
  };
  SmallVector<Expr> result;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    auto value = combine((*a)[broadcastIndex(shapeOfOperand(0), type.getShape(), i)],
                         (*b)[broadcastIndex(shapeOfOperand(1), type.getShape(), i)]);
    if (!value)
      return std::nullopt;
    result.push_back(*value);
  }
  return result;
}

static std::optional<Expr> add(const Expr &a, const Expr &b) { return a + b; }
static std::optional<Expr> sub(const Expr &a, const Expr &b) { return a - b; }
static std::optional<Expr> mul(const Expr &a, const Expr &b) { return a * b; }
static std::optional<Expr> min(const Expr &a, const Expr &b) { return Expr::min(a, b); }
static std::optional<Expr> max(const Expr &a, const Expr &b) { return Expr::max(a, b); }

/// Truncation is flooring only for operands that are not negative.
static std::optional<Expr> div(const Expr &a, const Expr &b) {
  auto x = a.constant(), y = b.constant();
  if (x && y && *y != 0 && *y != -1)
    return Expr(*x / *y);
  if (auto exact = Expr::divideExactly(a, b))
    return exact;
  if (a.isNonNegative() && y && *y > 0)
    return Expr::floorDiv(a, b);
  return std::nullopt;
}

static std::optional<Expr> floorMod(const Expr &a, const Expr &b) {
  if (b.constant().value_or(0) > 0)
    return Expr::mod(a, b);
  return std::nullopt;
}

static std::optional<Expr> truncatingMod(const Expr &a, const Expr &b) {
  return a.isNonNegative() ? floorMod(a, b) : std::nullopt;
}

/// Comparisons are known where the difference is: 1 for true.
static std::optional<Expr> equal(const Expr &a, const Expr &b) {
  if (auto difference = (a - b).constant())
    return Expr(*difference == 0);
  return std::nullopt;
}

static std::optional<Expr> less(const Expr &a, const Expr &b) {
  if ((a - b).isNonNegative())
    return Expr(0);
  if ((b - a - Expr(1)).isNonNegative())
    return Expr(1);
  return std::nullopt;
}

static std::optional<Expr> lessEqual(const Expr &a, const Expr &b) {
  auto greater = less(b, a);
  return greater ? std::optional(Expr(1) - *greater) : std::nullopt;
}

#define KILN_SYMBOLIC(OP, COMBINE)                                                                 \
  std::optional<SmallVector<Expr>> OP::symbolicValue(                                              \
      function_ref<std::optional<SmallVector<Expr>>(Value)> elements) {                            \
    return combineElements(*this, elements, COMBINE);                                              \
  }

KILN_SYMBOLIC(AddOp, add)
KILN_SYMBOLIC(SubOp, sub)
KILN_SYMBOLIC(MulOp, mul)
KILN_SYMBOLIC(DivOp, div)
KILN_SYMBOLIC(MinOp, min)
KILN_SYMBOLIC(MaxOp, max)
KILN_SYMBOLIC(ModOp, getTruncate() ? truncatingMod : floorMod)
KILN_SYMBOLIC(EqualOp, equal)
KILN_SYMBOLIC(LessOp, less)
KILN_SYMBOLIC(LessEqualOp, lessEqual)

//===----------------------------------------------------------------------===//
// Folds
//===----------------------------------------------------------------------===//

/// Whether all elements of `value` are `number`, of which a float's sign of
/// zero counts: x + -0 is x, but x + 0 is not when x is -0.
static bool isSplatOf(Value value, double number) {
  auto splat = splatOf(value);
  return splat && *splat == number &&
         (!isa<FloatType>(elementTypeOf(value)) || std::signbit(*splat) == std::signbit(number));
}

/// `kept` where the other operand is neutral and does not change the shape.
/// NaN, infinities and signs of zeros are as they would be.
static OpFoldResult withoutNeutral(Operation *op, double onFloats, double onIntegers,
                                   bool commutes) {
  double neutral = isa<FloatType>(elementTypeOf(op->getResult(0))) ? onFloats : onIntegers;
  for (unsigned kept : {0, 1}) {
    if (kept == 1 && !commutes)
      break;
    if (op->getOperand(kept).getType() == op->getResult(0).getType() &&
        isSplatOf(op->getOperand(1 - kept), neutral))
      return op->getOperand(kept);
  }
  return {};
}

OpFoldResult AddOp::fold(FoldAdaptor) { return withoutNeutral(*this, -0.0, 0, true); }
OpFoldResult SubOp::fold(FoldAdaptor) { return withoutNeutral(*this, 0, 0, false); }
OpFoldResult MulOp::fold(FoldAdaptor) { return withoutNeutral(*this, 1, 1, true); }
OpFoldResult DivOp::fold(FoldAdaptor) { return withoutNeutral(*this, 1, 1, false); }
OpFoldResult PowOp::fold(FoldAdaptor) { return withoutNeutral(*this, 1, 1, false); }
OpFoldResult MinOp::fold(FoldAdaptor) { return getA() == getB() ? getA() : OpFoldResult(); }
OpFoldResult MaxOp::fold(FoldAdaptor) { return getA() == getB() ? getA() : OpFoldResult(); }

/// Division by a power of two is multiplication, exactly, when the inverse is
/// a normal number.
LogicalResult DivOp::canonicalize(DivOp op, PatternRewriter &rewriter) {
  DenseElementsAttr divisor;
  if (!isa<FloatType>(elementTypeOf(op.getB())) || !matchPattern(op.getB(), m_Constant(&divisor)) ||
      !divisor.isSplat())
    return failure();
  APFloat value = divisor.getSplatValue<APFloat>(), inverse(value.getSemantics());
  if (!value.getExactInverse(&inverse))
    return failure();
  Value factor =
      ConstantOp::create(rewriter, op.getLoc(), DenseElementsAttr::get(divisor.getType(), inverse));
  rewriter.replaceOpWithNewOp<MulOp>(op, op.getType(), op.getA(), factor);
  return success();
}

/// Squares and cubes are products. A square is rounded once either way; a
/// cube may differ in the last place.
LogicalResult PowOp::canonicalize(PowOp op, PatternRewriter &rewriter) {
  auto exponent = splatOf(op.getB());
  if (!exponent || (*exponent != 2 && *exponent != 3) || op.getA().getType() != op.getType())
    return failure();
  Value product = MulOp::create(rewriter, op.getLoc(), op.getType(), op.getA(), op.getA());
  if (*exponent == 3)
    product = MulOp::create(rewriter, op.getLoc(), op.getType(), product, op.getA());
  rewriter.replaceOp(op, product);
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.cpp.inc"

namespace kiln {
void registerElementwiseBinaryOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerElementwiseBinaryOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.cpp.inc"
      >();
}
