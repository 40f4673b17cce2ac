//===- MathLowering.cpp - Functions as arithmetic -------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Codegen/MathLowering.h"
#include "MathFormulas.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;
using namespace kiln;

/// Whether a value is a scalar or fixed vector of f32.
static bool isF32(Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  return getElementTypeOrSelf(value.getType()).isF32() && (!vector || !vector.isScalable());
}

//===----------------------------------------------------------------------===//
// Library calls
//===----------------------------------------------------------------------===//

/// Declares a function of the C library in the module around `op`.
static func::FuncOp declare(Operation *op, StringRef name, FunctionType type) {
  Operation *module = SymbolTable::getNearestSymbolTable(op);
  if (auto known = SymbolTable::lookupSymbolIn(module, name))
    return cast<func::FuncOp>(known);
  OpBuilder b = OpBuilder::atBlockBegin(&module->getRegion(0).front());
  auto function = func::FuncOp::create(b, op->getLoc(), name, type);
  function.setPrivate();
  return function;
}

/// The function for each lane of vectors, or once for scalars. `name` is the
/// one for f64; f32's has an f behind it.
static Value callLibrary(OpBuilder &b, Operation *op, StringRef name, ValueRange operands) {
  Location loc = op->getLoc();
  Type type = operands[0].getType(), scalar = getElementTypeOrSelf(type);
  SmallVector<Type> parameters(operands.size(), scalar);
  func::FuncOp function = declare(op, scalar.isF32() ? (name + "f").str() : name.str(),
                                  b.getFunctionType(parameters, scalar));
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return func::CallOp::create(b, loc, function, operands).getResult(0);
  auto flat = VectorType::get({vector.getNumElements()}, scalar);
  SmallVector<Value> flatOperands, lanes;
  for (Value operand : operands)
    flatOperands.push_back(b.createOrFold<vector::ShapeCastOp>(loc, flat, operand));
  for (int64_t lane = 0; lane < flat.getNumElements(); ++lane) {
    SmallVector<Value> arguments;
    for (Value operand : flatOperands)
      arguments.push_back(vector::ExtractOp::create(b, loc, operand, lane));
    lanes.push_back(func::CallOp::create(b, loc, function, arguments).getResult(0));
  }
  Value result = vector::FromElementsOp::create(b, loc, flat, lanes);
  return b.createOrFold<vector::ShapeCastOp>(loc, vector, result);
}

namespace {
template <typename OpTy> struct CallLibrary : OpRewritePattern<OpTy> {
  CallLibrary(MLIRContext *context, StringRef name)
      : OpRewritePattern<OpTy>(context, /*benefit=*/1), name(name) {}

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &b) const override {
    Type scalar = getElementTypeOrSelf(op.getType());
    auto vector = dyn_cast<VectorType>(op.getType());
    if ((!scalar.isF32() && !scalar.isF64()) || (vector && vector.isScalable()))
      return failure();
    b.replaceOp(op, callLibrary(b, op, name, op->getOperands()));
    return success();
  }

  StringRef name;
};

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

template <typename OpTy> struct ApplyFormula : OpRewritePattern<OpTy> {
  ApplyFormula(MLIRContext *context, MathTarget target, MathFormula formula)
      : OpRewritePattern<OpTy>(context, /*benefit=*/2), target(target), formula(formula) {}

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &b) const override {
    if (!isF32(op.getOperand()))
      return failure();
    b.replaceOp(op, formula(target, Num(b, op.getLoc(), op.getOperand())).value);
    return success();
  }

  MathTarget target;
  MathFormula formula;
};

/// Right in every format: only the instruction is missing.
struct ExpandRsqrt : OpRewritePattern<math::RsqrtOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::RsqrtOp op, PatternRewriter &b) const override {
    Num x(b, op.getLoc(), op.getOperand());
    b.replaceOp(op, (1 / x.apply<math::SqrtOp>()).value);
    return success();
  }
};

struct ExpandPow : OpRewritePattern<math::PowFOp> {
  ExpandPow(MLIRContext *context, MathTarget target)
      : OpRewritePattern(context, /*benefit=*/2), target(target) {}
  LogicalResult matchAndRewrite(math::PowFOp op, PatternRewriter &b) const override {
    if (!isF32(op.getLhs()))
      return failure();
    Num x(b, op.getLoc(), op.getLhs()), y(b, op.getLoc(), op.getRhs());
    b.replaceOp(op, formulaPow(target, x, y).value);
    return success();
  }
  MathTarget target;
};

