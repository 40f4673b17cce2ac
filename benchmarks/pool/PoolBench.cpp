//===- PoolBench.cpp - The pool, or malloc, under one load ----------------===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: pool-bench record MODEL.so INPUT=1x17[,INPUT=...] ... > TRACE
//        pool-bench kiln|malloc|loop LOAD OPERATIONS THREADS
//        pool-bench fit LOAD OPERATIONS
//        pool-bench peak kiln|malloc LOAD OPERATIONS
//        pool-bench ring OPERATIONS THREADS
//
// LOAD is a trace, or pair:BYTES, burst:BYTES, mix. Prints one JSON object. Which
// malloc it is, LD_PRELOAD says. The pool is called through its table, malloc through
// the linker's: one indirect call each. `loop` is the load without an allocator, what a
// step costs before anything is allocated. `peak` is the most memory of the process, with
// every page of every block in use, beside the most that was in use. `fit` looks for the least hard
// limit within which the whole load finds memory: what it is above the most that was in use at once
// is external fragmentation, whatever the shape of what is free. `ring` passes blocks from thread
// to thread, past every cache. A trace is what an executor without a memory plan would ask for:
// each buffer of a model's plan, taken at the launch where its life begins and given back where it
// ends, for one shape after the other.
//
//===----------------------------------------------------------------------===//
#include "Record.h"
#include "kiln-c/Loader.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <malloc.h>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <x86intrin.h>

using namespace bench;

