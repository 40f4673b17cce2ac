//===- Report.cpp - Findings and counts of all launches -------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Report.h"

#include "Machine.h"
#include "Symbolizer.h"

#include "../cuda/DriverAPI.h"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>

namespace kiln::cudasim {

const char *const findingNames[] = {
#define KILN_SIM_FINDING(name, text, error) #name,
#include "Findings.def"
};
const char *const findingTexts[] = {
#define KILN_SIM_FINDING(name, text, error) text,
#include "Findings.def"
};
const int findingErrors[] = {
#define KILN_SIM_FINDING(name, text, error) cuda::error,
#include "Findings.def"
};

namespace {

[[gnu::format(printf, 1, 2)]] std::string format(const char *form, ...) {
  va_list list;
  va_start(list, form);
  char buffer[512];
  const int n = vsnprintf(buffer, sizeof buffer, form, list);
  va_end(list);
  return std::string(buffer, std::min<size_t>(n < 0 ? 0 : n, sizeof buffer - 1));
}

void splitThread(int thread, const unsigned (&block)[3], int32_t (&out)[3]) {
  if (thread < 0) {
    std::fill(out, out + 3, -1);
    return;
  }
  out[0] = thread % block[0];
  out[1] = thread / block[0] % block[1];
  out[2] = thread / block[0] / block[1];
}

void splitBlock(uint64_t index, const unsigned (&grid)[3], uint32_t (&out)[3]) {
  out[0] = index % grid[0];
  out[1] = index / grid[0] % grid[1];
  out[2] = index / grid[0] / grid[1];
}

bool isMaskFinding(kiln_sim_finding_kind kind) {
  return kind == KILN_SIM_WARP_DEADLOCK || kind == KILN_SIM_MASK_WITHOUT_CALLER ||
         kind == KILN_SIM_MASK_WITH_ENDED_LANE || kind == KILN_SIM_SHUFFLE_FROM_ABSENT;
}

} // namespace

const char *Report::keep(std::string text) {
  strings.push_back(std::move(text));
  return strings.back().c_str();
}

const char *Report::keepName(const char *name) {
  auto it = names.find(name);
  if (it == names.end())
    it = names.emplace(name, keep(name)).first;
  return it->second;
}

void Report::clear() {
  found.clear();
  kernelCounts.clear();
  rawSites.clear();
  siteSums.clear();
  siteList.clear();
  names.clear();
  strings.clear();
}

void Report::describe(kiln_sim_finding &f, const Launch &launch, const RawFinding &raw) {
  std::string text = findingTexts[raw.kind];
  if (raw.detail)
    text = format("%s: ", nameOf(WarpOp(raw.detail - 1))) + text;
  text += format(": kernel %s", f.kernel);
  if (*f.where)
    text += std::string(" at ") + f.where;
  text += format(", block (%u,%u,%u)", f.block[0], f.block[1], f.block[2]);
  if (f.thread[0] >= 0)
    text += format(", thread (%d,%d,%d)", f.thread[0], f.thread[1], f.thread[2]);
  if (isMaskFinding(raw.kind))
    text += format(", mask 0x%08x", unsigned(raw.address));
  else if (raw.kind == KILN_SIM_SHARED_OUT_OF_BOUNDS)
    text +=
        format(", %u bytes at %" PRIu64 " of %zu", raw.bytes, raw.address, launch.dynamicShared);
  else if (raw.bytes)
    text += format(", %u bytes at 0x%" PRIx64, raw.bytes, raw.address);
  if (f.other_thread[0] >= 0)
    text += format("; the other: thread (%d,%d,%d)", f.other_thread[0], f.other_thread[1],
                   f.other_thread[2]);
  else if (raw.otherBlock != raw.block)
    text += "; the other: a thread";
  if (raw.otherBlock != raw.block)
    text += format(" of block (%u,%u,%u)", f.other_block[0], f.other_block[1], f.other_block[2]);
  if (*f.other_where)
    text += std::string(" at ") + f.other_where;
  f.text = keep(std::move(text));
}

std::unordered_map<uint32_t, std::string> &Report::namesOf(const LoadedModule &module,
                                                           std::vector<uint32_t> pcs) {
  auto &known = places[&module];
  std::sort(pcs.begin(), pcs.end());
  pcs.erase(std::unique(pcs.begin(), pcs.end()), pcs.end());
  pcs.erase(std::remove_if(pcs.begin(), pcs.end(),
                           [&](uint32_t pc) { return !pc || known.count(pc) != 0; }),
            pcs.end());
  const std::vector<std::string> lines = namePlaces(module, pcs);
  for (size_t i = 0; i < pcs.size(); ++i)
    known[pcs[i]] = lines[i];
  return known;
}

void Report::add(const Launch &launch, const LaunchResult &result) {
  const char *kernel = keepName(launch.name);
  addCounts(kernelCounts[kernel], result.counts);
  auto &raws = rawSites[launch.module];
  for (const auto &[key, site] : result.sites)
    addSite(raws[{kernel, key}], site);
  if (result.findings.empty())
    return;

  std::vector<uint32_t> pcs;
  for (const auto &[key, f] : result.findings) {
    pcs.push_back(f.pc);
    pcs.push_back(f.otherPc);
  }
  auto &known = namesOf(*launch.module, pcs);
  auto where = [&](uint32_t pc) { return pc ? keepName(known[pc].c_str()) : ""; };
  for (const auto &[key, raw] : result.findings) {
    kiln_sim_finding f = {};
    f.kind = raw.kind;
    f.name = findingNames[raw.kind];
    f.kernel = kernel;
    f.where = where(raw.pc);
    splitBlock(raw.block, launch.grid, f.block);
    splitBlock(raw.otherBlock, launch.grid, f.other_block);
    splitThread(raw.thread, launch.block, f.thread);
    splitThread(raw.other, launch.block, f.other_thread);
    f.address = raw.address;
    f.bytes = raw.bytes;
    f.other_where = where(raw.otherPc);
    f.count = raw.count;
    // One line of source is one finding, however often it was unrolled.
    auto same = std::find_if(found.begin(), found.end(), [&](const kiln_sim_finding &g) {
      return g.kind == f.kind && g.kernel == f.kernel && g.where == f.where;
    });
    if (same != found.end()) {
      same->count += f.count;
      continue;
    }
    describe(f, launch, raw);
    found.push_back(f);
  }
}

void Report::nameSites(const LoadedModule &module) {
  auto it = rawSites.find(&module);
  if (it == rawSites.end())
    return;
  std::vector<uint32_t> pcs;
  for (const auto &[key, site] : it->second)
    pcs.push_back(uint32_t(key.second));
  auto &known = namesOf(module, pcs);
  for (const auto &[key, s] : it->second) {
    const char *place = keepName(known[uint32_t(key.second)].c_str());
    kiln_sim_site &sum = siteSums[std::string(key.first) + '\n' + place + s.space + s.operation];
    sum.kernel = key.first;
    sum.where = place;
    sum.space = s.space;
    sum.operation = s.operation;
    sum.warp_operations += s.warpOperations;
    sum.lanes += s.lanes;
    sum.bytes += s.bytes;
    sum.units += s.units;
    sum.ideal_units += s.ideal;
  }
  rawSites.erase(it);
}

void Report::nameAllSites() {
  while (!rawSites.empty())
    nameSites(*rawSites.begin()->first);
}

void Report::forgetPlaces(const LoadedModule &module) {
  nameSites(module);
  places.erase(&module);
}

void Report::addUnwritten(const char *kernel, uint64_t address, size_t bytes, uint64_t first) {
  kiln_sim_finding f = {};
  f.kind = KILN_SIM_UNWRITTEN_OUTPUT;
  f.name = findingNames[f.kind];
  f.kernel = keepName(kernel ? kernel : "");
  f.where = f.other_where = "";
  std::fill(f.thread, f.thread + 3, -1);
  std::fill(f.other_thread, f.other_thread + 3, -1);
  f.address = first;
  f.bytes = uint32_t(std::min<size_t>(bytes, UINT32_MAX));
  f.count = 1;
  f.text =
      keep(format("%s: %zu bytes, the first at 0x%" PRIx64 ", byte %" PRIu64 " of the copy",
                  findingTexts[f.kind], bytes, first, first - address) +
           (kernel ? format("; last written by kernel %s", kernel) : "; no kernel wrote there"));
  found.push_back(f);
}

const std::vector<kiln_sim_site> &Report::sites() {
  nameAllSites();
  siteList.clear();
  for (const auto &[key, site] : siteSums)
    siteList.push_back(site);
  return siteList;
}

bool Report::counts(const char *kernel, Counts &counts) const {
  counts = {};
  bool any = false;
  for (const auto &[name, c] : kernelCounts)
    if (!kernel || name == kernel) {
      addCounts(counts, c);
      any = true;
    }
  return any;
}

const char *Report::text() {
  nameAllSites();
  whole.clear();
  for (const kiln_sim_finding &f : found)
    whole += format("FOUND %s, %" PRIu64 " times: ", f.name, f.count) + f.text + "\n";
  for (const auto &[kernel, c] : kernelCounts) {
    whole +=
        format("%s: launches %" PRIu64 ", global read %" PRIu64 " B (unique %" PRIu64
               "), written %" PRIu64 " B (unique %" PRIu64 "), sectors %" PRIu64 " (ideal %" PRIu64
               "), shared wavefronts %" PRIu64 " (ideal %" PRIu64 "), barriers %" PRIu64 "\n",
               kernel.c_str(), c.launches, c.global_read_bytes, c.unique_read_bytes,
               c.global_write_bytes, c.unique_written_bytes, c.sectors, c.ideal_sectors,
               c.shared_wavefronts, c.ideal_shared_wavefronts, c.barriers);
    for (const auto &[key, s] : siteSums)
      if (s.kernel == kernel)
        whole += format("  %s %c%c: warp operations %" PRIu64 ", lanes %" PRIu64 ", %s %" PRIu64
                        " (ideal %" PRIu64 ")\n",
                        s.where, s.space, s.operation, s.warp_operations, s.lanes,
                        s.space == 'g' ? "sectors" : "wavefronts", s.units, s.ideal_units);
  }
  return whole.c_str();
}

} // namespace kiln::cudasim