/// sin and cos: a formula for angles of which few digits are lost, and the
/// library, lane by lane, in the rare case that a lane has a larger one.
template <typename OpTy> struct ExpandCircular : OpRewritePattern<OpTy> {
  ExpandCircular(MLIRContext *context, MathTarget target, MathFormula formula, StringRef name)
      : OpRewritePattern<OpTy>(context, /*benefit=*/2), target(target), formula(formula),
        name(name) {}

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &b) const override {
    Location loc = op.getLoc();
    auto vector = dyn_cast<VectorType>(op.getType());
    if (!isF32(op.getOperand()))
      return failure();
    Value operand = op.getOperand();
    if (vector && vector.getRank() != 1)
      operand = vector::ShapeCastOp::create(
          b, loc, VectorType::get({vector.getNumElements()}, vector.getElementType()), operand);
    Num x(b, loc, operand);
    Num usual = formula(target, x);
    // NaN and infinities too.
    Num large = ~(x.abs() <= largestAngle);
    Value any = large.value;
    if (vector)
      any = vector::ReductionOp::create(b, loc, vector::CombiningKind::OR, any);
    auto branch = scf::IfOp::create(b, loc, operand.getType(), any, /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    Value mended =
        vector ? callForLarge(b, op, x, large, usual) : callLibrary(b, op, name, operand);
    scf::YieldOp::create(b, loc, mended);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, usual.value);
    b.setInsertionPointAfter(branch);
    Value result = branch.getResult(0);
    if (vector && vector.getRank() != 1)
      result = vector::ShapeCastOp::create(b, loc, vector, result);
    b.replaceOp(op, result);
    return success();
  }

  /// A loop, for this code is hardly ever run. Small lanes keep their value:
  /// it must not depend on their neighbours.
  Value callForLarge(OpBuilder &b, Operation *op, Num x, Num large, Num usual) const {
    Location loc = op->getLoc();
    func::FuncOp function =
        declare(op, (name + "f").str(), b.getFunctionType({b.getF32Type()}, {b.getF32Type()}));
    auto index = [&](int64_t i) { return arith::ConstantIndexOp::create(b, loc, i); };
    int64_t lanes = cast<VectorType>(x.type()).getNumElements();
    auto loop = scf::ForOp::create(
        b, loc, index(0), index(lanes), index(1), usual.value,
        [&](OpBuilder &inner, Location, Value lane, ValueRange carried) {
          auto laneOf = [&](Value vector) {
            return vector::ExtractOp::create(inner, loc, vector, OpFoldResult(lane));
          };
          Value call =
              func::CallOp::create(inner, loc, function, ValueRange{laneOf(x.value)}).getResult(0);
          Value kept =
              arith::SelectOp::create(inner, loc, laneOf(large.value), call, laneOf(usual.value));
          Value next = vector::InsertOp::create(inner, loc, kept, carried[0], OpFoldResult(lane));
          scf::YieldOp::create(inner, loc, next);
        });
    return loop.getResult(0);
  }

  MathTarget target;
  MathFormula formula;
  StringRef name;
};

/// LLVM would call a library function a lane where the machine has no fma.
struct SplitFma : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::FmaOp op, PatternRewriter &b) const override {
    Num a(b, op.getLoc(), op.getA());
    b.replaceOp(op, (a * a.with(op.getB()) + a.with(op.getC())).value);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Narrow floats
//===----------------------------------------------------------------------===//

/// f32 to bf16 by integers, to nearest even: LLVM would call a library function
/// a lane. A NaN stays one, whatever bits are cut off.
Num toBF16(Num x) {
  Num bits = x.bits();
  Num high = bits.srl(16);
  Num rounded = (bits + (high & high.integer(1)) + bits.integer(0x7fff)).srl(16);
  Num result = x.isNan().select(high | high.integer(0x40), rounded);
  OpBuilder &b = x.builder();
  Num narrow = result.make<arith::TruncIOp>(result.typeOf(b.getI16Type()), result.value);
  return narrow.make<arith::BitcastOp>(narrow.typeOf(b.getBF16Type()), narrow.value);
}

/// f64 to f32 so that rounding again, to a half type, gives what rounding once
/// would: toward zero, and odd when not exact.
Num roundToOdd(Num x) {
  Num single = x.make<arith::TruncFOp>(x.typeOf(x.builder().getF32Type()), x.value);
  Num back = x.make<arith::ExtFOp>(x.type(), single.value);
  Num bits = single.bits();
  Num one = bits.integer(1), zero = bits.integer(0);
  Num down = (back.abs() > x.abs()).select(one, zero);
  return ((bits - down) | (back != x).select(one, zero)).asFloat();
}

struct LowerTruncF : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &b) const override {
    Type from = getElementTypeOrSelf(op.getIn().getType()), to = getElementTypeOrSelf(op.getType());
    auto vector = dyn_cast<VectorType>(op.getType());
    bool fromF64 = from.isF64() && (to.isBF16() || to.isF16());
    if ((!fromF64 && !(from.isF32() && to.isBF16())) || (vector && vector.isScalable()))
      return failure();
    Num x(b, op.getLoc(), op.getIn());
    if (fromF64)
      x = roundToOdd(x);
    b.replaceOp(op, to.isBF16() ? toBF16(x).value
                                : x.make<arith::TruncFOp>(op.getType(), x.value).value);
    return success();
  }
};

