//===- Lowering.cpp - Kernel IR to the LLVM dialect -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "kiln/Codegen/MathLowering.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace kiln;

namespace {
/// Hides quotients of indices by variables from scalar evolution. It would see
/// through them into addresses, and loop strength reduction would compute such
/// an address again inside of the innermost loop: LLVM never hoists a division
/// whose divisor might be 0 (SCEVExpander).
void hideQuotients(Operation *root) {
  root->walk([](Operation *op) {
    if (!isa<arith::DivUIOp, arith::RemUIOp, arith::DivSIOp, arith::RemSIOp>(op) ||
        !op->getResult(0).getType().isIndex() || matchPattern(op->getOperand(1), m_Constant()))
      return;
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    Value result = op->getResult(0);
    Value word = arith::IndexCastOp::create(b, op->getLoc(), b.getI64Type(), result);
    Value frozen = LLVM::FreezeOp::create(b, op->getLoc(), word);
    Value back = arith::IndexCastOp::create(b, op->getLoc(), b.getIndexType(), frozen);
    result.replaceAllUsesExcept(back, word.getDefiningOp());
  });
}

/// Rewrites that leave what the conversion below turns into good code.
struct Legalize : PassWrapper<Legalize, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Legalize)
  StringRef getArgument() const final { return "kiln-legalize"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<arith::ArithDialect, math::MathDialect, vector::VectorDialect, LLVM::LLVMDialect>();
  }
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet arith(context), vector(context);
    arith::populateCeilFloorDivExpandOpsPatterns(arith);
    arithPatterns = std::move(arith);
    vector::populateVectorInsertExtractStridedSliceTransforms(vector);
    vector::populateVectorShapeCastLoweringPatterns(vector);
    vector::populateVectorTransposeLoweringPatterns(vector,
                                                    vector::VectorTransposeLowering::Shuffle16x16);
    vectorPatterns = std::move(vector);
    return success();
  }
  void runOnOperation() override {
    // A greedy rewrite visits every op several times: only when it has work.
    bool arith = false, vector = false;
    getOperation()->walk([&](Operation *op) {
      arith |= isa<arith::FloorDivSIOp, arith::CeilDivSIOp, arith::CeilDivUIOp>(op);
      vector |= isa<vector::InsertStridedSliceOp, vector::ExtractStridedSliceOp,
                    vector::ShapeCastOp, vector::TransposeOp>(op);
    });
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    for (auto [wanted, patterns] :
         {std::pair(arith, &arithPatterns), std::pair(vector, &vectorPatterns)})
      if (wanted && failed(applyPatternsGreedily(getOperation(), *patterns, config)))
        return signalPassFailure();
    hideQuotients(getOperation());
  }
  FrozenRewritePatternSet arithPatterns, vectorPatterns;
};

/// All dialects of kernels to LLVM in one conversion: each pass of its own
/// would walk everything again.
struct ConvertToLLVM : PassWrapper<ConvertToLLVM, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertToLLVM)
  StringRef getArgument() const final { return "kiln-to-llvm"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect, func::FuncDialect, vector::VectorDialect>();
  }
  LogicalResult initialize(MLIRContext *context) override {
    LowerToLLVMOptions options(context);
    options.useBarePtrCallConv = true;
    converter = std::make_shared<LLVMTypeConverter>(context, options);
    RewritePatternSet set(context);
    populateVectorToLLVMConversionPatterns(*converter, set);
    populateFinalizeMemRefToLLVMConversionPatterns(*converter, set);
    populateFuncToLLVMConversionPatterns(*converter, set);
    arith::populateArithToLLVMConversionPatterns(*converter, set);
    cf::populateControlFlowToLLVMConversionPatterns(*converter, set);
    index::populateIndexToLLVMConversionPatterns(*converter, set);
    ub::populateUBToLLVMConversionPatterns(*converter, set);
    populateMathToLLVMConversionPatterns(*converter, set, /*approximateLog1p=*/false);
    patterns = std::move(set);
    return success();
  }
  void runOnOperation() override {
    LLVMConversionTarget target(getContext());
    target.addLegalOp<ModuleOp>();
    if (failed(applyPartialConversion(getOperation(), target, patterns)))
      return signalPassFailure();
    SmallVector<UnrealizedConversionCastOp> casts;
    getOperation()->walk([&](UnrealizedConversionCastOp cast) { casts.push_back(cast); });
    reconcileUnrealizedCasts(casts);
  }
  std::shared_ptr<LLVMTypeConverter> converter;
  FrozenRewritePatternSet patterns;
};
} // namespace

void kiln::addLoweringPasses(OpPassManager &passes, const VectorTarget &target) {
  passes.addPass(createCSEPass());
  passes.addPass(createLowerMathPass(target));
  passes.addPass(std::make_unique<Legalize>());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(std::make_unique<ConvertToLLVM>());
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

/// Loads the body's arguments from slots and calls it.
static void addEntryPoint(LLVM::LLVMFuncOp body, StringRef name) {
  OpBuilder b(body.getContext());
  b.setInsertionPointAfter(body);
  Location loc = body.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(b.getContext()), word = b.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                          {pointer, word, word, pointer});
  auto entry = LLVM::LLVMFuncOp::create(b, loc, name, type);
  entry.setVisibility_(LLVM::Visibility::Hidden);
  b.setInsertionPointToStart(entry.addEntryBlock(b));
  ArrayRef<Type> types = body.getFunctionType().getParams();
  SmallVector<Value> arguments;
  for (auto [i, slot] : llvm::enumerate(types.drop_back(3))) {
    Value address = LLVM::GEPOp::create(b, loc, pointer, word, entry.getArgument(0),
                                        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    arguments.push_back(LLVM::LoadOp::create(b, loc, slot, address, /*alignment=*/8));
  }
  for (unsigned i = 1; i < 4; ++i)
    arguments.push_back(entry.getArgument(i));
  LLVM::CallOp::create(b, loc, body, arguments);
  LLVM::ReturnOp::create(b, loc, ValueRange{});
  body.setLinkage(LLVM::Linkage::Internal);
}

void kiln::addEntryPoints(ModuleOp module) {
  for (auto body : llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>()))
    if (auto name = body->getAttrOfType<StringAttr>(entryAttrName)) {
      addEntryPoint(body, name);
      body->removeAttr(entryAttrName);
    }
}
