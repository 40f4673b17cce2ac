//===- Schedule.h - Which configuration a kernel gets ---------*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A model of a launch, and the search that uses it (docs/cuda/scheduling.md).
// Configurations are enumerated from what the templates call legal; no tile is
// written down here.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_CUDA_SCHEDULE_H
#define KILN_TARGET_CUDA_SCHEDULE_H

#include "kiln/Target/CUDA/DeviceFacts.h"
#include "lib/Target/CUDA/Kernels/Attention/Attention.config.h"
#include "lib/Target/CUDA/Kernels/Conv/Conv.config.h"
#include "lib/Target/CUDA/Kernels/MatMul/MatMul.config.h"
#include "lib/Target/CUDA/Kernels/NormLinear/NormLinear.config.h"
#include "lib/Target/CUDA/Kernels/Pointwise/Pointwise.config.h"
#include "lib/Target/CUDA/Kernels/Reduction/Reduction.config.h"
#include "lib/Target/CUDA/Kernels/Transpose/Transpose.config.h"
#include <optional>

namespace kiln::cuda {

/// How many blocks of a kernel a multiprocessor holds, and what stops it from holding more.
struct Occupancy {
  int64_t blocks = 0, warps = 0;
  /// Of the warps that a multiprocessor can hold.
  double fraction = 0;
  enum Limit { threads, blocksLimit, registers, sharedMemory } limit = threads;
};
/// As CUDA's occupancy calculator: registers are given to warps in units of 256, and a quarter of
/// them belongs to each of four schedulers. 0 blocks: the kernel cannot be launched.
Occupancy occupancyOf(const DeviceFacts &device, int threads, int registers, int64_t sharedBytes);

/// One launch, as far as the model knows it.
struct Work {
  LaunchShape shape;
  int registers = 0;
  int64_t staticSharedBytes = 0;
  Unit unit = Unit::fp32;
  /// On the unit, of all blocks; padding of tiles counts.
  double operations = 0;
  /// Cycles of shared memory of all blocks; 0 where it does not matter.
  double wavefronts = 0;
  /// Instructions of all warps, besides multiply-adds of tensor cores.
  double instructions = 0;
  Traffic traffic;
  /// Of the bytes that a warp's accesses move, the part that it asked for.
  double coalescing = 1;
  /// What comes from device memory; negative: from the traffic and the size of the L2 cache.
  double fetchedBytes = -1;
  /// Bytes of loads that one thread has under way.
  int bytesInFlight = vectorBytes;
  /// Loads that a block waits for one after the other, and how many of them come from the L2 cache
  /// rather than from memory.
  double memoryWaits = 1, cacheWaits = 0;
};

/// What of the model holds for any kernel: the seconds of a launch inside a graph, and the bytes a
/// second that a long copy moves.
double launchSeconds();
double reachableBandwidth(const DeviceFacts &device);

/// What the model says of a launch, in seconds. The longest of the parts counts, and the launch
/// itself on top.
struct Prediction {
  Occupancy occupancy;
  /// Rounds of blocks, and how full they are on average.
  int64_t waves = 0;
  double waveFill = 0;
  double compute = 0, issue = 0, shared = 0, fabric = 0, memory = 0, latency = 0, launch = 0;
  double seconds() const;
  llvm::StringRef boundBy() const;
  /// One line with the numbers, for the report. Never anything but a prediction.
  std::string text() const;
};
Prediction predict(const DeviceFacts &device, const Work &work);

/// A configuration with what it is expected to cost.
template <class Config> struct Choice {
  Config config;
  /// Parts of K, and tileOf's group (MatMul), else 1.
  int splits = 1, group = 1;
  Prediction prediction;
  /// Of everything, the addition of the parts included.
  double seconds = 0;
};

/// What a product moves.
struct MatMulDemand {
  MatMulExtents extents;
  /// Elements that one load takes along the contiguous axis.
  int vectorA = 1, vectorB = 1;
  bool alongKA = true, alongKB = false;
  int elementBytes = 4, resultBytes = 4;
  /// The split form needs a workspace.
  bool maySplit = true;
};
std::optional<Choice<SimtMatMulConfig>> chooseSimtMatMul(const DeviceFacts &device,
                                                         const MatMulDemand &demand);
std::optional<Choice<TensorMatMulConfig>> chooseTensorMatMul(const DeviceFacts &device, Unit unit,
                                                             const MatMulDemand &demand);
/// A product of one batch whose left rows are normalised on the way.
std::optional<Choice<NormLinearConfig>> chooseNormLinear(const DeviceFacts &device,
                                                         const MatMulDemand &demand, bool centred);
/// At most SkinnyMatMulConfig::mostRows rows of A, which runs along K.
std::optional<Choice<SkinnyMatMulConfig>> chooseSkinnyMatMul(const DeviceFacts &device,
                                                             const MatMulDemand &demand);

/// Rows of softmax, norms and reductions: in registers if they fit, else read again.
std::optional<Choice<RowConfig>> chooseRows(const DeviceFacts &device, int64_t rows,
                                            int64_t columns, int widestVector, int elementBytes,
                                            int resultBytes);

/// What kernels of one thread a result move and do; a warp a result is 32 threads.
struct FlatDemand {
  int64_t threads = 0;
  double instructionsPerThread = 0;
  Traffic traffic;
  int registers = 32;
  /// As in Work.
  int bytesInFlight = 4;
  double coalescing = 1, memoryWaits = 1, cacheWaits = 0;
};
std::optional<Choice<FlatConfig>> chooseFlat(const DeviceFacts &device, const FlatDemand &demand);
/// [outer][length][columns] reduced over the middle.
std::optional<Choice<ColumnConfig>> chooseColumns(const DeviceFacts &device, int64_t outers,
                                                  int64_t length, int64_t columns, int elementBytes,
                                                  int resultBytes);
std::optional<Choice<DepthwiseConfig>> chooseDepthwise(const DeviceFacts &device,
                                                       const ConvGeometry &geometry,
                                                       int elementBytes, int resultBytes);
/// A matrix of results, and operands that may be broadcast to it.
struct PointwiseDemand {
  int64_t rows = 1, columns = 1;
  int widestVector = 1, operands = 0;
  /// Of operands that have columns, for one result.
  int bytesPerElement = 0;
  /// Each operand's own.
  int64_t readBytes = 0, writtenBytes = 0;
  /// Instructions of the function.
  double operations = 1;
};
std::optional<Choice<PointwiseConfig>> choosePointwise(const DeviceFacts &device,
                                                       const PointwiseDemand &demand);
/// Matrices whose rows and columns change places; `operations`: of an element.
std::optional<Choice<TransposeConfig>> chooseTranspose(const DeviceFacts &device, int64_t batches,
                                                       int64_t rows, int64_t columns,
                                                       const Traffic &traffic, double operations);
std::optional<Choice<SimtAttentionConfig>>
chooseSimtAttention(const DeviceFacts &device, const AttentionExtents &extents, bool causal);
std::optional<Choice<TensorAttentionConfig>> chooseTensorAttention(const DeviceFacts &device,
                                                                   Unit unit,
                                                                   const AttentionExtents &extents,
                                                                   bool causal);

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_SCHEDULE_H
