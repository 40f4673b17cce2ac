//===- KernelEmitter.h - Kernels as CUDA C++ --------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan.kernel becomes one readable .cu file with one kernel
//
//     extern "C" __global__ void <name>(inputs..., results..., symbols...,
//                                       int64_t units [, uint8_t *scratch, int64_t scratchBytes])
//
// of which every argument takes eight bytes. Blocks have one dimension, and any
// number of them computes all units: threads (or, in a template, blocks) stride
// over them.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_CUDA_KERNELEMITTER_H
#define KILN_TARGET_CUDA_KERNELEMITTER_H

#include "dialects/Plan/IR/PlanDialect.h"
#include "kiln/Codegen/KernelTable.h"
#include "kiln/Target/CUDA/DeviceFacts.h"
#include "kiln/Target/KernelFacts.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <array>
#include <optional>

namespace kiln {

struct DeviceKernel {
  std::string name;
  /// What is said in front of the code; the code alone decides what it compiles to.
  std::string comment;
  std::string text;
  /// The ONNX nodes of its launches, in the program's order.
  std::vector<std::string> nodes;
  KernelFacts facts;
  /// A template's name, or "generic".
  std::string algorithm;
  unsigned threads = 0;
  /// Of those that facts.units counts, in a block's first stride.
  unsigned unitsPerBlock = 0;
  unsigned sharedBytes = 0;
  /// Threads have scratch memory of facts.scratchBytes each.
  bool usesScratch = false;
  /// Arguments before `units`.
  unsigned slots = 0;
  /// Blocks of a template, over the kernel's symbols; of a generic kernel they
  /// follow from the units.
  std::optional<std::array<Expr, 3>> grid;
  /// How the configuration was chosen, with its numbers.
  std::string choice;
  /// What the model of docs/cuda/scheduling.md says of a launch; sizes that only
  /// the run knows count as TemplateWriter::guess has them.
  std::optional<double> predictedSeconds;
};

/// The runtime's kernel for checks of weights (KILN_MODULE_CHECKSUM_KERNEL).
DeviceKernel checksumKernel();

class TemplateWriter;
/// Writes the kernel of an op by its template, or declines.
using TemplateFn = std::optional<DeviceKernel> (*)(TemplateWriter &w);
/// The family of kernels without an anchor: loops over elements.
inline constexpr llvm::StringLiteral loopFamily = "loop";
/// The templates by the name of their op, or by loopFamily. Of those that take a kernel the one
/// that is predicted to be quickest counts.
using TemplateTable = llvm::StringMap<llvm::SmallVector<TemplateFn, 1>>;
/// Asks every folder of Kernels; generated.
void registerTemplates(TemplateTable &table);

class KernelEmitter {
public:
  /// `mayRoundToTf32`: products in f32 may use the tensor cores.
  KernelEmitter(mlir::MLIRContext &context, const KernelTable &table,
                const cuda::DeviceFacts &device, bool mayRoundToTf32);

  static void registerDialects(mlir::DialectRegistry &registry);

  /// `nodes`: the ONNX nodes that the kernel is for, for a comment. `isAligned`:
  /// all buffers that it is launched with start at multiples of 16 bytes. On
  /// failure the reason has been reported.
  mlir::FailureOr<DeviceKernel> emit(plan::KernelOp kernel, llvm::ArrayRef<std::string> nodes,
                                     bool isAligned);

private:
  mlir::FailureOr<DeviceKernel> emitGeneric(plan::KernelOp kernel);
  std::optional<DeviceKernel> emitTemplate(plan::KernelOp kernel);

  const KernelTable &table;
  const cuda::DeviceFacts &device;
  const bool mayRoundToTf32;
  mlir::PassManager passes;
  TemplateTable templates;
};

} // namespace kiln

#endif // KILN_TARGET_CUDA_KERNELEMITTER_H
