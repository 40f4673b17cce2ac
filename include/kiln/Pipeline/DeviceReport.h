//===- DeviceReport.h - What became of a device's kernels -------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_PIPELINE_DEVICEREPORT_H
#define KILN_PIPELINE_DEVICEREPORT_H

#include "kiln/Target/CUDA/Schedule.h"
#include "kiln/Target/CUDA/Toolchain.h"
#include "llvm/Support/JSON.h"

namespace kiln {

/// A kernel as one architecture has it.
struct DeviceReportRow {
  std::string kernel, algorithm, architecture;
  /// ONNX nodes, one a launch in the program.
  std::vector<std::string> nodes;
  /// How the configuration was chosen; empty where nothing is to be chosen.
  std::string choice;
  std::optional<double> predictedSeconds;
  unsigned threads = 0, dynamicSharedBytes = 0;
  /// Where ptxas made the code: not of PTX, nor of code for the simulator.
  std::optional<KernelResources> resources;
  /// With those, on the named device, which stands for the architecture.
  std::string device;
  std::optional<cuda::Occupancy> occupancy;
};

struct DeviceReport {
  std::vector<DeviceReportRow> rows;

  void printText(llvm::raw_ostream &os) const;
  /// The member "device_kernels" of an object (docs/cuda/target.md).
  void writeJSON(llvm::json::OStream &json) const;
};

} // namespace kiln

#endif // KILN_PIPELINE_DEVICEREPORT_H
