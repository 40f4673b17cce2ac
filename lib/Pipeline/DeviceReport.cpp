//===- DeviceReport.cpp - What became of a device's kernels ---------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kiln/Pipeline/DeviceReport.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace kiln;

static StringRef limitName(cuda::Occupancy::Limit limit) {
  switch (limit) {
  case cuda::Occupancy::threads:
    return "threads";
  case cuda::Occupancy::blocksLimit:
    return "blocks";
  case cuda::Occupancy::registers:
    return "registers";
  case cuda::Occupancy::sharedMemory:
    return "shared memory";
  }
  llvm_unreachable("unknown limit");
}

void DeviceReport::printText(raw_ostream &os) const {
  if (rows.empty())
    return;
  os << "kernels of the device (times are predicted for one launch, nothing was measured):\n";
  StringRef last;
  for (const DeviceReportRow &row : rows) {
    // Architectures of a kernel stand below it.
    if (row.kernel != last) {
      os << row.kernel << " (" << row.algorithm << "), " << row.nodes.size()
         << (row.nodes.size() == 1 ? " launch: " : " launches: ")
         << (row.nodes.empty() ? "" : row.nodes.front())
         << (row.nodes.size() > 1 ? ", ...\n" : "\n");
      if (!row.choice.empty())
        os << "  " << row.choice << "\n";
      last = row.kernel;
    }
    os << "  " << row.architecture << ": ";
    if (row.predictedSeconds)
      os << formatv("predicted {0:f1} us, ", *row.predictedSeconds * 1e6);
    os << row.threads << " threads, ";
    if (!row.resources) {
      os << row.dynamicSharedBytes << " bytes of dynamic shared memory\n";
      continue;
    }
    const KernelResources &r = *row.resources;
    os << r.registers << " registers, " << r.spillBytes << " bytes spilled, shared memory "
       << r.staticSharedBytes << " + " << row.dynamicSharedBytes << " bytes";
    if (row.occupancy)
      os << formatv("; {0}: {1} blocks a multiprocessor ({2:P0} of its threads), limited by {3}",
                    row.device, row.occupancy->blocks, row.occupancy->fraction,
                    limitName(row.occupancy->limit));
    os << "\n";
  }
}

void DeviceReport::writeJSON(json::OStream &json) const {
  json.attributeArray("device_kernels", [&] {
    for (const DeviceReportRow &row : rows)
      json.object([&] {
        json.attribute("kernel", row.kernel);
        json.attribute("algorithm", row.algorithm);
        json.attribute("architecture", row.architecture);
        json.attributeArray("nodes", [&] {
          for (const std::string &node : row.nodes)
            json.value(node);
        });
        if (!row.choice.empty())
          json.attribute("choice", row.choice);
        if (row.predictedSeconds)
          json.attribute("predicted_seconds", *row.predictedSeconds);
        json.attribute("threads", row.threads);
        json.attribute("dynamic_shared_bytes", row.dynamicSharedBytes);
        if (!row.resources)
          return;
        json.attribute("registers", row.resources->registers);
        json.attribute("spill_bytes", row.resources->spillBytes);
        json.attribute("stack_bytes", row.resources->stackBytes);
        json.attribute("static_shared_bytes", row.resources->staticSharedBytes);
        if (!row.occupancy)
          return;
        json.attributeObject("occupancy", [&] {
          json.attribute("device", row.device);
          json.attribute("blocks", row.occupancy->blocks);
          json.attribute("warps", row.occupancy->warps);
          json.attribute("fraction", row.occupancy->fraction);
          json.attribute("limit", limitName(row.occupancy->limit));
        });
      });
  });
}
