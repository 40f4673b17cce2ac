//===- Options.h - The command line of kiln-run -------------- -*- C++ -*--===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_TOOLS_KILN_RUN_OPTIONS_H
#define KILN_TOOLS_KILN_RUN_OPTIONS_H

#include "Compare.h"

#include <map>

namespace kiln::run {

struct Options {
  std::string model;
  std::vector<std::string> inputs;
  std::map<std::string, std::vector<int64_t>> shapes;
  std::vector<std::string> expected;
  std::string dataSet;
  std::string outputDir;
  std::string json;
  std::string device;
  bool twin = false;
  Tolerance tolerance;
  uint64_t bench = 0;
  uint32_t threads = 0;
  bool info = false;
  bool manifest = false;
  bool help = false;
  bool version = false;
  bool trustWeights = false;
  std::vector<std::string> trustedKeys; // PEM files
  /// Where the simulator's report goes; empty: nowhere.
  std::string simReport;
  /// Where the profile goes; empty: nowhere.
  bool profileTable = false;
  std::string profileJson;
  std::string profileTrace;
  std::string memoryReport;
  std::string metrics;
  std::string checkWeights;
  std::vector<std::string> finite;

  bool profiles() const { return profileTable || !profileJson.empty() || !profileTrace.empty(); }
};

Failure parseOptions(int argc, char **argv, Options &options);
std::string helpText();

} // namespace kiln::run

#endif // KILN_TOOLS_KILN_RUN_OPTIONS_H
