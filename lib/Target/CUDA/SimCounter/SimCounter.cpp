//===- SimCounter.cpp - Counts a simulated kernel's arithmetic ------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plugin of clang that compiles kernels for the simulator's checked flavour.
// Each block of code gets one call that says how many operations of each unit it
// holds; a block that a conditional branch leads to says so too, from which the
// simulator sees warps that diverge.
//
// What is counted is the optimised program that clang makes, not ptxas's: compare
// with SASS where the last per cent matters. Halves are emulated on a host, by
// code of CUDA's own headers: its floating-point operations count as those of
// halves and the rest of it as nothing.
//
//===----------------------------------------------------------------------===//
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"

using namespace llvm;

namespace {

/// In the order of kiln_sim_unit; ten bits of the packed number are each one's.
enum Unit { FP32, FP64, Half, Special, Integer, Units };
constexpr unsigned kBits = 10, kMost = (1u << kBits) - 1;
constexpr uint64_t kBranchTarget = uint64_t(1) << 63;

bool isHalfEmulation(const Instruction &instruction) {
  for (const DILocation *at = instruction.getDebugLoc(); at; at = at->getInlinedAt()) {
    StringRef file = at->getFilename();
    if (file.ends_with("cuda_fp16.hpp") || file.ends_with("cuda_bf16.hpp") ||
        file.ends_with("cuda_fp8.hpp") || file.ends_with("kiln/cudasim/Half.h"))
      return true;
  }
  return false;
}

Unit floatUnit(Type *type) {
  type = type->getScalarType();
  if (type->isDoubleTy())
    return FP64;
  return type->isFloatTy() ? FP32 : Half;
}

unsigned elementsOf(Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  return vector ? vector->getNumElements() : 1;
}

/// The unit of a call; Units where it is none's.
Unit callUnit(const CallBase &call) {
  const Function *callee = call.getCalledFunction();
  if (!callee)
    return Units;
  switch (callee->getIntrinsicID()) {
  case Intrinsic::fma:
  case Intrinsic::fmuladd:
  case Intrinsic::minnum:
  case Intrinsic::maxnum:
  case Intrinsic::minimum:
  case Intrinsic::maximum:
  case Intrinsic::floor:
  case Intrinsic::ceil:
  case Intrinsic::trunc:
  case Intrinsic::rint:
  case Intrinsic::nearbyint:
  case Intrinsic::round:
  case Intrinsic::roundeven:
    return floatUnit(call.getType());
  case Intrinsic::sqrt:
  case Intrinsic::exp:
  case Intrinsic::exp2:
  case Intrinsic::log:
  case Intrinsic::log2:
  case Intrinsic::log10:
  case Intrinsic::sin:
  case Intrinsic::cos:
  case Intrinsic::tanh:
  case Intrinsic::pow:
    return Special;
  case Intrinsic::smin:
  case Intrinsic::smax:
  case Intrinsic::umin:
  case Intrinsic::umax:
  case Intrinsic::abs:
  case Intrinsic::ctpop:
  case Intrinsic::ctlz:
  case Intrinsic::cttz:
  case Intrinsic::fshl:
  case Intrinsic::fshr:
  case Intrinsic::bitreverse:
    return Integer;
  case Intrinsic::not_intrinsic:
    break;
  default:
    return Units;
  }
  StringRef name = callee->getName();
  name.consume_back("f");
  return StringSwitch<Unit>(name)
      .Cases(
          {"fmin", "fmax", "fma", "floor", "ceil", "trunc", "rint", "nearbyint", "round", "fdim"},
          floatUnit(call.getType()))
      .Cases({"exp",   "exp2", "exp10", "expm1", "log",   "log2",  "log10",
              "log1p", "sin",  "cos",   "tan",   "asin",  "acos",  "atan",
              "sinh",  "cosh", "tanh",  "asinh", "acosh", "atanh", "erf"},
             Special)
      .Cases({"erfc", "pow", "sqrt", "cbrt", "fmod", "atan2", "hypot", "tgamma", "lgamma"}, Special)
      .Default(Units);
}

Unit unitOf(const Instruction &i) {
  if (auto *call = dyn_cast<CallBase>(&i))
    return callUnit(*call);
  switch (i.getOpcode()) {
  case Instruction::FAdd:
  case Instruction::FSub:
  case Instruction::FMul:
  case Instruction::SIToFP:
  case Instruction::UIToFP:
  case Instruction::FPTrunc:
    return floatUnit(i.getType());
  case Instruction::FCmp:
  case Instruction::FPToSI:
  case Instruction::FPToUI:
  case Instruction::FPExt:
    return floatUnit(i.getOperand(0)->getType());
  case Instruction::FDiv:
  case Instruction::FRem:
    return Special;
  case Instruction::Add:
  case Instruction::Sub:
  case Instruction::Mul:
  case Instruction::UDiv:
  case Instruction::SDiv:
  case Instruction::URem:
  case Instruction::SRem:
  case Instruction::Shl:
  case Instruction::LShr:
  case Instruction::AShr:
  case Instruction::And:
  case Instruction::Or:
  case Instruction::Xor:
  case Instruction::ICmp:
    return Integer;
  default:
    return Units;
  }
}

bool followsBranch(const BasicBlock &block) {
  for (const BasicBlock *before : predecessors(&block))
    if (before->getTerminator()->getNumSuccessors() > 1)
      return true;
  return false;
}

struct CountArithmetic : PassInfoMixin<CountArithmetic> {
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    LLVMContext &context = module.getContext();
    FunctionCallee hook = module.getOrInsertFunction("kilnSimArithmetic", Type::getVoidTy(context),
                                                     Type::getInt64Ty(context));
    cast<GlobalValue>(hook.getCallee())->setVisibility(GlobalValue::HiddenVisibility);
    for (Function &function : module) {
      if (function.isDeclaration())
        continue;
      // A model of a warp-wide call works for all lanes, so its floats are right;
      // its loops are the host's.
      const bool isModel = !function.hasFnAttribute(Attribute::SanitizeThread);
      for (BasicBlock &block : function)
        countBlock(function, block, hook, isModel);
    }
    return PreservedAnalyses::none();
  }

