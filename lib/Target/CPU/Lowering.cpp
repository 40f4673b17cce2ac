//===- Lowering.cpp - Kernel IR to the LLVM dialect -----------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "kiln/Codegen/MathLowering.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace kiln;

void kiln::addLoweringPasses(OpPassManager &passes, const VectorTarget &target) {
  passes.addPass(createCSEPass());
  passes.addPass(createLowerMathPass(target));
  passes.addPass(arith::createArithExpandOpsPass());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions functions;
  functions.useBarePtrCallConv = true;
  passes.addPass(createConvertFuncToLLVMPass(functions));
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createConvertIndexToLLVMPass());
  passes.addPass(createUBToLLVMConversionPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
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
