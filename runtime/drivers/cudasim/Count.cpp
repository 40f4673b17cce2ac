//===- Count.cpp - Sectors, banks, lanes ----------------------------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Machine.h"

#include <algorithm>

namespace kiln::cudasim {
namespace {

constexpr unsigned kSectorBytes = 32, kBanks = 32, kWordBytes = 4;

/// Distinct sectors of one warp instruction; its accesses are in order of lanes.
unsigned countSectors(const Access *const *a, unsigned count) {
  uint64_t all[32 * 2], last = ~uint64_t(0);
  unsigned distinct = 0, listed = 0;
  bool rising = true;
  for (unsigned i = 0; i < count; ++i)
    for (uint64_t s = a[i]->address / kSectorBytes,
                  end = (a[i]->address + a[i]->bytes - 1) / kSectorBytes;
         s <= end; ++s) {
      if (s == last)
        continue;
      rising &= last == ~uint64_t(0) || s > last;
      last = s;
      ++distinct;
      if (listed < std::size(all))
        all[listed++] = s;
    }
  if (rising)
    return distinct;
  std::sort(all, all + listed);
  return std::unique(all, all + listed) - all;
}

/// Bytes that a warp instruction wants, each once; exact while addresses rise with
/// the lane.
unsigned countDistinctBytes(const Access *const *a, unsigned count) {
  uint64_t end = 0;
  unsigned distinct = 0;
  for (unsigned i = 0; i < count; ++i) {
    const uint64_t from = std::max<uint64_t>(a[i]->address, end), to = a[i]->address + a[i]->bytes;
    if (to > from) {
      distinct += to - from;
      end = to;
    }
  }
  return distinct;
}

/// 32 banks of 4 bytes. Accesses of 8 bytes go by half-warps, of 16 by
/// quarter-warps; lanes that want the same word share one access.
void countWavefronts(const Access *const *a, const uint8_t *laneOf, unsigned count, uint64_t &waves,
                     uint64_t &ideal) {
  const unsigned words = std::max(1u, unsigned(a[0]->bytes) / kWordBytes);
  const unsigned lanesAtOnce = std::max(1u, kBanks / words);
  for (unsigned i = 0; i < count;) {
    const unsigned phase = laneOf[i] / lanesAtOnce;
    uint64_t seen[kBanks * 2];
    uint8_t depth[kBanks] = {};
    unsigned n = 0, worst = 1;
    for (; i < count && laneOf[i] / lanesAtOnce == phase; ++i)
      for (unsigned w = 0; w < words; ++w) {
        const uint64_t word = a[i]->address / kWordBytes + w;
        const unsigned bank = word % kBanks;
        if (depth[bank] && std::find(seen, seen + n, word) != seen + n)
          continue;
        worst = std::max<unsigned>(worst, ++depth[bank]);
        if (n < std::size(seen))
          seen[n++] = word;
      }
    waves += worst;
    ++ideal;
  }
}

} // namespace

void Machine::countWarpOperation(const Access *const *a, const uint8_t *laneOf, unsigned n) {
  const Access &x = *a[0];
  const auto kind = AccessKind(x.kind);
  if (kind == AccessKind::AsyncLand)
    return;
  const uint64_t key = uint64_t(x.space) << 40 | uint64_t(x.kind) << 32 | x.pc;
  auto &[cachedKey, cached] = siteCache[(key ^ key >> 30) & 1023];
  if (!cached || cachedKey != key) {
    cachedKey = key;
    cached = &result.sites[key];
  }
  Site &s = *cached;
  const bool shared = Space(x.space) == Space::Shared;
  s.space = shared ? 's' : 'g';
  s.operation = "rwacl"[x.kind];
  ++s.warpOperations;
  s.lanes += n;
  s.bytes += uint64_t(n) * x.bytes;
  if (shared) {
    countWavefronts(a, laneOf, n, s.units, s.ideal);
  } else {
    s.units += countSectors(a, n);
    s.ideal += (countDistinctBytes(a, n) + kSectorBytes - 1) / kSectorBytes;
  }
}

/// Judges and counts what the warp's threads did since the last time. Which
/// accesses are one instruction of the warp: of the lanes' next ones those at the
/// smallest place. That is exact for uniform code, and the usual guess of how a
/// warp comes together again after a branch.
void Machine::flush(unsigned w) {
  if (!options.checks)
    return;
  Lane *lane = lanes + w * 32;
  const unsigned n = std::min(32u, threads - w * 32);
  const Access *at[32], *end[32], *row[32];
  uint8_t laneOf[32];
  for (unsigned l = 0; l < n; ++l) {
    at[l] = lane[l].log;
    end[l] = at[l] + lane[l].logged;
    lane[l].logged = 0;
    for (const Access *x = at[l]; x != end[l]; ++x)
      if (Space(x->space) == Space::Shared)
        shadowShared(*x, w * 32 + l);
      else if (Space(x->space) == Space::Global)
        shadowGlobal(*x, w * 32 + l);
  }
  for (;;) {
    uint64_t least = ~uint64_t(0);
    unsigned count = 0;
    for (unsigned l = 0; l < n; ++l) {
      if (at[l] == end[l] || at[l]->pc > least)
        continue;
      if (at[l]->pc < least) {
        least = at[l]->pc;
        count = 0;
      }
      row[count] = at[l];
      laneOf[count++] = l;
    }
    if (!count)
      return;
    unsigned same = 0; // One call may log two accesses: a copy's source and target.
    for (unsigned i = 0; i < count; ++i)
      if (row[i]->kind == row[0]->kind && row[i]->space == row[0]->space) {
        row[same] = row[i];
        laneOf[same] = laneOf[i];
        ++at[laneOf[same++]];
      }
    if (AccessKind(row[0]->kind) == AccessKind::Branch) {
      ++counts.branches;
      counts.divergent_branches += same < n;
    } else {
      countWarpOperation(row, laneOf, same);
    }
  }
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

void addCounts(Counts &to, const Counts &from) {
  static_assert(sizeof(Counts) % sizeof(uint64_t) == 0, "all members are uint64_t");
  auto *t = reinterpret_cast<uint64_t *>(&to);
  auto *f = reinterpret_cast<const uint64_t *>(&from);
  for (size_t i = 0; i < sizeof(Counts) / sizeof(uint64_t); ++i)
    t[i] += f[i];
}

void addSite(Site &to, const Site &from) {
  to.space = from.space;
  to.operation = from.operation;
  to.warpOperations += from.warpOperations;
  to.lanes += from.lanes;
  to.bytes += from.bytes;
  to.units += from.units;
  to.ideal += from.ideal;
}

void LaunchResult::merge(LaunchResult &&other) {
  for (auto &[key, f] : other.findings) {
    auto [it, fresh] = findings.try_emplace(key, f);
    if (!fresh)
      it->second.count += f.count;
  }
  for (auto &[key, site] : other.sites)
    addSite(sites[key], site);
  addCounts(counts, other.counts);
  if (other.lastWrite.thread >= 0)
    lastWrite = other.lastWrite;
  aborted |= other.aborted;
}

} // namespace kiln::cudasim