/// bf16 to f32 by integers. As an extension LLVM would exchange it with
/// rounding functions after it, and compute those in bf16, by library calls.
struct LowerExtF : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &b) const override {
    auto vector = dyn_cast<VectorType>(op.getType());
    if (!getElementTypeOrSelf(op.getIn().getType()).isBF16() || (vector && vector.isScalable()))
      return failure();
    Num x(b, op.getLoc(), op.getIn());
    Num bits = x.bits();
    Num wide = bits.make<arith::ExtUIOp>(bits.typeOf(b.getI32Type()), bits.value);
    Num single = wide.shl(16).asFloat();
    b.replaceOp(op, getElementTypeOrSelf(op.getType()).isF32()
                        ? single.value
                        : single.make<arith::ExtFOp>(op.getType(), single.value).value);
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

void kiln::populateKilnMathPatterns(RewritePatternSet &patterns, const VectorTarget &target) {
  MLIRContext *context = patterns.getContext();
  MathTarget math{target.fma};
  patterns.add<ApplyFormula<math::ErfOp>>(context, math, formulaErf);
  patterns.add<ApplyFormula<math::ExpOp>>(context, math, formulaExp);
  patterns.add<ApplyFormula<math::Exp2Op>>(context, math, formulaExp2);
  patterns.add<ApplyFormula<math::ExpM1Op>>(context, math, formulaExpM1);
  patterns.add<ApplyFormula<math::LogOp>>(context, math, formulaLog);
  patterns.add<ApplyFormula<math::Log10Op>>(context, math, formulaLog10);
  patterns.add<ApplyFormula<math::Log1pOp>>(context, math, formulaLog1p);
  patterns.add<ApplyFormula<math::Log2Op>>(context, math, formulaLog2);
  patterns.add<ApplyFormula<math::TanhOp>>(context, math, formulaTanh);
  patterns.add<ExpandCircular<math::CosOp>>(context, math, formulaCos, "cos");
  patterns.add<ExpandCircular<math::SinOp>>(context, math, formulaSin, "sin");
  patterns.add<ExpandPow>(context, math);
  patterns.add<ExpandRsqrt, LowerExtF, LowerTruncF>(context);
  if (!target.fma)
    patterns.add<SplitFma>(context);

  patterns.add<CallLibrary<math::AcosOp>>(context, "acos");
  patterns.add<CallLibrary<math::AcoshOp>>(context, "acosh");
  patterns.add<CallLibrary<math::AsinOp>>(context, "asin");
  patterns.add<CallLibrary<math::AsinhOp>>(context, "asinh");
  patterns.add<CallLibrary<math::AtanOp>>(context, "atan");
  patterns.add<CallLibrary<math::Atan2Op>>(context, "atan2");
  patterns.add<CallLibrary<math::AtanhOp>>(context, "atanh");
  patterns.add<CallLibrary<math::CbrtOp>>(context, "cbrt");
  patterns.add<CallLibrary<math::CosOp>>(context, "cos");
  patterns.add<CallLibrary<math::CoshOp>>(context, "cosh");
  patterns.add<CallLibrary<math::ErfOp>>(context, "erf");
  patterns.add<CallLibrary<math::ErfcOp>>(context, "erfc");
  patterns.add<CallLibrary<math::ExpOp>>(context, "exp");
  patterns.add<CallLibrary<math::Exp2Op>>(context, "exp2");
  patterns.add<CallLibrary<math::ExpM1Op>>(context, "expm1");
  patterns.add<CallLibrary<math::LogOp>>(context, "log");
  patterns.add<CallLibrary<math::Log10Op>>(context, "log10");
  patterns.add<CallLibrary<math::Log1pOp>>(context, "log1p");
  patterns.add<CallLibrary<math::Log2Op>>(context, "log2");
  patterns.add<CallLibrary<math::PowFOp>>(context, "pow");
  patterns.add<CallLibrary<math::SinOp>>(context, "sin");
  patterns.add<CallLibrary<math::SinhOp>>(context, "sinh");
  patterns.add<CallLibrary<math::TanOp>>(context, "tan");
  patterns.add<CallLibrary<math::TanhOp>>(context, "tanh");
}

namespace {
struct LowerMathPass : PassWrapper<LowerMathPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerMathPass)
  LowerMathPass() = default;
  LowerMathPass(const LowerMathPass &other) : PassWrapper(other) {}
  explicit LowerMathPass(const VectorTarget &target) { fma = target.fma; }

  StringRef getArgument() const final { return "kiln-lower-math"; }
  StringRef getDescription() const final { return "Lowers functions to arithmetic and libm."; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect, scf::SCFDialect,
                    vector::VectorDialect>();
  }
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    VectorTarget target;
    target.fma = fma;
    populateKilnMathPatterns(set, target);
    patterns = std::move(set);
    return success();
  }
  void runOnOperation() override { walkAndApplyPatterns(getOperation(), patterns); }

  Option<bool> fma{*this, "fma", llvm::cl::desc("The machine has fused multiply-add."),
                   llvm::cl::init(true)};
  FrozenRewritePatternSet patterns;
};
} // namespace

std::unique_ptr<Pass> kiln::createLowerMathPass(const VectorTarget &target) {
  return std::make_unique<LowerMathPass>(target);
}

void kiln::registerLowerMathPass() { PassRegistration<LowerMathPass>(); }
