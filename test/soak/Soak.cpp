//===- Soak.cpp - Many models, many threads, faults, for as long as you like ---===//
//
// Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: kiln-soak SECONDS THREADS RUNS ARTEFACT...
//
// Ends after SECONDS, or after RUNS when that is not 0. Every thread runs any of the
// models, as often as gives each the same time, with shapes that change, in sessions that
// come and go, in a pool whose
// memory now and then is refused. Meanwhile bits of weights are flipped. Each
// result has to be, bit for bit, what one session alone computed at the start, or
// the status has to be KILN_OUT_OF_MEMORY, or KILN_DAMAGED. At the end, memory, descriptors and
// threads are what they were before: of memory, the most in the last quarter beside
// the most in the second. Writes one JSON object.
//
//===----------------------------------------------------------------------===//
#include "kiln-c/kiln.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <random>
#include <thread>
#include <unistd.h>

namespace {

using Random = std::minstd_rand;
using Clock = std::chrono::steady_clock;

std::atomic<uint64_t> runs{0}, refused{0}, damaged{0}, wrong{0}, flips{0}, sessionsMade{0};
std::atomic<bool> stopping{false};

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

/// Memory of the host's that is not always there.
struct Source {
  std::atomic<uint32_t> calls{0};
  std::atomic<bool> fails{false};

  static void *allocate(void *user, uint64_t bytes, uint64_t alignment) {
    auto &self = *static_cast<Source *>(user);
    if (self.fails && ++self.calls % 2 == 0)
      return nullptr;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  static void release(void *, void *memory, uint64_t) { std::free(memory); }
};

struct Range {
  uint64_t begin, size;
};

/// Where the weights of a file are mapped, if they are.
std::vector<Range> weightsOf(const std::string &path) {
  std::vector<Range> ranges;
  std::ifstream maps("/proc/self/maps");
  char *whole = realpath(path.c_str(), nullptr);
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin, end;
    if (line.find(whole) != std::string::npos &&
        std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) == 2)
      ranges.push_back({begin, end - begin});
  }
  std::free(whole);
  return ranges;
}

