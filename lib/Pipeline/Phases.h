//===- Phases.h - One compilation -------------------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_LIB_PIPELINE_PHASES_H
#define KILN_LIB_PIPELINE_PHASES_H

#include "kiln/Pipeline/Compilation.h"
#include "kiln/Pipeline/Registration.h"
#include "kiln/Target/CUDA/KernelEmitter.h"
#include "kiln/Target/Link/Artefact.h"
#include "kiln/Target/Link/Link.h"
#include "kiln/Target/Link/Manifest.h"
#include "kiln/Target/Link/ModelHeader.h"
#include "kiln/Target/Program/Program.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

namespace kiln {

class CudaToolchain;
struct CudaArchitecture;
struct ImageJob;

/// What a compiler keeps from one compilation to the next.
struct CompilerTables : PassTables {
  CompilerTables() { registerImporters(importers); }
  ImportTable importers;
};

/// The text without the names of resources: they are numbered over all that a
/// context has seen.
std::string withoutResourceNames(llvm::StringRef text);

/// The phases of Compilation.h over what they make. A phase that fails has
/// reported why.
class Compilation {
public:
  Compilation(mlir::MLIRContext &context, const CompilerTables &tables, KernelCompiler &compiler,
              llvm::StringRef path, const CompileOptions &options, DiagnosticEngine &diags)
      : context(context), tables(tables), compiler(compiler), path(path), options(options),
        diags(diags), timer(options.timer ? *options.timer : ownTimer),
        report(options.ruleReport ? *options.ruleReport : ownReport) {}

  /// The file that will be written: fails at once when that is the model, or
  /// cannot be made.
  bool announceOutput(llvm::StringRef output);
  /// Reads the key that the options name, if any.
  bool readSigningKey();
  /// Takes a graph in the place of a model's; false for none.
  bool startFrom(mlir::OwningOpRef<mlir::ModuleOp> graph) {
    module = std::move(graph);
    return static_cast<bool>(module);
  }
  /// Keeps the texts that LLVM and Asm print.
  void keepText() { textIsWanted = true; }
  /// All phases up to `last`; `goal` is for the count of Compilation.h's
  /// progress.
  bool run(Phase last, Phase goal);

  /// The link phase, after Generate.
  bool link(Stage form, llvm::StringRef output, llvm::StringRef header) {
    return within(Phase::Link, Phase::Link, [&] { return writeLinked(form, output, header); });
  }
  /// After Plan.
  std::optional<GraphSummary> summarize();
  /// After the stage's phase; for texts.
  bool print(Stage stage, llvm::raw_ostream &os);
  bool writeText(Stage stage, llvm::StringRef output);

private:
  // Phases.cpp
  /// Tells and times a phase's work.
  bool within(Phase phase, Phase goal, llvm::function_ref<bool()> work);
  bool runPhase(Phase phase);
  bool load();
  bool import();
  bool fuse();
  bool fuse(mlir::ModuleOp graph, RuleReport &report, Precision precision);
  bool fuseForDevice(bool onlyTemplates);
  bool plan();
  bool generate();
  bool generateKernels();
  bool layoutWeightsOfPlans();
  bool generateProgram(plan::ProgramOp program);
  bool setBatchSymbol();
  bool noteBatch();
  RuleStore ruleStore();

  // Evidence.cpp
  void prepareEvidence();
  std::optional<std::string> emittedHash(const Rule &rule, const Measurement &measurement);
  void finishEvidence();

  void fillInfo();

  // Manifest.cpp
  Manifest makeManifest();

  // Device.cpp
  bool checkPrecision();
  std::vector<std::string> machines() const;
  /// What rules' matches are weighed by: the mean of the devices that stand for machines().
  PredictionRates deviceRates() const;
  bool haveTemplates(mlir::ModuleOp graph) const;
  struct DeviceForms;
  static std::vector<std::array<Expr, 3>> gridsOf(const DeviceForms &kernel);
  bool checkDeviceMemory();
  bool emitDeviceKernels();
  void buildDeviceProgram(mlir::ModuleOp into);
  llvm::Constant *addDevice(llvm::Module &into);
  void printDeviceKernels(llvm::raw_ostream &os);

  // DeviceImages.cpp
  bool compileDeviceKernels();
  bool findArchitectures(const CudaToolchain &toolchain,
                         std::vector<CudaArchitecture> &architectures);
  /// How many were in the cache.
  size_t runImageJobs(const CudaToolchain &toolchain, llvm::MutableArrayRef<ImageJob> jobs);
  bool failToCompile(const ImageJob &job);
  /// A file of --save-temps about one kernel.
  std::string kernelTemp(const DeviceKernel &kernel, llvm::StringRef suffix) const;
  bool writeKernelTemp(const DeviceKernel &kernel, llvm::StringRef suffix, llvm::StringRef text);
  bool writeKernelTemps(const CudaToolchain &toolchain, llvm::ArrayRef<ImageJob> jobs);

  // Outputs.cpp
  bool writeLinked(Stage form, llvm::StringRef output, llvm::StringRef header);
  LinkInputs linkInputs(llvm::StringRef output);
  ModelHeaderInfo headerInfo(llvm::StringRef stem);
  bool writeTemps(Phase phase);

  // Failures
  mlir::LogicalResult note(mlir::Diagnostic &diag);
  bool fail(Diag diag, llvm::StringRef text);
  bool failToWrite(llvm::StringRef file, llvm::Error error);
  bool runPasses(mlir::ModuleOp on, Diag onFailure,
                 llvm::function_ref<void(mlir::PassManager &)> addPasses);

  static plan::ProgramOp programOf(mlir::ModuleOp module) {
    return *module.getOps<plan::ProgramOp>().begin();
  }
  plan::ProgramOp program() { return programOf(*module); }

  mlir::MLIRContext &context;
  const CompilerTables &tables;
  KernelCompiler &compiler;
  std::string path;
  const CompileOptions &options;
  DiagnosticEngine &diags;
  PhaseTimer ownTimer;
  PhaseTimer &timer;
  bool textIsWanted = false;

  /// What MLIR said about a failure, and the ONNX nodes that it is about.
  struct Complaint {
    std::string text, node;
  };
  std::vector<Complaint> complaints;

  std::unique_ptr<onnx::Model> model;
  /// Where options.ruleReport is not given.
  RuleReport ownReport;
  RecordLibrary records;
  std::optional<Weigher> weigher;
  RuleReport &report;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<CompiledKernel> kernels;
  ProgramLayout layout;
  std::vector<WeightSegment> segments;
  ModuleInfo info;
  llvm::SmallVector<char, 0> programObject;
  std::string programIR, programAssembly;
  std::unique_ptr<SigningKey> signingKey;

  /// A kernel's code and configuration for each of machines(); those that get the
  /// same have one form.
  struct DeviceForms {
    std::vector<DeviceKernel> forms;
    std::vector<unsigned> formOf;
  };
  /// The plan for a device, from the graph that `module` had after import.
  struct DevicePlan {
    mlir::OwningOpRef<mlir::ModuleOp> module;
    std::vector<DeviceForms> kernels;
    ProgramLayout layout;
    DeviceInfo info;
  };
  std::optional<DevicePlan> device;
};

} // namespace kiln

#endif // KILN_LIB_PIPELINE_PHASES_H
