//===- Compilation.h - From an ONNX file to an artefact ---------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The phases of a compilation, in order, over one state. Each phase leaves what
// one --emit stage prints:
//
//   load      onnx::Model                         onnx
//   import    kiln dialect                        kiln
//   fuse      kiln.fusion                         fused
//   plan      plan.program, plan.kernel           plan
//   generate  kernels and program as objects      kernels, llvm, asm, obj
//   link      the artefact                        so
//
//===----------------------------------------------------------------------===//
#ifndef KILN_PIPELINE_COMPILATION_H
#define KILN_PIPELINE_COMPILATION_H

#include "kiln/Import/ImportModel.h"
#include "kiln/Support/Diagnostics.h"
#include "kiln/Target/CPU/KernelCompiler.h"
#include "kiln/Target/Link/ModelHeader.h"
#include "kiln/Target/Program/Program.h"
#include "kiln/Transforms/Passes.h"
#include "mlir/IR/MLIRContext.h"
#include <functional>

namespace kiln {

enum class Stage { Onnx, Kiln, Fused, Plan, Kernels, LLVM, Asm, Obj, So };

struct CompileOptions {
  ImportOptions import;
  std::string cpu = "native";
  /// The name in --dim's sense of the batch dimension; empty: none.
  std::string batchDim;
  unsigned optLevel = 2;
  /// Threads that generate code; 0 is one a core.
  unsigned threads = 0;
  /// Prints tensors' elements in full.
  bool printWeights = false;
  /// Called when a phase starts; `total` phases in all.
  std::function<void(llvm::StringRef phase, unsigned index, unsigned total)> progress;
};

/// Compiles one model after another; the tables and the context are made once.
/// Not thread-safe: one compilation at a time.
class Compiler {
public:
  Compiler();
  ~Compiler();

  /// Writes the artefact to `output` and, unless `header` is empty, its C
  /// header. Returns false when it failed: `diags` says why, and nothing was
  /// written. lld resets every llvm::cl option of the process on the way.
  bool compile(llvm::StringRef model, llvm::StringRef output, llvm::StringRef header,
               const CompileOptions &options, DiagnosticEngine &diags);

  /// Stops after `stage` (not So) and prints it.
  bool print(llvm::StringRef model, Stage stage, llvm::raw_ostream &os,
             const CompileOptions &options, DiagnosticEngine &diags);

private:
  struct State;
  std::unique_ptr<State> state;
};

/// "kiln 0.1.0"
llvm::StringRef producerName();

} // namespace kiln

#endif // KILN_PIPELINE_COMPILATION_H
