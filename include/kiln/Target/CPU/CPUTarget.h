//===- CPUTarget.h - The machine that code is made for ----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_CPU_CPUTARGET_H
#define KILN_TARGET_CPU_CPUTARGET_H

#include "kiln/Codegen/VectorTarget.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace llvm {
class Function;
class TargetMachine;
} // namespace llvm

namespace kiln {

class CPUTarget {
public:
  /// `cpu` is "native" or an x86-64 name that LLVM knows: a level (x86-64-v2,
  /// -v3, -v4) or a processor (znver3, icelake-server ...).
  static llvm::Expected<CPUTarget> create(llvm::StringRef cpu);

  /// As LLVM spells them; never "native".
  std::string cpu;
  /// What the machine has beyond or short of `cpu` ("+avx512bf16,-pku").
  std::string features;
  VectorTarget vector;

  /// Instruction sets that code may use, as /proc/cpuinfo spells them, comma
  /// separated: the artefact refuses a machine that lacks one.
  std::string featureList() const;

  std::unique_ptr<llvm::TargetMachine> machine(llvm::CodeGenOptLevel level) const;
  /// Attributes that make a function be compiled for this machine.
  void attach(llvm::Function &function) const;
};

/// The triple of all CPU code; the same wherever the compiler runs.
llvm::StringRef cpuTriple();

} // namespace kiln

#endif // KILN_TARGET_CPU_CPUTARGET_H
