//===- Simulator.cpp - Runs launches and keeps what they found ------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Simulator.h"

#include "../cuda/DriverAPI.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <thread>

namespace kiln::cudasim {

Simulator &simulator() {
  static Simulator *one = new Simulator; // Never destroyed: streams may run at exit.
  return *one;
}

/// For whole programs: the report goes to the file that KILN_SIM_REPORT names, or
/// with "-" to standard error, when the program ends.
static void writeReport() {
  const char *path = getenv("KILN_SIM_REPORT");
  const char *text = simulator().report.text();
  if (!path || !*path)
    return;
  FILE *file = strcmp(path, "-") == 0 ? stderr : fopen(path, "w");
  if (!file) {
    fprintf(stderr, "KILN_SIM_REPORT: cannot write %s\n", path);
    return;
  }
  fputs(text, file);
  if (file != stderr)
    fclose(file);
}

Simulator::Simulator() : options(), device() {
  if (getenv("KILN_SIM_REPORT"))
    atexit(writeReport);
  if (!completeOptions(options, device)) { // The environment is wrong: no device.
    options = {};
    options.device_count = 0;
  }
}

bool Simulator::prepare() { return memory.isReserved() || memory.reserve(reservationFor(options)); }

LaunchResult Simulator::runOnce(const Launch &launch, uint64_t seed, uintptr_t watched) {
  const uint64_t blocks = launch.blocks();
  // Who wrote last is a question that one thread can answer.
  const unsigned count =
      watched ? 1
              : std::clamp<uint64_t>(options.host_threads, 1, std::max<uint64_t>(1, blocks / 2));
  while (machines.size() < count)
    machines.push_back(std::make_unique<Machine>(memory));
  unsigned ready = 0;
  while (ready < count && machines[ready]->isValid() &&
         (ready < launch.module->copies.size() || !loadCopy(*launch.module)))
    ++ready;
  LaunchResult result;
  if (!ready) {
    result.aborted = true;
    return result;
  }
  LaunchOptions how;
  how.seed = seed;
  how.checks = !options.no_checks;
  how.watched = watched;

  // Blocks start in the order of a walk through all of them, by the seed.
  const uint64_t start = seed * 0x9e3779b97f4a7c15ull % blocks;
  uint64_t stride = 1 + (seed >> 1) * 2 * 0x51ull % blocks;
  while (std::gcd(stride, blocks) != 1)
    ++stride;
  std::atomic<uint64_t> next = 0;
  std::atomic<bool> stop = false;
  auto work = [&](unsigned i) {
    Machine &m = *machines[i];
    machine = &m;
    m.begin(launch, launch.module->copies[i], how);
    for (uint64_t b; !stop && (b = next++) < blocks;) {
      const uint64_t block =
          seed ? (start + static_cast<unsigned __int128>(b) * stride % blocks) % blocks : b;
      if (!m.runBlock(block))
        stop = true;
    }
    machine = nullptr;
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < ready; ++i)
    others.emplace_back(work, i);
  work(0);
  for (std::thread &t : others)
    t.join();
  for (unsigned i = 0; i < ready; ++i)
    result.merge(machines[i]->finish());
  return result;
}

/// Sums what the sites counted.
static void sumSites(LaunchResult &result) {
  Counts &c = result.counts;
  for (const auto &[key, s] : result.sites) {
    const bool reads = s.operation != 'w', writes = s.operation == 'w' || s.operation == 'a';
    if (s.space == 'g') {
      c.global_reads += reads ? s.warpOperations : 0;
      c.global_writes += writes ? s.warpOperations : 0;
      c.global_read_bytes += reads ? s.bytes : 0;
      c.global_write_bytes += writes ? s.bytes : 0;
      c.sectors += s.units;
      c.ideal_sectors += s.ideal;
    } else {
      c.shared_reads += s.operation == 'r' ? s.warpOperations : 0;
      c.shared_writes += s.operation != 'r' ? s.warpOperations : 0;
      c.shared_wavefronts += s.units;
      c.ideal_shared_wavefronts += s.ideal;
      c.async_copies += s.operation == 'c' ? s.warpOperations : 0;
    }
    c.atomics += s.operation == 'a' ? s.warpOperations : 0;
  }
}

int Simulator::run(const Launch &launch) {
  memory.beginLaunch();
  writesUnseen |= options.no_checks || !launch.module->first().checked;
  LaunchResult result;
  if (options.replays)
    replay(launch, result);
  else
    result = runOnce(launch, options.seed);
  result.counts.launches = 1;
  sumSites(result);
  memory.countUnique(result.counts.unique_read_bytes, result.counts.unique_written_bytes);
  memory.nameWriter(launch.name);
  report.add(launch, result);
  int status = result.aborted ? cuda::CUDA_ERROR_LAUNCH_FAILED : cuda::CUDA_SUCCESS;
  for (const auto &[key, f] : result.findings)
    if (findingErrors[f.kind] != cuda::CUDA_SUCCESS)
      status = findingErrors[f.kind];
  return status;
}

/// The same launch on the same memory under several seeds. A difference of the
/// results is a finding; the first run's findings and counts stand.
void Simulator::replay(const Launch &launch, LaunchResult &result) {
  struct Snapshot {
    uintptr_t at;
    std::vector<unsigned char> before, after;
  };
  std::vector<Snapshot> snapshots;
  auto bytesAt = [](uintptr_t at) { return reinterpret_cast<unsigned char *>(at); };
  for (const Allocation &a : memory.all())
    if (!a.freed)
      snapshots.push_back({a.begin, {bytesAt(a.begin), bytesAt(a.end)}, {}});
  auto runAgain = [&](uint64_t seed, uintptr_t watched) {
    for (Snapshot &s : snapshots)
      memcpy(bytesAt(s.at), s.before.data(), s.before.size());
    return runOnce(launch, seed, watched);
  };
  result = runOnce(launch, options.seed);
  for (Snapshot &s : snapshots)
    s.after.assign(bytesAt(s.at), bytesAt(s.at) + s.before.size());
  for (uint64_t i = 1; i <= options.replays && !result.aborted; ++i) {
    LaunchResult other = runAgain(options.seed + i, 0);
    result.findings.insert(other.findings.begin(), other.findings.end());
    result.aborted |= other.aborted;
    for (Snapshot &s : snapshots) {
      const auto [mine, now] = std::mismatch(s.after.begin(), s.after.end(), bytesAt(s.at));
      if (mine == s.after.end())
        continue;
      const uintptr_t address = s.at + (mine - s.after.begin());
      // Who wrote it last, in the one order and in the other.
      const LastWrite a = runAgain(options.seed, address).lastWrite;
      const LastWrite b = runAgain(options.seed + i, address).lastWrite;
      result.findings[uint64_t(KILN_SIM_SCHEDULE_DEPENDENT) << 32 | a.pc] = {
          KILN_SIM_SCHEDULE_DEPENDENT,
          a.pc,
          b.pc,
          a.block,
          b.block,
          a.thread,
          b.thread,
          address,
          1,
          0,
          1};
      return;
    }
  }
}

} // namespace kiln::cudasim