  static void countBlock(Function &function, BasicBlock &block, FunctionCallee hook, bool isModel) {
    unsigned counts[Units] = {};
    for (Instruction &i : block) {
      Unit unit = unitOf(i);
      if (unit == Units || (unit == Integer && isModel))
        continue;
      const bool emulated = isHalfEmulation(i);
      if (emulated && (unit == Integer || isa<CastInst>(i) || isa<FCmpInst>(i)))
        continue;
      counts[emulated && (unit == FP32 || unit == FP64) ? Half : unit] += elementsOf(i.getType());
    }
    uint64_t flag = !isModel && followsBranch(block) ? kBranchTarget : 0;
    IRBuilder<> builder(&block, block.getFirstNonPHIOrDbgOrAlloca());
    // The call needs a place, or a caller that it is inlined into is not legal.
    if (DISubprogram *scope = function.getSubprogram())
      builder.SetCurrentDebugLocation(placeOf(block, scope));
    while (flag || any_of(counts, [](unsigned n) { return n != 0; })) {
      uint64_t packed = flag;
      for (unsigned unit = 0; unit < Units; ++unit) {
        const unsigned now = std::min(counts[unit], kMost);
        packed |= uint64_t(now) << unit * kBits;
        counts[unit] -= now;
      }
      builder.CreateCall(hook, builder.getInt64(packed));
      flag = 0;
    }
  }

  static DebugLoc placeOf(const BasicBlock &block, DISubprogram *scope) {
    for (const Instruction &i : block)
      if (i.getDebugLoc())
        return i.getDebugLoc();
    return DILocation::get(scope->getContext(), scope->getLine(), 0, scope);
  }

  static bool isRequired() { return true; }
};

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "KilnSimCounter", "1", [](PassBuilder &builder) {
            builder.registerOptimizerLastEPCallback(
                [](ModulePassManager &passes, OptimizationLevel, ThinOrFullLTOPhase) {
                  passes.addPass(CountArithmetic());
                });
          }};
}
