//===- Compilation.h - From an ONNX file to an artefact ---------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The phases of a compilation, in order, over one state. Each phase leaves what
// one or more --emit stages show:
//
//   load      onnx::Model                         onnx
//   import    kiln dialect                        kiln
//   fuse      kiln.fusion                         fused
//   plan      plan.program, plan.kernel           plan, kernels, cu
//   generate  kernels and program as objects      llvm, asm
//   link      the artefact                        obj, a, so
//
//===----------------------------------------------------------------------===//
#ifndef KILN_PIPELINE_COMPILATION_H
#define KILN_PIPELINE_COMPILATION_H

#include "kiln/Import/ImportModel.h"
#include "kiln/Patterns/RuleReport.h"
#include "kiln/Pipeline/KernelCache.h"
#include "kiln/Pipeline/PhaseTimer.h"
#include "kiln/Support/Diagnostics.h"
#include <functional>
#include <optional>

namespace kiln {

struct DeviceReport;

enum class Phase { Load, Import, Fuse, Plan, Generate, Link };
enum class Stage { Onnx, Kiln, Fused, Plan, Kernels, Cu, LLVM, Asm, Obj, Archive, So };

llvm::StringRef phaseName(Phase phase);
/// The phase that leaves what the stage shows.
Phase phaseOf(Stage stage);

/// What products on a GPU may round their operands to. Sums stay fp32, and so does
/// all else.
enum class Precision { Fp32, Tf32, Bf16, Fp16 };

/// What the CUDA target makes beside the plan for the CPU.
struct CudaOptions {
  bool isWanted = false;
  /// Architectures as CudaArchitecture::parse takes them, each once.
  std::vector<std::string> architectures;
  /// The architecture of a simulated GPU to make kernels for, too; empty: none.
  std::string simulated;
  Precision precision = Precision::Fp32;
  /// --cuda-path; empty: where a toolkit is found.
  std::string toolkit;
};

struct CompileOptions {
  ImportOptions import;
  std::string cpu = "native";
  CudaOptions cuda;
  /// 3 x 3 convolutions by F(2x2) and F(4x4) where they are faster.
  bool minimalFiltering = true;
  /// The name in --dim's sense of the batch dimension; empty: none.
  std::string batchDim;
  unsigned optLevel = 2;
  /// Threads that generate code; 0 is one a core.
  unsigned threads = 0;
  RuleOptions rules;
  /// What decides whether a rule fires.
  RecordOptions records;
  /// Not owned; gets what rules did.
  RuleReport *ruleReport = nullptr;
  /// Not owned; gets what became of a device's kernels.
  DeviceReport *deviceReport = nullptr;
  /// Prints tensors' elements in full.
  bool printWeights = false;
  /// Folder of compiled kernels; empty: none.
  std::string cacheFolder;
  uint64_t cacheLimit = KernelCache::defaultLimit;
  /// Warn when the cache cannot be written; else it is silently not used.
  bool cacheIsWanted = false;
  /// PEM file of the Ed25519 key that signs a shared object; empty: none.
  std::string signingKey;
  /// Writes each stage to `<tempsStem>.kiln.mlir`, `.plan.mlir`, `.ll` … as soon
  /// as it exists, and what becomes of a device's kernels to `<tempsStem>.cuda/`;
  /// empty: none.
  std::string tempsStem;
  /// Called when a phase starts; `total` phases in all.
  std::function<void(llvm::StringRef phase, unsigned index, unsigned total)> progress;
  /// Not owned; where the time went.
  PhaseTimer *timer = nullptr;
};

/// What a compilation makes of a graph, known before LLVM runs.
struct GraphSummary {
  /// Of the code that is emitted for all kernels, 32 hexadecimal digits. Weights'
  /// elements and names of nodes have no part in it.
  std::string kernelHash;
  unsigned launches = 0;
  /// What the launches read and write; sizes that only the run knows count as
  /// RuleReport::nominalSize.
  int64_t trafficBytes = 0;
};

/// Compiles one model after another; the tables and the context are made once.
/// Not thread-safe: one compilation at a time. All calls return false when they
/// failed: `diags` says why, and no output was written. lld, in the link phase,
/// resets every llvm::cl option of the process.
class Compiler {
public:
  Compiler();
  ~Compiler();

  /// Writes the artefact to `output` and, unless `header` is empty, its C
  /// header.
  bool compile(llvm::StringRef model, llvm::StringRef output, llvm::StringRef header,
               const CompileOptions &options, DiagnosticEngine &diags);

  /// The same for static linking, as one relocatable object or an archive of it.
  bool compileStatic(llvm::StringRef model, Stage objOrArchive, llvm::StringRef output,
                     llvm::StringRef header, const CompileOptions &options,
                     DiagnosticEngine &diags);

  /// The artefact of a graph that `make` builds in the compiler's context, in the
  /// place of a model: a module with a function @main of kiln ops, named inputs
  /// and outputs (ModelAttributes.h).
  bool compileGraph(llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>(mlir::MLIRContext &)> make,
                    llvm::StringRef output, const CompileOptions &options, DiagnosticEngine &diags);

  /// A graph as compileGraph takes it, as far as its kernels' code.
  std::optional<GraphSummary>
  summarizeGraph(llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>(mlir::MLIRContext &)> make,
                 const CompileOptions &options, DiagnosticEngine &diags);

  /// Writes the text of a stage (up to Asm) to a file; "-" is standard output.
  bool emit(llvm::StringRef model, Stage stage, llvm::StringRef output,
            const CompileOptions &options, DiagnosticEngine &diags);

  /// The same to a stream.
  bool print(llvm::StringRef model, Stage stage, llvm::raw_ostream &os,
             const CompileOptions &options, DiagnosticEngine &diags);

  /// Goes up to `last` (not Link) and writes nothing.
  bool check(llvm::StringRef model, Phase last, const CompileOptions &options,
             DiagnosticEngine &diags);

private:
  struct State;
  std::unique_ptr<State> state;
};

/// "kiln 0.1.0"
llvm::StringRef producerName();

} // namespace kiln

#endif // KILN_PIPELINE_COMPILATION_H
