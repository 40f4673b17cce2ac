//===- CPUTarget.cpp - The machine that code is made for ------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Target/CPU/CPUTarget.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Function.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace kiln;

StringRef kiln::cpuTriple() { return "x86_64-unknown-linux-gnu"; }

static const Target *lookupTarget() {
  static const Target *target = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    std::string error;
    return TargetRegistry::lookupTarget(Triple(cpuTriple()), error);
  }();
  return target;
}

static std::unique_ptr<MCSubtargetInfo> subtarget(StringRef cpu, StringRef features) {
  return std::unique_ptr<MCSubtargetInfo>(
      lookupTarget()->createMCSubtargetInfo(Triple(cpuTriple()), cpu, features));
}

/// Instruction sets that the code generator uses by itself: LLVM's name and
/// /proc/cpuinfo's.
static constexpr std::pair<StringLiteral, StringLiteral> instructionSets[] = {
    {"sse3", "pni"},
    {"ssse3", "ssse3"},
    {"sse4.1", "sse4_1"},
    {"sse4.2", "sse4_2"},
    {"sse4a", "sse4a"},
    {"popcnt", "popcnt"},
    {"avx", "avx"},
    {"avx2", "avx2"},
    {"f16c", "f16c"},
    {"fma", "fma"},
    {"fma4", "fma4"},
    {"xop", "xop"},
    {"bmi", "bmi1"},
    {"bmi2", "bmi2"},
    {"tbm", "tbm"},
    {"lzcnt", "abm"},
    {"movbe", "movbe"},
    {"gfni", "gfni"},
    {"avxvnni", "avx_vnni"},
    {"avxifma", "avx_ifma"},
    {"avx512f", "avx512f"},
    {"avx512cd", "avx512cd"},
    {"avx512bw", "avx512bw"},
    {"avx512dq", "avx512dq"},
    {"avx512vl", "avx512vl"},
    {"avx512ifma", "avx512ifma"},
    {"avx512vbmi", "avx512vbmi"},
    {"avx512vbmi2", "avx512_vbmi2"},
    {"avx512vnni", "avx512_vnni"},
    {"avx512bitalg", "avx512_bitalg"},
    {"avx512vpopcntdq", "avx512_vpopcntdq"},
    {"avx512bf16", "avx512_bf16"},
    {"avx512fp16", "avx512_fp16"},
};

Expected<CPUTarget> CPUTarget::create(StringRef cpu) {
  if (!lookupTarget())
    return createStringError("this build of LLVM has no x86 back end");
  CPUTarget result;
  if (cpu == "native") {
    result.cpu = sys::getHostCPUName().str();
    // A virtual machine may hide instructions that the processor has.
    auto named = subtarget(result.cpu, "");
    SmallVector<std::string> differing;
    StringMap<bool> host = sys::getHostCPUFeatures();
    for (auto [name, procName] : instructionSets)
      if (named->checkFeatures(("+" + name).str()) != host.lookup(name))
        differing.push_back((host.lookup(name) ? "+" : "-") + name.str());
    result.features = join(differing, ",");
  } else {
    result.cpu = cpu.str();
  }
  auto info = subtarget("x86-64", "");
  if (!info->isCPUStringValid(result.cpu) ||
      !(info = subtarget(result.cpu, result.features))->checkFeatures("+64bit"))
    return createStringError("unknown CPU '" + cpu +
                             "': use native, x86-64-v2, x86-64-v3, x86-64-v4 or a 64-bit "
                             "processor that LLVM knows, such as znver3");
  auto has = [&](StringRef feature) { return info->checkFeatures(("+" + feature).str()); };
  result.vector.fma = has("fma");
  bool wide = has("avx512f") && has("avx512bw") && has("avx512vl") && has("avx512dq");
  result.vector.vectorBits = wide ? 512 : has("avx2") && has("fma") ? 256 : 128;
  result.vector.vectorRegisters = wide ? 32 : 16;
  return result;
}

std::string CPUTarget::featureList() const {
  auto info = subtarget(cpu, features);
  SmallVector<StringRef> used;
  for (auto [llvmName, procName] : instructionSets)
    if (info->checkFeatures(("+" + llvmName).str()))
      used.push_back(procName);
  return join(used, ",");
}

std::unique_ptr<TargetMachine> CPUTarget::machine(CodeGenOptLevel level) const {
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Standard;
  options.FunctionSections = true;
  options.DataSections = true;
  return std::unique_ptr<TargetMachine>(lookupTarget()->createTargetMachine(
      Triple(cpuTriple()), cpu, features, options, Reloc::PIC_, CodeModel::Small, level));
}

void CPUTarget::attach(Function &function) const {
  function.addFnAttr("target-cpu", cpu);
  if (!features.empty())
    function.addFnAttr("target-features", features);
  // The emitter chose the width; without these, processors that "prefer" 256
  // bits would see wider vectors split.
  function.addFnAttr("prefer-vector-width", std::to_string(vector.vectorBits));
  function.addFnAttr("min-legal-vector-width", std::to_string(vector.vectorBits));
  function.addFnAttr(Attribute::NoUnwind);
}
