//===- Program.h - plan.program as native code ------------------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns a program into the functions and the table of kiln-c/ModuleABI.h. The
// functions are built as MLIR, so that they go through the lowering that the
// kernels take; the table is added to the LLVM module at the end.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_PROGRAM_PROGRAM_H
#define KILN_TARGET_PROGRAM_PROGRAM_H

#include "dialects/Plan/IR/PlanDialect.h"
#include "kiln/Target/KernelFacts.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include <array>
#include <optional>

namespace llvm {
class Constant;
class Module;
} // namespace llvm

namespace kiln {

/// What the program keeps where; computed once, read by code and table.
struct ProgramLayout {
  /// Of the names of its functions and its table.
  std::string prefix = "kiln_generated_";
  /// A kernel of a device: where it is in its list, and the blocks of its images
  /// where they do not follow from the units, over the kernel's symbols.
  struct DeviceLaunch {
    unsigned index = 0;
    std::vector<std::array<Expr, 3>> grids;
  };
  /// The kernels are a device's.
  std::optional<llvm::StringMap<DeviceLaunch>> deviceKernels;
  /// A constant of the weights section. `layout` says how it is packed.
  struct Weight {
    mlir::ElementsAttr value;
    mlir::StringAttr layout;
    /// The initialiser's, or that of the node it was folded from; in an artefact
    /// no two are equal.
    std::string name;
    uint64_t offset = 0, bytes = 0;
    uint32_t crc32c = 0;
    /// Of the artefact's, which plans share.
    unsigned segment = 0;
  };
  /// Lives from one step of run() to another; every op of the program is a step.
  struct ArenaBuffer {
    mlir::Type type;
    uint32_t first = 0, last = 0;
    /// The first launch that writes it; without one, a copy does.
    std::optional<uint32_t> writer = std::nullopt;
  };
  struct Launch {
    std::string kernel, nodes;
    uint32_t step = 0;
  };
  /// Input symbols, then those that bind() reads from inputs, then late ones.
  llvm::SmallVector<std::string> symbols;
  size_t numInputSymbols = 0, numBoundSymbols = 0;
  llvm::SmallVector<Weight> weights;
  uint64_t weightsSize = 0;
  llvm::DenseMap<mlir::Value, unsigned> weightOf; // by plan.constant
  llvm::SmallVector<unsigned> defaultWeights;     // by input; ~0u: none
  llvm::SmallVector<ArenaBuffer> arena;
  llvm::DenseMap<mlir::Value, unsigned> arenaOf; // by plan.alloc
  llvm::SmallVector<Launch> launches;
  llvm::SmallVector<std::string> constraints;
  /// Which launch or constraint an op is.
  llvm::DenseMap<mlir::Operation *, unsigned> indexOf;
  llvm::SmallVector<mlir::RankedTensorType> outputs;
  bool readsInputs = false;

  bool isLate(const Expr &expr) const;
  bool isLate(mlir::Type tensor) const;
  /// Whether the run asks for a buffer's memory.
  bool isLate(plan::AllocOp alloc) const;
  /// Whether bind() does it, and not the run.
  bool isEarly(plan::BindOp bind) const;
  bool isEarly(plan::RequireOp require) const;
  unsigned symbolIndex(llvm::StringRef name) const;
};

/// Bytes that a tensor type takes in memory.
Expr bytesOf(mlir::Type tensor);

/// Decides everything but the weights' bytes and offsets.
ProgramLayout layoutProgram(plan::ProgramOp program);

/// Adds func.func @<prefix>{bind,sizes,output_dims,run} to `into`, which declare
/// the kernels that they launch.
void buildProgram(plan::ProgramOp program, const ProgramLayout &layout,
                  const llvm::StringMap<KernelFacts> &kernels, mlir::ModuleOp into);

/// What kiln_module_device says beside the plan.
struct DeviceInfo {
  struct Kernel {
    std::string name;
    unsigned slots = 0, numGrids = 0;
  };
  /// As kiln_module_image has them.
  struct Image {
    std::string arch;
    unsigned kind = 0, kernel = 0;
    unsigned threads = 0, unitsPerBlock = 0, sharedBytes = 0;
    bool usesScratch = false;
    unsigned grid = 0;
    std::string bytes;
  };
  std::vector<Kernel> kernels;
  std::vector<Image> images;
  /// The symbol of the runtime's driver.
  std::string driver;
};

struct ModuleInfo {
  std::string name, producer, target, features, batchSymbol;
  /// Of each input, then each output; empty when rows do not stay apart, and
  /// then why.
  llvm::SmallVector<int32_t> batchAxes;
  std::string batchObstacle;
  uint8_t digest[32] = {};
  /// writeManifest's text; empty: none.
  std::string manifest;
};

/// Defines <prefix>module in a module that buildProgram's functions have been
/// lowered into. `device`: what addDeviceTable gave, or null.
llvm::Constant *addModuleTable(plan::ProgramOp program, const ProgramLayout &layout,
                               const ModuleInfo &info, llvm::Constant *device,
                               llvm::Module &module);

/// Defines the kiln_module_device of a plan whose table has been added.
llvm::Constant *addDeviceTable(llvm::Constant *plan, const DeviceInfo &info, llvm::Module &module);

} // namespace kiln

#endif // KILN_TARGET_PROGRAM_PROGRAM_H