namespace {

/// Takes block `id`, or gives it back when `bytes` is 0.
struct Step {
  uint32_t id;
  uint64_t bytes;
};

double seconds(clockid_t clock = CLOCK_MONOTONIC) {
  timespec now;
  clock_gettime(clock, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

/// A line of /proc/self/status, in bytes.
uint64_t statusBytes(const char *name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(name, 0) == 0)
      return std::stoull(line.substr(std::strlen(name) + 1)) * 1024;
  return 0;
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

/// Sizes of all scales that drift, and lives of all lengths: what fits in the
/// holes of one phase does not in those of the next.
std::vector<Step> mixedLoad() {
  std::mt19937_64 random(1);
  std::vector<Step> steps;
  std::vector<uint32_t> live;
  uint32_t next = 0;
  constexpr uint32_t phases = 20, stepsOfPhase = 25000, most = 400;
  for (uint32_t phase = 0; phase != phases; ++phase)
    for (uint32_t i = 0; i != stepsOfPhase; ++i) {
      bool full = live.size() >= most / 4 * (1 + phase % 4);
      if (full || (!live.empty() && random() % 2)) {
        size_t at = random() % live.size();
        steps.push_back({live[at], 0});
        live[at] = live.back();
        live.pop_back();
        continue;
      }
      uint64_t scale = uint64_t(1) << (6 + (random() % 12 + phase) % 15);
      steps.push_back({next, scale + random() % scale});
      live.push_back(next++);
    }
  for (uint32_t id : live)
    steps.push_back({id, 0});
  return steps;
}

std::vector<Step> makeLoad(const std::string &name) {
  size_t colon = name.find(':');
  std::string kind = name.substr(0, colon);
  if (kind == "mix")
    return mixedLoad();
  std::vector<Step> steps;
  if (kind == "pair" || kind == "burst") {
    uint64_t bytes = std::stoull(name.substr(colon + 1));
    uint32_t count = kind == "pair" ? 1 : 32;
    for (uint32_t i = 0; i != count; ++i)
      steps.push_back({i, bytes / (1 + i % 4)});
    for (uint32_t i = 0; i != count; ++i)
      steps.push_back({i, 0});
    return steps;
  }
  std::ifstream file(name);
  if (!file)
    fail("cannot open '" + name + "'");
  for (Step step; file >> step.id >> step.bytes;)
    steps.push_back(step);
  if (steps.empty())
    fail("'" + name + "' has no steps");
  return steps;
}

//===----------------------------------------------------------------------===//
// Allocators
//===----------------------------------------------------------------------===//

struct Malloc {
  void *take(uint64_t bytes) { return std::aligned_alloc(64, (bytes + 63) & ~uint64_t(63)); }
  void give(void *memory, uint64_t) { std::free(memory); }
};

/// As a session has it: through the table.
struct Kiln {
  explicit Kiln(kiln_pool *pool) : cache(pool->api->cache_create(pool)) {}
  ~Kiln() { cache->api->cache_destroy(cache); }
  void *take(uint64_t bytes) { return cache->api->cache_allocate(cache, bytes); }
  void give(void *memory, uint64_t bytes) { cache->api->cache_release(cache, memory, bytes); }

  kiln_pool_cache *cache;
};

/// One block for all.
struct Nothing {
  void *take(uint64_t) { return block; }
  void give(void *, uint64_t) {}

  alignas(64) uint8_t block[64] = {};
};

struct Block {
  uint8_t *memory = nullptr;
  uint64_t bytes = 0;
};

/// Time stamp ticks of single steps, one bucket a tick.
struct Histogram {
  static constexpr uint64_t kBuckets = 1 << 16;
  std::vector<uint32_t> buckets = std::vector<uint32_t>(kBuckets);
  uint64_t count = 0;

  void note(uint64_t ticks) {
    ++buckets[std::min(ticks, kBuckets - 1)];
    ++count;
  }
  uint64_t quantile(double q) const {
    auto wanted = uint64_t(q * double(count));
    uint64_t seen = 0, at = 0;
    while (at + 1 != kBuckets && (seen += buckets[at]) <= wanted)
      ++at;
    return at;
  }
};

/// Ticks in nanoseconds, less what reading the counter twice costs.
struct Ticks {
  uint64_t least = UINT64_MAX;
  double scale = 0;

  Ticks() {
    uint64_t ticks = __rdtsc();
    double start = seconds();
    while (seconds() - start < 0.05) {
      uint64_t first = __rdtsc();
      least = std::min<uint64_t>(least, __rdtsc() - first);
    }
    scale = (seconds() - start) * 1e9 / double(__rdtsc() - ticks);
  }
  double time(const Histogram &histogram, double q) const {
    uint64_t at = histogram.quantile(q);
    return double(at - std::min(at, least)) * scale;
  }
};

struct Result {
  double nanoseconds = 0; // CPU time of a step, without a clock in between
  Histogram takes, gives;
  uint64_t peakLive = 0;
};

enum class Pass { Whole, Single, Touch };

/// Goes through the load again and again, at least `operations` steps.
template <Pass pass, typename Allocator>
void play(Allocator &allocator, const std::vector<Step> &steps, std::vector<Block> &blocks,
          uint64_t operations, Result &result) {
  uint64_t live = 0;
  for (uint64_t done = 0; done < operations; done += steps.size())
    for (const Step &step : steps) {
      Block &block = blocks[step.id];
      uint64_t start = pass == Pass::Single ? __rdtsc() : 0;
      if (step.bytes) {
        block.memory = static_cast<uint8_t *>(allocator.take(step.bytes));
        if (!block.memory)
          fail("no memory");
        if (pass == Pass::Single)
          result.takes.note(__rdtsc() - start);
        block.bytes = step.bytes;
        *static_cast<volatile uint8_t *>(block.memory) = 1;
        if (pass == Pass::Touch) {
          for (uint64_t at = 0; at < step.bytes; at += 4096)
            static_cast<volatile uint8_t *>(block.memory)[at] = 1;
          live += step.bytes;
          result.peakLive = std::max(result.peakLive, live);
        }
      } else {
        allocator.give(block.memory, block.bytes);
        if (pass == Pass::Single)
          result.gives.note(__rdtsc() - start);
        if (pass == Pass::Touch)
          live -= block.bytes;
      }
    }
}

uint32_t countIds(const std::vector<Step> &steps) {
  uint32_t ids = 0;
  for (const Step &step : steps)
    ids = std::max(ids, step.id + 1);
  return ids;
}

template <typename Allocator>
void measure(Allocator &allocator, const std::vector<Step> &steps, uint64_t operations,
             Result &result) {
  std::vector<Block> blocks(countIds(steps));
  uint64_t rounds = (operations + steps.size() - 1) / steps.size();
  play<Pass::Whole>(allocator, steps, blocks, operations / 10, result);
  // Of this thread alone: a neighbour that takes the CPU is not the allocator's.
  double start = seconds(CLOCK_THREAD_CPUTIME_ID);
  play<Pass::Whole>(allocator, steps, blocks, operations, result);
  result.nanoseconds =
      (seconds(CLOCK_THREAD_CPUTIME_ID) - start) * 1e9 / double(rounds * steps.size());
  play<Pass::Single>(allocator, steps, blocks, operations, result);
}

/// Calls `body(allocator)` with the one of that name.
template <typename Body> void withAllocator(const std::string &name, kiln_pool *pool, Body body) {
  if (name == "kiln") {
    Kiln allocator(pool);
    body(allocator);
  } else if (name == "malloc") {
    Malloc allocator;
    body(allocator);
  } else {
    Nothing allocator;
    body(allocator);
  }
}

kiln_pool *makePool(const std::string &allocator) {
  kiln_pool *pool = nullptr;
  if (allocator == "kiln" && kiln_shared_pool_create(nullptr, &pool) != KILN_OK)
    fail("no pool");
  return pool;
}

kiln_pool_stats statsOf(kiln_pool *pool) {
  kiln_pool_stats stats = {};
  stats.struct_size = sizeof stats;
  if (pool)
    kiln_pool_get_stats(pool, &stats);
  return stats;
}

/// Begins to look for the most memory of the process; gives what it has now.
uint64_t startPeak() {
  std::ofstream("/proc/self/clear_refs") << "5";
  return statusBytes("VmHWM:");
}

void compare(const std::string &allocatorName, const std::string &name, uint64_t operations,
             uint32_t threads) {
  std::vector<Step> steps = makeLoad(name);
  kiln_pool *pool = makePool(allocatorName);
  std::vector<Result> results(threads);
  // Memory first: what it costs to hold the load with every page in use.
  Result touched;
  std::vector<Block> blocks(countIds(steps));
  uint64_t before = startPeak();
  if (allocatorName != "loop")
    withAllocator(allocatorName, pool, [&](auto &allocator) {
      play<Pass::Touch>(allocator, steps, blocks, std::min<uint64_t>(operations, steps.size() * 3),
                        touched);
    });
  uint64_t peak = statusBytes("VmHWM:") - before;
  kiln_pool_stats stats = statsOf(pool);
  std::vector<std::thread> team;
  for (uint32_t t = 0; t != threads; ++t)
    team.emplace_back([&, t] {
      withAllocator(allocatorName, pool,
                    [&](auto &allocator) { measure(allocator, steps, operations, results[t]); });
    });
  for (std::thread &thread : team)
    thread.join();

  Ticks ticks;
  Result &worst =
      *std::max_element(results.begin(), results.end(), [](const Result &a, const Result &b) {
        return a.nanoseconds < b.nanoseconds;
      });
  auto time = [&](const Histogram &histogram, double q) { return ticks.time(histogram, q); };
  std::printf("{\"load\": \"%s\", \"steps\": %zu, \"threads\": %u, \"step_ns\": %.2f, "
              "\"take_p50_ns\": %.1f, \"take_p999_ns\": %.1f, \"give_p50_ns\": %.1f, "
              "\"give_p999_ns\": %.1f, \"peak_live\": %" PRIu64 ", \"peak_memory\": %" PRIu64
              ", \"peak_used\": %" PRIu64 ", \"peak_reserved\": %" PRIu64 "}\n",
              name.c_str(), steps.size(), threads, worst.nanoseconds, time(worst.takes, 0.5),
              time(worst.takes, 0.999), time(worst.gives, 0.5), time(worst.gives, 0.999),
              touched.peakLive, peak, stats.peak_used, stats.peak_reserved);
  kiln_pool_destroy(pool);
}

//===----------------------------------------------------------------------===//
// Fragmentation, and the ring
//===----------------------------------------------------------------------===//

/// Whether the load goes through; blocks that are left are given back.
bool fits(const std::vector<Step> &steps, uint64_t operations, uint64_t limit, uint64_t &peakUsed) {
  kiln_pool_options options = {};
  options.struct_size = sizeof options;
  options.flags = KILN_POOL_MMAP;
  options.hard_limit = limit;
  kiln_pool *pool = nullptr;
  if (kiln_shared_pool_create(&options, &pool) != KILN_OK)
    fail("no pool");
  std::vector<Block> blocks(countIds(steps));
  bool found = true;
  {
    Kiln allocator(pool);
    for (uint64_t done = 0; done < operations && found; done += steps.size())
      for (const Step &step : steps) {
        Block &block = blocks[step.id];
        if (!step.bytes) {
          allocator.give(std::exchange(block.memory, nullptr), block.bytes);
          continue;
        }
        block.memory = static_cast<uint8_t *>(allocator.take(step.bytes));
        block.bytes = step.bytes;
        if (!(found = block.memory != nullptr))
          break;
      }
    for (Block &block : blocks)
      if (block.memory)
        allocator.give(block.memory, block.bytes);
  }
  peakUsed = statsOf(pool).peak_used;
  kiln_pool_destroy(pool);
  return found;
}

void fit(const std::string &name, uint64_t operations) {
  std::vector<Step> steps = makeLoad(name);
  uint64_t peak = 0, ignored = 0;
  fits(steps, 1, 0, peak);
  // To a quarter of a percent, on one round of the load; then all of it, with more
  // room until it goes through.
  uint64_t low = peak, high = peak * 2, step = std::max<uint64_t>(peak / 400, 4096);
  while (high - low > step)
    (fits(steps, 1, (low + high) / 2, ignored) ? high : low) = (low + high) / 2;
  while (!fits(steps, operations, high, ignored))
    high += step;
  std::printf("{\"load\": \"%s\", \"operations\": %" PRIu64 ", \"peak_used\": %" PRIu64
              ", \"least_limit\": %" PRIu64 ", \"external_percent\": %.2f}\n",
              name.c_str(), operations, peak, high, 100 * (double(high) / double(peak) - 1));
}

/// The most memory of the process beside the most that blocks in use could hold.
void peak(const std::string &allocatorName, const std::string &name, uint64_t operations) {
  std::vector<Step> steps = makeLoad(name);
  kiln_pool *pool = makePool(allocatorName);
  std::vector<Block> blocks(countIds(steps));
  uint64_t usable = 0, peakUsable = 0, before = startPeak();
  withAllocator(allocatorName, pool, [&](auto &allocator) {
    for (uint64_t done = 0; done < operations; done += steps.size())
      for (const Step &step : steps) {
        Block &block = blocks[step.id];
        if (!step.bytes) {
          usable -= pool ? 0 : malloc_usable_size(block.memory);
          allocator.give(block.memory, block.bytes);
          continue;
        }
        block.bytes = step.bytes;
        block.memory = static_cast<uint8_t *>(allocator.take(step.bytes));
        if (!block.memory)
          fail("no memory");
        for (uint64_t at = 0; at < step.bytes; at += 4096)
          static_cast<volatile uint8_t *>(block.memory)[at] = 1;
        usable += pool ? 0 : malloc_usable_size(block.memory);
        peakUsable = std::max(peakUsable, usable);
      }
  });
  uint64_t memory = statusBytes("VmHWM:") - before;
  peakUsable = pool ? statsOf(pool).peak_used : peakUsable;
  std::printf("{\"load\": \"%s\", \"operations\": %" PRIu64 ", \"peak_used\": %" PRIu64
              ", \"peak_memory\": %" PRIu64 ", \"over_percent\": %.2f}\n",
              name.c_str(), operations, peakUsable, memory,
              100 * (double(memory) / double(peakUsable) - 1));
  kiln_pool_destroy(pool);
}

/// Blocks that always come back without a cache, so that each goes through the ring.
void ring(uint64_t operations, uint32_t threads) {
  kiln_pool *pool = nullptr;
  if (kiln_shared_pool_create(nullptr, &pool) != KILN_OK)
    fail("no pool");
  constexpr uint64_t bytes = 4096;
  std::vector<Result> results(threads);
  std::vector<std::thread> team;
  for (uint32_t t = 0; t != threads; ++t)
    team.emplace_back([&, t] {
      Kiln allocator(pool);
      auto exchange = [&](uint64_t count, Histogram *single) {
        for (uint64_t i = 0; i != count; ++i) {
          uint64_t start = single ? __rdtsc() : 0;
          void *block = allocator.take(bytes);
          if (!block)
            fail("no memory");
          pool->api->release_shared(pool, block, bytes);
          if (single)
            single->note(__rdtsc() - start);
        }
      };
      exchange(operations / 10, nullptr);
      double start = seconds(CLOCK_THREAD_CPUTIME_ID);
      exchange(operations, nullptr);
      results[t].nanoseconds =
          (seconds(CLOCK_THREAD_CPUTIME_ID) - start) * 1e9 / double(operations) / 2;
      exchange(operations / 10, &results[t].takes);
    });
  for (std::thread &thread : team)
    thread.join();
  Ticks ticks;
  Result &worst =
      *std::max_element(results.begin(), results.end(), [](const Result &a, const Result &b) {
        return a.nanoseconds < b.nanoseconds;
      });
  kiln_pool_stats stats = statsOf(pool);
  std::printf(
      "{\"threads\": %u, \"step_ns\": %.2f, \"pair_p50_ns\": %.1f, \"pair_p999_ns\": %.1f, "
      "\"ring_share\": %.4f}\n",
      threads, worst.nanoseconds, ticks.time(worst.takes, 0.5), ticks.time(worst.takes, 0.999),
      double(stats.ring_hits) / double(std::max<uint64_t>(stats.ring_hits + stats.slab_hits, 1)));
  kiln_pool_destroy(pool);
}

} // namespace

int main(int argc, char **argv) {
  std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "record" && argc > 3)
    record(argv[2], argc - 3, argv + 3);
  else if ((mode == "kiln" || mode == "malloc" || mode == "loop") && argc == 5)
    compare(mode, argv[2], std::stoull(argv[3]), uint32_t(std::clamp(std::atoi(argv[4]), 1, 64)));
  else if (mode == "fit" && argc == 4)
    fit(argv[2], std::stoull(argv[3]));
  else if (mode == "peak" && argc == 5)
    peak(argv[2], argv[3], std::stoull(argv[4]));
  else if (mode == "ring" && argc == 4)
    ring(std::stoull(argv[2]), uint32_t(std::clamp(std::atoi(argv[3]), 1, 64)));
  else
    fail("usage: record MODEL.so SHAPES..., or kiln|malloc|loop LOAD OPERATIONS THREADS");
}
