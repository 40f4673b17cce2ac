//===- LowerPrecision.cpp - Products of fewer bits ------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Casts stand in front of each product and behind it. The fuser puts the former
// into the kernels that make the operands, which then are half as large in
// memory, and the latter into the product's own, where sums stay f32.
//
//===----------------------------------------------------------------------===//

#include "PassDetail.h"
#include "dialects/Kiln/ops/Attention/Attention.h"
#include "dialects/Kiln/ops/Cast/Cast.h"
#include "dialects/Kiln/ops/Constant/Constant.h"
#include "dialects/Kiln/ops/Conv/Conv.h"
#include "dialects/Kiln/ops/ElementwiseBinary/ElementwiseBinary.h"
#include "dialects/Kiln/ops/MatMul/MatMul.h"
#include "dialects/Kiln/ops/Select/Select.h"
#include "dialects/Kiln/ops/Slice/Slice.h"
#include "dialects/Kiln/ops/Transpose/Transpose.h"
#include "dialects/Kiln/ops/View/View.h"

using namespace mlir;
using namespace kiln;

namespace {
struct LowerPrecision final : kiln::impl::LowerPrecisionPassBase<LowerPrecision> {
  LowerPrecision() = default;
  explicit LowerPrecision(StringRef type) { this->type = type.str(); }

  LogicalResult initialize(MLIRContext *context) override {
    if (type == "f16")
      to = Float16Type::get(context);
    else if (type == "bf16")
      to = BFloat16Type::get(context);
    else
      return emitError(UnknownLoc::get(context), "kiln-lower-precision: type must be f16 or bf16");
    return success();
  }

  void runOnOperation() override {
    SmallVector<Operation *> products;
    getOperation().walk([&](Operation *op) {
      if (isProduct(op) && elementTypeOf(op->getResult(0)).isF32())
        products.push_back(op);
    });
    for (Operation *op : products)
      lower(op);
    numLowered += static_cast<unsigned>(products.size());
  }

private:
  /// What tensor cores multiply. A convolution of single channels has no sums to speak of.
  static bool isProduct(Operation *op) {
    if (auto conv = dyn_cast<ConvOp>(op))
      return !shapeOf(conv.getW())[1].isConstant(1);
    return isa<MatMulOp, AttentionOp>(op);
  }

  void lower(Operation *op) {
    OpBuilder b(op);
    Location loc = op->getLoc();
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      if (!elementTypeOf(value).isF32())
        continue;
      if (auto attention = dyn_cast<AttentionOp>(op); attention && attention.getMask() == value)
        value = bounded(value, b, loc);
      operand.set(rounded(value, b, loc));
    }
    Value result = op->getResult(0);
    result.setType(tensorType(shapeOf(result), to));
    b.setInsertionPointAfter(op);
    auto back = CastOp::create(b, loc, result, b.getF32Type());
    result.replaceAllUsesExcept(back, back);
  }

  /// The value in `to`. What only moves elements moves the rounded ones, so that they are rounded
  /// where they are made.
  Value rounded(Value value, OpBuilder b, Location loc) {
    SmallVector<Operation *> moves;
    while (Operation *op = value.getDefiningOp()) {
      if (!isa<ReshapeOp, TransposeOp, SliceOp>(op))
        break;
      moves.push_back(op);
      value = op->getOperand(0);
    }
    auto known = value.getDefiningOp<CastOp>();
    Value result = known && elementTypeOf(known.getX()) == to
                       ? known.getX()
                       : CastOp::create(b, loc, value, to).getResult();
    for (Operation *op : llvm::reverse(moves)) {
      Operation *moved = b.clone(*op);
      moved->setOperand(0, result);
      result = moved->getResult(0);
      result.setType(tensorType(shapeOf(result), to));
    }
    return result;
  }

  /// A mask whose finite numbers stay finite: a row that is all masked by the lowest of them is an
  /// average, one of minus infinity is not.
  Value bounded(Value mask, OpBuilder &b, Location loc) {
    auto number = [&](const APFloat &value) {
      auto f32 = RankedTensorType::get({}, b.getF32Type());
      return ConstantOp::create(b, loc, DenseElementsAttr::get(f32, value.convertToFloat()));
    };
    const llvm::fltSemantics &semantics = cast<FloatType>(to).getFloatSemantics();
    Value isInfinite =
        EqualOp::create(b, loc, mask, number(APFloat::getInf(semantics, /*Negative=*/true)));
    Value finite =
        MaxOp::create(b, loc, mask, number(APFloat::getLargest(semantics, /*Negative=*/true)));
    return SelectOp::create(b, loc, isInfinite, mask, finite);
  }

  Type to;
};
} // namespace

std::unique_ptr<Pass> kiln::createLowerPrecisionPass(StringRef type) {
  return std::make_unique<LowerPrecision>(type);
}