/// Changes one bit, past every protection.
void flip(int memory, const Range &range, Random &random) {
  off_t at = off_t(range.begin + random() % range.size);
  uint8_t byte;
  if (pread(memory, &byte, 1, at) != 1)
    return;
  byte ^= uint8_t(1u << random() % 8);
  flips += pwrite(memory, &byte, 1, at) == 1;
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

struct Tensor {
  DLDataType type;
  std::vector<int64_t> dims;
  std::vector<uint8_t> bytes;
};

kiln::View viewOf(Tensor &tensor) { return {tensor.bytes.data(), tensor.type, tensor.dims}; }

/// Inputs of one choice of sizes, and what has to come of them.
struct Case {
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
};

struct Subject {
  explicit Subject(const std::string &path) : artefact(path) {
    auto watch = kiln::defaults<kiln_integrity_options>();
    watch.rate = KILN_CHECK_EVERY_RUN;
    watch.reload = kiln_artefact_reload;
    watch.reload_user = artefact.get();
    watch.breaker_threshold = 1000000;
    auto options = kiln::defaults<kiln_model_options>();
    options.integrity = &watch;
    model = std::make_unique<kiln::Model>(artefact, options);
    weights = weightsOf(path);
  }
  Case makeCase(Random &random) const;
  void makeCases(Random &random);

  kiln::Artefact artefact;
  std::unique_ptr<kiln::Model> model;
  std::vector<Range> weights;
  std::vector<Case> cases;
  /// Seconds of a run with its check.
  double cost = 0;
};

/// Inputs with any sizes that the model's declarations allow.
Case Subject::makeCase(Random &random) const {
  constexpr int64_t sizes[] = {1, 2, 3, 5, 8, 16, 17, 32, 48, 64};
  std::vector<std::pair<std::string, int64_t>> symbols;
  Case made;
  for (uint32_t i = 0; const kiln_tensor_spec *spec = kiln_model_input(model->get(), i); ++i) {
    Tensor tensor = {spec->dtype, {}, {}};
    uint64_t count = 1;
    for (uint32_t axis = 0; axis != spec->rank; ++axis) {
      const kiln_dim_spec &dim = spec->dims[axis];
      int64_t size = dim.size;
      if (size < 0) {
        std::string name = dim.symbol ? dim.symbol : dim.text;
        auto known = std::find_if(symbols.begin(), symbols.end(),
                                  [&](const auto &symbol) { return symbol.first == name; });
        size = known != symbols.end()
                   ? known->second
                   : std::clamp(sizes[random() % std::size(sizes)], std::max<int64_t>(dim.lo, 1),
                                std::max<int64_t>(dim.hi, 1));
        symbols.emplace_back(name, size);
      }
      tensor.dims.push_back(size);
      count *= uint64_t(size);
    }
    tensor.bytes.resize(count * spec->dtype.bits / 8);
    // Floats in [-1, 1); integers are 0 or 1, which every index and mask may be.
    if (spec->dtype.code == kDLFloat && spec->dtype.bits == 32)
      for (uint64_t at = 0; at != count; ++at) {
        float value = float(random() % 2000) / 1000 - 1;
        std::memcpy(&tensor.bytes[at * 4], &value, sizeof value);
      }
    else
      for (uint64_t at = 0; at < tensor.bytes.size(); at += spec->dtype.bits / 8)
        tensor.bytes[at] = uint8_t(random() % 2);
    made.inputs.push_back(std::move(tensor));
  }
  return made;
}

std::vector<kiln::Output> runCase(kiln::Session &session, Case &one) {
  std::vector<kiln::View> views;
  for (Tensor &tensor : one.inputs)
    views.push_back(viewOf(tensor));
  return session.run(views);
}

uint64_t bytesOf(const DLTensor &tensor) {
  uint64_t bytes = tensor.dtype.bits / 8;
  for (int32_t axis = 0; axis != tensor.ndim; ++axis)
    bytes *= uint64_t(tensor.shape[axis]);
  return bytes;
}

/// Up to four, of what the model does not refuse.
void Subject::makeCases(Random &random) {
  auto alone = kiln::defaults<kiln_session_options>();
  alone.threads = 1;
  kiln::Session session(*model, alone);
  for (int attempt = 0; attempt != 40 && cases.size() != 4; ++attempt) {
    Case one = makeCase(random);
    try {
      for (const kiln::Output &output : runCase(session, one)) {
        const auto *data = static_cast<const uint8_t *>(output.tensor().data);
        one.outputs.push_back({output.tensor().dtype, output.shape(),
                               std::vector<uint8_t>(data, data + bytesOf(output.tensor()))});
      }
      cases.push_back(std::move(one));
    } catch (const kiln::Error &error) {
      // Sizes that do not fit together; some only show that by what they would need.
      if (error.status() != KILN_CONSTRAINT && error.status() != KILN_INVALID_SHAPE &&
          error.status() != KILN_OUT_OF_MEMORY)
        throw;
    }
  }
  if (cases.empty())
    throw kiln::Error(KILN_CONSTRAINT, std::string(model->info().name) + ": no sizes found");
  // Once more, for the first runs make plans.
  auto start = Clock::now();
  for (Case &one : cases)
    runCase(session, one);
  cost = since(start) / double(cases.size());
}

bool isRight(const std::vector<kiln::Output> &outputs, const Case &one) {
  for (size_t i = 0; i != outputs.size(); ++i) {
    const std::vector<uint8_t> &expected = one.outputs[i].bytes;
    if (outputs[i].shape() != one.outputs[i].dims ||
        (!expected.empty() &&
         std::memcmp(outputs[i].tensor().data, expected.data(), expected.size()) != 0))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

/// Runs a model's cases in one session for a while.
void runSession(Subject &subject, const kiln_session_options &options, Random &random,
                uint64_t mostRuns) {
  kiln::Session session(*subject.model, options);
  ++sessionsMade;
  for (uint32_t left = 1 + random() % 40; left-- && !stopping;) {
    Case &one = subject.cases[random() % subject.cases.size()];
    uint64_t number = ++runs;
    if (mostRuns && number >= mostRuns)
      stopping = true;
    try {
      wrong += !isRight(runCase(session, one), one);
    } catch (const kiln::Error &error) {
      refused += error.status() == KILN_OUT_OF_MEMORY;
      damaged += error.status() == KILN_DAMAGED;
      if (error.status() != KILN_OUT_OF_MEMORY && error.status() != KILN_DAMAGED) {
        std::fprintf(stderr, "%s: %s: %s\n", subject.model->info().name,
                     kiln_status_name(error.status()), error.what());
        ++wrong;
      }
    }
  }
}

void work(std::vector<std::unique_ptr<Subject>> &subjects, kiln_pool *pool, kiln_executor *executor,
          uint32_t seed, uint64_t mostRuns) {
  Random random(seed);
  std::vector<double> rates;
  for (const auto &subject : subjects)
    rates.push_back(1 / std::max(subject->cost, 1e-6));
  std::discrete_distribution<size_t> choose(rates.begin(), rates.end());
  while (!stopping) {
    Subject &subject = *subjects[choose(random)];
    auto options = kiln::defaults<kiln_session_options>();
    options.pool = random() % 4 ? pool : nullptr;
    if (random() % 2)
      options.executor = executor;
    else
      options.threads = 1;
    try {
      runSession(subject, options, random, mostRuns);
    } catch (const kiln::Error &error) {
      // Of the session itself.
      wrong += error.status() != KILN_OUT_OF_MEMORY;
      ++refused;
    }
  }
}

//===----------------------------------------------------------------------===//
// What must not grow
//===----------------------------------------------------------------------===//

struct Footprint {
  uint64_t memory = 0, descriptors = 0, threads = 0;
};

uint64_t countEntries(const char *folder) {
  uint64_t count = 0;
  DIR *entries = opendir(folder);
  while (entries && readdir(entries))
    ++count;
  if (entries)
    closedir(entries);
  return count;
}

Footprint footprint() {
  Footprint now;
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("VmRSS:", 0) == 0)
      now.memory = std::stoull(line.substr(6)) * 1024;
  now.descriptors = countEntries("/proc/self/fd");
  now.threads = countEntries("/proc/self/task");
  return now;
}

int soak(double seconds, uint32_t threads, uint64_t mostRuns, int count, char **paths) {
  Random random(1);
  std::vector<std::unique_ptr<Subject>> subjects;
  for (int i = 0; i != count; ++i) {
    subjects.push_back(std::make_unique<Subject>(paths[i]));
    subjects.back()->makeCases(random);
  }
  Source source;
  auto poolOptions = kiln::defaults<kiln_pool_options>();
  poolOptions.source = {Source::allocate, Source::release, &source};
  kiln::Pool pool(poolOptions);
  std::optional<kiln::Executor> executor(2);
  Footprint early = footprint();
  int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

  auto start = Clock::now();
  std::vector<std::thread> team;
  for (uint32_t t = 0; t != threads; ++t)
    team.emplace_back([&, t] { work(subjects, pool.get(), executor->get(), t + 2, mostRuns); });
  uint64_t earlyMost = 0, lateMost = 0;
  uint32_t turn = 0;
  while (!stopping) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    double passed = since(start);
    // Memory is short for half a second out of four.
    source.fails = std::fmod(passed, 4) > 3.5;
    Subject &victim = *subjects[random() % subjects.size()];
    // As often as weights can be read again in between, on a busy machine, too.
    constexpr uint32_t flipEvery = 12;
    if (++turn % flipEvery == 0 && memory >= 0 && !victim.weights.empty())
      flip(memory, victim.weights[random() % victim.weights.size()], random);
    double share = std::max(passed / seconds, mostRuns ? double(runs) / double(mostRuns) : 0);
    if (share > 0.25 && share < 0.5)
      earlyMost = std::max(earlyMost, footprint().memory);
    if (share > 0.75)
      lateMost = std::max(lateMost, footprint().memory);
    if (passed >= seconds)
      stopping = true;
  }
  for (std::thread &thread : team)
    thread.join();
  executor.reset(); // with its threads
  if (memory >= 0)
    close(memory);
  Footprint late = footprint();

  uint64_t reloaded = 0, recomputed = 0;
  for (const auto &subject : subjects) {
    kiln_integrity_stats stats = subject->model->integrity();
    reloaded += stats.reloaded;
    recomputed += stats.recomputed_runs;
  }
  // Sessions come and go: which are alive when it is looked at is chance. What is
  // in use when they are gone is not.
  constexpr uint64_t slack = uint64_t(128) << 20;
  bool flat = lateMost <= earlyMost + earlyMost / 2 + slack;
  kiln_pool_stats held = pool.stats();
  bool even = held.used == 0 && held.static_used == 0 && late.descriptors <= early.descriptors &&
              late.threads <= early.threads;
  std::printf("{\"seconds\": %.1f, \"threads\": %u, \"models\": %d, \"runs\": %llu, "
              "\"sessions\": %llu, \"wrong\": %llu, \"out_of_memory\": %llu, \"damaged\": %llu, "
              "\"bits_flipped\": %llu, "
              "\"weights_reloaded\": %llu, \"runs_recomputed\": %llu, \"memory_early\": %llu, "
              "\"memory_late_most\": %llu, \"flat\": %s, \"no_leak\": %s}\n",
              since(start), threads, count, (unsigned long long)runs,
              (unsigned long long)sessionsMade, (unsigned long long)wrong,
              (unsigned long long)refused, (unsigned long long)damaged, (unsigned long long)flips,
              (unsigned long long)reloaded, (unsigned long long)recomputed,
              (unsigned long long)earlyMost, (unsigned long long)lateMost, flat ? "true" : "false",
              even ? "true" : "false");
  return wrong || !runs || !flat || !even;
}

} // namespace

int main(int argc, char **argv) try {
  if (argc < 5) {
    std::fprintf(stderr, "usage: kiln-soak SECONDS THREADS RUNS ARTEFACT...\n");
    return 2;
  }
  return soak(std::atof(argv[1]), uint32_t(std::clamp(std::atoi(argv[2]), 1, 256)),
              std::strtoull(argv[3], nullptr, 10), argc - 4, argv + 4);
} catch (const kiln::Error &error) {
  std::fprintf(stderr, "kiln-soak: %s: %s\n", kiln_status_name(error.status()), error.what());
  return 1;
}
