//===- DeviceFacts.h - What is known of CUDA devices ----------*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// patterns/devices/*.json holds the facts with their sources; they are part of
// the program. Nothing here asks a driver: a compilation is the same anywhere.
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TARGET_CUDA_DEVICEFACTS_H
#define KILN_TARGET_CUDA_DEVICEFACTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <array>
#include <string>
#include <vector>

namespace kiln::cuda {

/// What multiplies: the ordinary units, or tensor cores in one of their types.
enum class Unit { fp32, tf32, f16, bf16, int8 };
constexpr unsigned unitCount = 5;
llvm::StringRef nameOf(Unit unit);

/// Facts in SI units; a rate of 0 means that the device lacks the unit.
struct DeviceFacts {
  /// The file's name without its extension: "a100".
  std::string id;
  std::string name;
  /// "sm_80", without a suffix for features.
  std::string architecture;

  int64_t multiprocessors = 0;
  int64_t l2Bytes = 0, memoryBytes = 0;
  int64_t memoryBytesPerSecond = 0;
  int64_t clockHz = 0;
  /// Operations a second, a multiply-add counts two; tensor cores without sparsity.
  std::array<int64_t, unitCount> rates = {};
  int64_t rate(Unit unit) const { return rates[static_cast<unsigned>(unit)]; }

  // Of the architecture.
  int64_t sharedPerMultiprocessor = 0, sharedPerBlock = 0, sharedReservedPerBlock = 0;
  int64_t blocksPerMultiprocessor = 0, threadsPerMultiprocessor = 0;
  /// Multiply-adds a clock and multiprocessor on the ordinary units.
  int64_t fp32PerClock = 0;
  static constexpr int64_t registersPerMultiprocessor = 65536, registersPerThread = 255,
                           threadsPerBlock = 1024;

  /// Names of facts that nobody has checked against their source yet.
  std::vector<std::string> unverified;
};

/// Reads one device's file and its architecture's limits. Every mistake in the text is an error
/// that names the member: users may bring files of their own.
llvm::Expected<DeviceFacts> parseDeviceFacts(llvm::StringRef id, llvm::StringRef device,
                                             llvm::StringRef architectures);
/// The same from a user's file; the limits are those of the program.
llvm::Expected<DeviceFacts> readDeviceFacts(llvm::StringRef path);

/// The devices of patterns/devices, ordered by id.
llvm::ArrayRef<DeviceFacts> builtInDevices();
/// Null if there is none of that id.
const DeviceFacts *findDevice(llvm::StringRef id);
/// The device that stands for an architecture ("sm_90a" counts as sm_90) where none is named: the
/// first by id, null if none is known.
const DeviceFacts *deviceOfArchitecture(llvm::StringRef architecture);

} // namespace kiln::cuda

#endif // KILN_TARGET_CUDA_DEVICEFACTS_H
