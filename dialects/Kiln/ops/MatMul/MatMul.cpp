//===- MatMul.cpp - Matrix product ----------------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Kiln/ops/MatMul/MatMul.h"
#include "dialects/Kiln/ops/Transpose/Transpose.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace kiln;

LogicalResult MatMulOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  Value a = adaptor.getA(), b = adaptor.getB();
  if (rankOf(a) < 2 || rankOf(b) < 2)
    return emitOptionalError(loc, "(C1) a matrix product needs two dims or more, not ", a.getType(),
                             " and ", b.getType());
  if (elementTypeOf(a) != elementTypeOf(b))
    return emitOptionalError(loc, "(C1) element types differ: ", elementTypeOf(a), " and ",
                             elementTypeOf(b));
  Shape left = shapeOf(a), right = shapeOf(b);
  if (adaptor.getTransA())
    std::swap(left[left.size() - 2], left.back());
  if (adaptor.getTransB())
    std::swap(right[right.size() - 2], right.back());
  auto known = left.back().constant(), other = right[right.size() - 2].constant();
  if (known && other && *known != *other)
    return emitOptionalError(loc, "(C2) ", a.getType(), " and ", b.getType(),
                             " disagree about the summed dim: ", *known, " and ", *other);
  auto shape = broadcastShapes(ArrayRef(left).drop_back(2), ArrayRef(right).drop_back(2));
  if (failed(shape))
    return emitOptionalError(loc, "(C3) outer dims of ", a.getType(), " and ", b.getType(),
                             " do not broadcast");
  shape->push_back(left[left.size() - 2]);
  shape->push_back(right.back());
  types.push_back(tensorType(*shape, elementTypeOf(a)));
  return success();
}

namespace {
/// An operand that only swaps its last two dims becomes a flag.
struct AbsorbTranspose : OpRewritePattern<MatMulOp> {
  using OpRewritePattern::OpRewritePattern;

  static Value swapped(Value operand) {
    auto transpose = operand.getDefiningOp<TransposeOp>();
    if (!transpose)
      return nullptr;
    SmallVector<int64_t> permutation(transpose.getPermutation());
    if (permutation.size() < 2)
      return nullptr;
    std::swap(permutation[permutation.size() - 2], permutation.back());
    return llvm::is_sorted(permutation) ? transpose.getX() : nullptr;
  }

  LogicalResult matchAndRewrite(MatMulOp op, PatternRewriter &b) const override {
    Value left = swapped(op.getA()), right = swapped(op.getB());
    if (!left && !right)
      return failure();
    b.modifyOpInPlace(op, [&] {
      if (left) {
        op.getAMutable().assign(left);
        op.setTransA(!op.getTransA());
      }
      if (right) {
        op.getBMutable().assign(right);
        op.setTransB(!op.getTransB());
      }
    });
    return success();
  }
};
} // namespace

void MatMulOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<AbsorbTranspose>(context);
}

#define GET_OP_CLASSES
#include "dialects/Kiln/ops/MatMul/MatMul.cpp.inc"

namespace kiln {
void registerMatMulOps(KilnDialect &dialect);
} // namespace kiln

void kiln::registerMatMulOps(KilnDialect &dialect) {
  dialect.registerOps<
#define GET_OP_LIST
#include "dialects/Kiln/ops/MatMul/MatMul.cpp.inc"
      >();
}
