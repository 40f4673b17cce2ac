//===- Reports.h - What a session tells of its launches and memory - -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TOOLS_KILN_RUN_REPORTS_H
#define KILN_TOOLS_KILN_RUN_REPORTS_H

#include "kiln-c/Runtime.h"

#include <string>
#include <vector>

namespace kiln::run {

/// Launches of a session, and how many runs they are from.
struct LaunchProfile {
  std::vector<kiln_profile_row> rows;
  std::vector<kiln_trace_event> events;
  uint64_t runs = 0;
  /// Where they were timed.
  std::string device;
  /// The simulator's own time says nothing of a device.
  bool isSimulated() const { return device.starts_with("sim:"); }
};

/// The slowest first, with each one's share.
std::string profileTable(const LaunchProfile &profile);
std::string profileJson(const LaunchProfile &profile, const std::string &model);
/// The latest launches, in the format that Perfetto and chrome://tracing read.
std::string chromeTrace(const LaunchProfile &profile, const std::string &model);

struct MemoryReport {
  std::string model;
  /// Whose memory it is.
  std::string device;
  kiln_memory_plan plan;
  std::vector<kiln_plan_buffer> buffers;
  /// The pool's figures, before the first run and after each.
  std::vector<kiln_pool_stats> samples;
};

/// A page that needs no other file.
std::string memoryPage(const MemoryReport &report);

} // namespace kiln::run

#endif // KILN_TOOLS_KILN_RUN_REPORTS_H
