//===- Report.h - Findings and counts of all launches -----------*- C++ -*-===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KILN_RUNTIME_DRIVERS_CUDASIM_REPORT_H
#define KILN_RUNTIME_DRIVERS_CUDASIM_REPORT_H

#include "DeviceMemory.h"
#include "KilnSim.h"
#include "Launch.h"

#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace kiln::cudasim {

class Report {
public:
  /// Adds a launch's result. Findings get the names of their places here, sites
  /// when they are asked for or the module goes.
  void add(const Launch &launch, const LaunchResult &result);
  /// The module is about to go.
  void forgetPlaces(const LoadedModule &module);
  /// A finding of the host's side.
  void addUnwritten(const char *kernel, uint64_t address, size_t bytes, uint64_t first);
  void clear();

  const std::vector<kiln_sim_finding> &findings() const { return found; }
  const std::vector<kiln_sim_site> &sites();
  bool counts(const char *kernel, Counts &counts) const;
  const char *text();
  /// A copy that lives until `clear`.
  const char *keep(std::string text);

private:
  const char *keepName(const char *name);
  /// The known names of places; asks for those of `pcs` that are not known yet.
  std::unordered_map<uint32_t, std::string> &namesOf(const LoadedModule &module,
                                                     std::vector<uint32_t> pcs);
  void nameSites(const LoadedModule &module);
  void nameAllSites();
  void describe(kiln_sim_finding &finding, const Launch &launch, const RawFinding &raw);

  std::vector<kiln_sim_finding> found;
  std::map<std::string, Counts> kernelCounts;
  std::map<std::string, kiln_sim_site> siteSums; // By kernel, place and operation.
  std::vector<kiln_sim_site> siteList;
  std::deque<std::string> strings;
  std::map<std::string, const char *> names;
  /// Names of places, by the image that they are in.
  std::map<const LoadedModule *, std::unordered_map<uint32_t, std::string>> places;
  /// Sites without names yet: by module, kernel and LaunchResult's key.
  std::map<const LoadedModule *, std::map<std::pair<const char *, uint64_t>, Site>> rawSites;
  std::string whole;
};

extern const char *const findingNames[];
extern const char *const findingTexts[];
extern const int findingErrors[];

} // namespace kiln::cudasim

#endif // KILN_RUNTIME_DRIVERS_CUDASIM_REPORT_H
